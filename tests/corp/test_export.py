from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from corp.errors import DiskFull, OutputUnusable
from corp.partial import partial
from corp.recipe import Recipe
from population.direction import Component, Direction, Law
from population.errors import DirectionInvalid, TargetExists
from tests.corp.exports import DIRECTION, digests, export, reference, same_bits


def loaded(target: Path, dtype: str | torch.dtype = "auto") -> tuple[Any, dict[str, Any]]:
    from transformers import AutoModelForCausalLM

    model, info = AutoModelForCausalLM.from_pretrained(
        target, dtype=dtype, local_files_only=True, output_loading_info=True
    )
    return model, info


@pytest.mark.parametrize("storage", ["bfloat16", "float32"])
@pytest.mark.parametrize("shard_bytes", [10**9, 8_000])
def test_transformers_loads_exactly_the_slow_references_weights(
    tiny_llama: Path, tmp_path: Path, storage: str, shard_bytes: int
) -> None:
    target = tmp_path / "checkpoint"
    export(tiny_llama, target, storage=storage, shard_bytes=shard_bytes)
    shards = sorted(target.glob("*.safetensors"))
    assert (len(shards) > 1) == (shard_bytes == 8_000)
    model, info = loaded(target)
    assert not any(info.values()), info
    expected = reference(tiny_llama, storage)
    state = model.state_dict()
    assert state.keys() == expected.keys()
    assert all(same_bits(state[name], expected[name]) for name in expected)


def test_a_tied_head_is_not_written(pocket: Path, tmp_path: Path) -> None:
    target = tmp_path / "checkpoint"
    export(pocket, target)
    recipe = Recipe.read(target / "recipe.json")
    assert "lm_head.weight" not in recipe.tensors
    model, info = loaded(target)
    assert not any(info.values()), info
    assert model.lm_head.weight.data_ptr() == model.model.embed_tokens.weight.data_ptr()
    name = "model.embed_tokens.weight"
    assert same_bits(model.state_dict()[name], reference(pocket, "float32")[name])


def test_the_tokenizer_speaks_as_the_bases_does(pocket: Path, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    export(pocket, tmp_path / "checkpoint")
    before, after = (AutoTokenizer.from_pretrained(path) for path in (pocket, tmp_path / "checkpoint"))
    assert after("12+34=")["input_ids"] == before("12+34=")["input_ids"]
    assert after.eos_token_id == before.eos_token_id


def test_the_recipe_gives_the_digests_of_base_and_tensors(tiny_llama: Path, tmp_path: Path) -> None:
    import hashlib

    report = export(tiny_llama, tmp_path / "checkpoint")
    recipe = Recipe.read(tmp_path / "checkpoint" / "recipe.json")
    assert recipe.digest() == report.recipe_digest
    assert recipe.base.id == "tiny-llama"
    assert recipe.base.files == {"model.safetensors": digests(tiny_llama)["model.safetensors"]}
    assert recipe.direction == DIRECTION
    expected = reference(tiny_llama, "bfloat16")
    raw = {name: tensor.view(torch.uint8).numpy().tobytes() for name, tensor in expected.items()}
    assert recipe.tensors == {name: hashlib.sha256(data).hexdigest() for name, data in raw.items()}
    assert report.weights == hashlib.sha256(b"".join(raw.values())).hexdigest()


def test_the_report_counts_what_is_on_disk(tiny_llama: Path, tmp_path: Path) -> None:
    target = tmp_path / "checkpoint"
    report = export(tiny_llama, target, shard_bytes=8_000)
    assert set(report.files) == set(os.listdir(target))
    assert report.bytes == sum(path.stat().st_size for path in target.iterdir())


def test_equal_exports_are_equal_to_the_byte(tiny_llama: Path, tmp_path: Path) -> None:
    for name, threads in (("one", 1), ("two", 3)):
        export(tiny_llama, tmp_path / name, shard_bytes=8_000, threads=threads)
    assert digests(tmp_path / "one") == digests(tmp_path / "two")


def test_the_card_holds_no_path_of_this_machine(tiny_llama: Path, tmp_path: Path) -> None:
    target = tmp_path / "checkpoint"
    export(tiny_llama, target)
    for path in target.iterdir():
        assert str(tmp_path).encode() not in path.read_bytes()
        assert str(tiny_llama.parent).encode() not in path.read_bytes()


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o027, 0o640)])
def test_files_are_as_readable_as_the_umask_allows(
    tiny_llama: Path, tmp_path: Path, umask: int, mode: int
) -> None:
    before = os.umask(umask)
    try:
        export(tiny_llama, tmp_path / "checkpoint")
    finally:
        os.umask(before)
    modes = {path.stat().st_mode & 0o777 for path in (tmp_path / "checkpoint").iterdir()}
    assert modes == {mode}
    assert (tmp_path / "checkpoint").stat().st_mode & 0o777 == 0o777 & ~umask


