from __future__ import annotations

from pathlib import Path

import pytest

from population.engines import placement
from population.errors import ModelUnsupported


@pytest.mark.parametrize(
    ("flags", "storage", "compute"),
    [
        ("fpu sse avx2", "bfloat16", "float32"),
        ("fpu avx512f avx512_bf16", "bfloat16", "bfloat16"),
        ("fpu amx_tile amx_bf16", "bfloat16", "bfloat16"),
        ("fpu avx512_bf16", "float16", "float32"),
        ("fpu avx512_bf16", "float32", "float32"),
    ],
)
def test_cpus_compute_in_bfloat16_only_if_they_can(
    flags: str, storage: str, compute: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cpuinfo").write_text(f"processor: 0\nflags\t\t: {flags}\n")
    monkeypatch.setattr(placement, "CPUINFO", tmp_path / "cpuinfo")
    assert placement.compute_dtype("auto", storage, "cpu") == compute
    assert placement.compute_dtype("auto", storage, "cuda") == storage


def test_devices_that_are_not_there_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert placement.find_device("auto").type == "cpu"
    with pytest.raises(ModelUnsupported, match="no GPU"):
        placement.find_device("cuda")
    with pytest.raises(ModelUnsupported, match="unknown device"):
        placement.find_device("tpu")


def test_threads_default_to_cores_that_this_process_may_use() -> None:
    import os

    assert 1 <= placement.cores() <= len(os.sched_getaffinity(0))
