"""The main job on a real model through the HTTP API, then a control that must abstain.

    python -m examples.demo --model DIR

Starts `corp serve` on a free port with its data under runs/demo, posts examples/larger.yaml, follows its
events, and shows what came out; the checkpoint stays there.
"""

from __future__ import annotations

import argparse
import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

HERE = Path(__file__).parent
STARTUP_SECONDS = 60


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def server(data: Path) -> Iterator[httpx.Client]:
    """`corp serve` on a free port, stopped at the end; yields a client of it."""
    port = free_port()
    command = [sys.executable, "-m", "server.command", "serve", "--port", str(port), "--data", str(data)]
    data.mkdir(parents=True, exist_ok=True)
    with (data / "serve.log").open("ab") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            wait_ready(client, process, data / "serve.log")
            yield client
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)


def wait_ready(client: httpx.Client, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + STARTUP_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if client.get("/readyz").status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    sys.exit(f"the server did not become ready; its log is {log}:\n{log.read_text()[-2000:]}")


def body(name: str, model: Path) -> dict[str, Any]:
    """The job of examples/NAME as an API body, with ``model`` for its model."""
    from corp.spec import load_spec

    spec, _ = load_spec(HERE / name)
    return spec.model_copy(update={"model": str(model.resolve())}).model_dump(mode="json")


def follow(client: httpx.Client, job: str) -> dict[str, Any]:
    """Print a job's events as they come and return the finished job."""
    with client.stream("GET", f"/v1/jobs/{job}/events:stream", timeout=None) as stream:
        for line in stream.iter_lines():
            if line.startswith("data:"):
                show(json.loads(line[5:]))
    finished: dict[str, Any] = client.get(f"/v1/jobs/{job}").json()
    return finished


def show(event: dict[str, Any]) -> None:
    kind, data = event.get("type"), event.get("data", {})
    if kind == "phase.started":
        print(f"  {data['phase']}", flush=True)
    elif kind == "phase.progress":
        line = f"    {data.get('split', 'tensors')}: {data['done']}/{data['total']}"
        if data.get("eta_seconds") is not None:
            line += f" prompts, {data['rate']:.0f}/s, {data['eta_seconds']:.0f} s left"
        end = "\r" if sys.stdout.isatty() else "\n"
        print(f"{line:<70}", end=end, flush=True)
    elif kind in ("phase.finished", "log"):
        print(f"    {data.get('message') or 'done in ' + str(data.get('seconds')) + ' s':<70}", flush=True)


def post(client: httpx.Client, name: str, model: Path) -> dict[str, Any]:
    reply = client.post("/v1/jobs", json=body(name, model))
    if reply.status_code != 202:
        sys.exit(f"the job was refused: {reply.text}")
    job: dict[str, Any] = reply.json()
    print(f"\n{name}: POST /v1/jobs → {job['id']}", flush=True)
    finished = follow(client, job["id"])
    if finished["status"] != "succeeded":
        sys.exit(f"job {job['id']} {finished['status']}: {finished.get('error')}")
    return finished


def answer(checkpoint: Path, messages: list[dict[str, str]]) -> str:
    """The exported checkpoint's greedy answer in plain transformers."""
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    model = AutoModelForCausalLM.from_pretrained(checkpoint, dtype="float32")
    inputs = tokenizer.apply_chat_template(
        messages, add_generation_prompt=True, return_tensors="pt", return_dict=True
    )
    output = model.generate(**inputs, max_new_tokens=5, do_sample=False)
    text: str = tokenizer.decode(output[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
    return text.strip()


def print_verdict(job: dict[str, Any]) -> None:
    report = job["report"]
    print(f"\n  outcome: {report['outcome']} – {report['reason']}")
    for split in ("gate", "test"):
        row = report[split]
        if row:
            low, high = row["interval"]
            print(
                f"  {split:<5} n = {row['n']}: base {row['base']:.1%} → consolidated {row['candidate']:.1%}, "
                f"gain {100 * row['gain']:+.1f} points [{100 * low:+.1f}, {100 * high:+.1f}], "
                f"{row['fixes']} fixes, {row['regressions']} regressions, p = {row['p_value']:.2g}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, required=True, help="directory of SmolLM2-135M-Instruct")
    parser.add_argument("--data", type=Path, default=Path("runs/demo"), help="where the server keeps jobs")
    arguments = parser.parse_args()
    with server(arguments.data) as client:
        job = post(client, "larger.yaml", arguments.model)
        print_verdict(job)
        if job["outcome"] == "improved":
            checkpoint = Path(job["checkpoint"]["path"])
            print(f"\n  checkpoint: {checkpoint}\n  audit it:   .venv/bin/corp verify {checkpoint}")
            sample = job["report"]["sample"]
            print(f"  asked:      {sample['messages'][-1]['content']}")
            print(f"  base:       {sample['base'].strip()!r}")
            print(f"  checkpoint: {answer(checkpoint, sample['messages'])!r} (loaded in plain transformers)")
        control = post(client, "null.yaml", arguments.model)
        print_verdict(control)
    if control["outcome"] != "no_improvement":
        sys.exit("the null control was accepted: one run in forty may do this; please report it")
    print("\nThe null control abstained, as it must.")


if __name__ == "__main__":
    main()