def test_what_is_there_is_not_replaced(tiny_llama: Path, tmp_path: Path) -> None:
    (tmp_path / "checkpoint").mkdir()
    with pytest.raises(TargetExists):
        export(tiny_llama, tmp_path / "checkpoint")
    (tmp_path / "link").symlink_to("nowhere")
    with pytest.raises(TargetExists):
        export(tiny_llama, tmp_path / "link")


def test_a_missing_parent_is_named(tiny_llama: Path, tmp_path: Path) -> None:
    with pytest.raises(OutputUnusable, match="absent is not a directory"):
        export(tiny_llama, tmp_path / "absent" / "checkpoint")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_parent_that_is_not_writable_is_named(tiny_llama: Path, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(OutputUnusable, match="not writable"):
        export(tiny_llama, tmp_path / "checkpoint")


def test_too_little_room_is_found_before_anything_is_written(
    tiny_llama: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=50_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(DiskFull, match="50,000 bytes free"):
        export(tiny_llama, tmp_path / "checkpoint")
    assert os.listdir(tmp_path) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one MiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("this user cannot mount a small file system")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("foreseen", [True, False])
def test_a_disk_that_is_really_full(
    pocket: Path, small_disk: Path, monkeypatch: pytest.MonkeyPatch, foreseen: bool
) -> None:
    if not foreseen:  # another process takes the room between the check and the writing
        usage = shutil.disk_usage("/")._replace(free=10**12)
        monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(DiskFull, match="bytes free" if foreseen else r"model\.safetensors"):
        export(pocket, small_disk / "checkpoint")
    assert os.listdir(small_disk) == []


def test_nothing_is_left_of_an_export_that_fails(tiny_llama: Path, tmp_path: Path) -> None:
    far = Direction((Component(1, 3e38),), Law(), 10.0)
    with pytest.raises(DirectionInvalid, match="outgrow"):
        export(tiny_llama, tmp_path / "checkpoint", far)
    assert os.listdir(tmp_path) == []


def test_an_export_that_is_still_running_is_left_alone(tiny_llama: Path, tmp_path: Path) -> None:
    target = tmp_path / "checkpoint"
    with partial(target) as folder:
        (folder / "file").touch()
        with pytest.raises(OutputUnusable, match="another process"):
            export(tiny_llama, target)
        assert (folder / "file").exists()
    export(tiny_llama, target)


def test_a_killed_export_is_repeated_to_the_same_bytes(pocket: Path, tmp_path: Path) -> None:
    # 1,500 components: about a second of noise in which to be killed.
    long = Direction(tuple(Component(seed, 1e-4) for seed in range(1500)), Law())
    script = (
        "import sys; from pathlib import Path; from tests.corp.exports import export;"
        "from population.direction import *;"
        "export(Path(sys.argv[1]), Path(sys.argv[2]),"
        " Direction(tuple(Component(seed, 1e-4) for seed in range(1500)), Law()))"
    )
    target = tmp_path / "checkpoint"
    child = subprocess.Popen(
        [sys.executable, "-c", script, str(pocket), str(target)], cwd=Path(__file__).parents[2]
    )
    try:
        while not list(tmp_path.glob(".checkpoint.partial-*/model.safetensors")):
            assert child.poll() is None
            time.sleep(0.005)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".checkpoint.partial-")
    export(pocket, target, long)
    export(pocket, tmp_path / "undisturbed", long)
    assert sorted(os.listdir(tmp_path)) == ["checkpoint", "undisturbed"]
    assert digests(target) == digests(tmp_path / "undisturbed")


@pytest.mark.model
@pytest.mark.slow
def test_a_real_model_loads_with_exactly_the_slow_references_weights(smollm2: Path, tmp_path: Path) -> None:
    target = tmp_path / "checkpoint"
    export(smollm2, target, shard_bytes=100_000_000)
    index = json.loads((target / "model.safetensors.index.json").read_text())
    assert index["metadata"]["total_size"] == 2 * index["metadata"]["total_parameters"]
    model, info = loaded(target)
    assert not any(info.values()), info
    state = model.state_dict()
    expected = reference(smollm2, "bfloat16")
    assert all(same_bits(state[name], expected[name]) for name in expected)
    assert state.keys() - expected.keys() == {"lm_head.weight"}
