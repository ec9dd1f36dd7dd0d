from __future__ import annotations

import json
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open

from corp.layout import Shard, index, plan
from population.header import TensorInfo, read_header

WIDTH = {"bfloat16": 2, "float16": 2, "float32": 4}

shapes = st.lists(st.lists(st.integers(1, 9), max_size=3).map(tuple), min_size=1, max_size=12)
storages = st.sampled_from(sorted(WIDTH))


def tensors(of: list[tuple[int, ...]]) -> list[TensorInfo]:
    return [TensorInfo(f"t.{i}.weïght", "float32", shape, "x", 0, 0) for i, shape in enumerate(of)]


def write(shard: Shard, folder: Path) -> Path:
    path = folder / shard.file
    path.write_bytes(shard.header + bytes(shard.nbytes - len(shard.header)))
    return path


@given(shapes, storages, st.integers(1, 3000))
def test_shards_keep_order_and_limit(of: list[tuple[int, ...]], storage: str, limit: int) -> None:
    shards = plan(tensors(of), storage, limit)
    assert [t.name for shard in shards for t in shard.tensors] == [t.name for t in tensors(of)]
    for shard in shards:
        assert shard.nbytes <= limit or len(shard.tensors) == 1
        assert len(shard.header) % 8 == 0


@given(shapes, storages, st.integers(1, 3000))
def test_safetensors_reads_the_planned_files(of: list[tuple[int, ...]], storage: str, limit: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        for shard in plan(tensors(of), storage, limit):
            path = write(shard, Path(name))
            assert tuple(read_header(path).values()) == shard.tensors
            with safe_open(path, "pt") as file:
                assert file.metadata() == {"format": "pt"}
                found = {key: (tuple(file.get_slice(key).get_shape())) for key in file.keys()}  # noqa: SIM118
            assert found == {tensor.name: tensor.shape for tensor in shard.tensors}


def test_one_shard_has_no_index() -> None:
    shards = plan(tensors([(2, 3)]), "bfloat16", 10_000)
    assert [shard.file for shard in shards] == ["model.safetensors"]
    assert index(shards) == {}


def test_the_index_counts_bytes_and_names_every_tensor() -> None:
    shards = plan(tensors([(100,), (50,), (25,)]), "bfloat16", 300)
    assert [shard.file for shard in shards] == [f"model-0000{i}-of-00003.safetensors" for i in (1, 2, 3)]
    content = json.loads(index(shards)["model.safetensors.index.json"])
    assert content["metadata"] == {"total_size": 350, "total_parameters": 175}
    assert content["weight_map"] == {t.name: shard.file for shard in shards for t in shard.tensors}


def test_thousands_of_tensors_are_planned_at_once() -> None:
    shards = plan(tensors([(8,)] * 20_000), "float32", 100_000)
    assert sum(len(shard.tensors) for shard in shards) == 20_000
