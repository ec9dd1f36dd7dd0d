from __future__ import annotations

import hashlib
import json
import os
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from population.checkpoint import Checkpoint, resolve
from population.errors import ModelMissing, ModelUnsupported
from population.header import HEADER_LIMIT, read_header

CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "dtype": "bfloat16"}


def entry(dtype: str, shape: list[int], start: int, end: int) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


def write(path: Path, header: object, data: bytes = b"", length: int | None = None) -> None:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text) if length is None else length) + text + data)


def folder_with(path: Path, *, config: dict[str, Any] | None = None, files: int = 1) -> Path:
    """A well-formed checkpoint of three tensors in one file or several."""
    path.mkdir(exist_ok=True)
    (path / "config.json").write_text(json.dumps(CONFIG if config is None else config))
    (path / "tokenizer.json").write_text("{}")
    tensors = {
        "model.embed_tokens.weight": ("BF16", [3, 4]),
        "model.norm.weight": ("F32", [4]),
        "lm_head.weight": ("BF16", [3, 4]),
    }
    if files == 1:
        parts = {"model.safetensors": tensors}
    else:
        parts = {f"model-{at}.safetensors": {name: tensors[name]} for at, name in enumerate(tensors)}
        index = {"weight_map": {name: file for file, part in parts.items() for name in part}}
        (path / "model.safetensors.index.json").write_text(json.dumps(index))
    for file, part in parts.items():
        header, end = {}, 0
        for name, (dtype, shape) in part.items():
            size = int(np.prod(shape)) * (2 if dtype == "BF16" else 4)
            header[name] = entry(dtype, shape, end, end + size)
            end += size
        write(path / file, header, bytes(range(end)))
    return path


def test_a_file_written_by_safetensors_is_read_the_same(tmp_path: Path) -> None:
    from safetensors import safe_open
    from safetensors.torch import save_file

    torch = pytest.importorskip("torch")
    folder_with(tmp_path)
    tensors = {
        "a": torch.randn(3, 5).bfloat16(),
        "b": torch.randn(2, 2, 2).half(),
        "c": torch.randn(7),
        "d": torch.randn(()),
    }
    save_file(tensors, tmp_path / "model.safetensors", metadata={"format": "pt"})
    checkpoint = Checkpoint.open(tmp_path)
    with safe_open(tmp_path / "model.safetensors", framework="pt") as oracle:
        assert set(oracle.keys()) == checkpoint.tensors.keys()
        for name, info in checkpoint.tensors.items():
            expected = oracle.get_tensor(name)
            assert info.shape == tuple(expected.shape)
            raw = checkpoint.read(name)
            values = torch.from_numpy(raw).view(expected.dtype).reshape(expected.shape)
            assert torch.equal(values, expected)
            assert info.nbytes == raw.nbytes


@given(bounds=st.tuples(st.integers(0, 12), st.integers(0, 12)))
def test_any_slice_is_that_slice_of_the_whole(
    tmp_path_factory: pytest.TempPathFactory, bounds: tuple[int, int]
) -> None:
    start, stop = sorted(bounds)
    checkpoint = Checkpoint.open(folder_with(tmp_path_factory.mktemp("slice")))
    whole = checkpoint.read("model.embed_tokens.weight")
    into = np.zeros(stop - start, np.uint16)
    assert checkpoint.read("model.embed_tokens.weight", start, stop, into) is into
    assert into.tolist() == whole[start:stop].tolist()


def test_a_slice_outside_and_an_array_that_does_not_fit_are_refused(tmp_path: Path) -> None:
    checkpoint = Checkpoint.open(folder_with(tmp_path))
    with pytest.raises(IndexError):
        checkpoint.read("model.norm.weight", 2, 5)
    with pytest.raises(ValueError, match="into"):
        checkpoint.read("model.norm.weight", into=np.zeros(3, np.float32))


@pytest.mark.parametrize("files", [1, 3])
def test_tensors_come_in_the_order_of_files_and_bytes(files: int, tmp_path: Path) -> None:
    checkpoint = Checkpoint.open(folder_with(tmp_path, files=files))
    assert list(checkpoint.tensors) == ["model.embed_tokens.weight", "model.norm.weight", "lm_head.weight"]
    assert len(checkpoint.files) == files
    assert checkpoint.read("model.norm.weight").dtype == np.float32


def test_digests_are_those_of_the_files(tmp_path: Path) -> None:
    checkpoint = Checkpoint.open(folder_with(tmp_path, files=3))
    assert checkpoint.digests() == {
        file: hashlib.sha256((tmp_path / file).read_bytes()).hexdigest() for file in checkpoint.files
    }


def test_reading_is_safe_from_several_threads(tmp_path: Path) -> None:
    checkpoint = Checkpoint.open(folder_with(tmp_path))
    whole = checkpoint.read("model.embed_tokens.weight").tolist()
    wrong: list[object] = []

    def work(start: int) -> None:
        for _ in range(200):
            got = checkpoint.read("model.embed_tokens.weight", start, start + 4).tolist()
            if got != whole[start : start + 4]:
                wrong.append(got)

    workers = [threading.Thread(target=work, args=(start,)) for start in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


@pytest.mark.parametrize(
    ("config", "storage"),
    [
        ({"dtype": "float16"}, "float16"),
        ({"torch_dtype": "float32"}, "float32"),
        ({}, "bfloat16"),
    ],
)
def test_storage_is_the_configs_dtype_or_that_of_most_weights(
    config: dict[str, str], storage: str, tmp_path: Path
) -> None:
    folder_with(tmp_path, config={"architectures": ["LlamaForCausalLM"], **config})
    assert Checkpoint.open(tmp_path).storage == storage


def test_a_stored_copy_of_a_tied_head_is_left_out(tmp_path: Path) -> None:
    checkpoint = Checkpoint.open(folder_with(tmp_path, config=CONFIG | {"tie_word_embeddings": True}))
    assert list(checkpoint.tensors) == ["model.embed_tokens.weight", "model.norm.weight"]
    assert checkpoint.tied_duplicates == ("lm_head.weight",)
    untied = Checkpoint.open(folder_with(tmp_path, config=CONFIG | {"tie_word_embeddings": False}))
    assert len(untied.tensors) == 3
    assert untied.tied_duplicates == ()


def test_a_tied_head_stored_without_the_embedding_is_kept(tmp_path: Path) -> None:
    folder_with(tmp_path, config=CONFIG | {"tie_word_embeddings": True})
    write(tmp_path / "model.safetensors", {"lm_head.weight": entry("F32", [2], 0, 8)}, bytes(8))
    assert list(Checkpoint.open(tmp_path).tensors) == ["lm_head.weight"]


Damage = Callable[[Path], object]


def _config(**fields: object) -> Damage:
    return lambda path: (path / "config.json").write_text(json.dumps(CONFIG | fields))


def _only(name: str) -> Damage:
    return lambda path: (path / "model.safetensors").rename(path / name)


def _header(header: object, data: bytes = b"", length: int | None = None) -> Damage:
    return lambda path: write(path / "model.safetensors", header, data, length)


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "model.safetensors.index.json"])
def test_a_pipe_is_no_file_and_is_not_waited_for(tmp_path: Path, name: str) -> None:
    path = folder_with(tmp_path, files=3 if name.endswith("index.json") else 1)
    (path / name).unlink(missing_ok=True)
    os.mkfifo(path / name)
    with pytest.raises(ModelMissing, match="not a plain file"):
        Checkpoint.open(path)


def test_a_name_longer_than_any_file_is_a_missing_model() -> None:
    with pytest.raises(ModelMissing, match="too long"):
        resolve("/" + 5000 * "a")


def test_what_is_no_safetensors_checkpoint_is_called_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    with pytest.raises(ModelUnsupported, match="GGUF weights only"):
        Checkpoint.open(tmp_path)
    with pytest.raises(ModelUnsupported, match="is a single file"):
        resolve(str(tmp_path / "model.gguf"))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: (path / "config.json").write_text("{"), "not JSON"),
        (lambda path: (path / "config.json").write_text("[]"), "not a JSON object"),
        (lambda path: (path / "config.json").write_text("[" * 100_000), "not JSON"),
        (_config(auto_map={"AutoModel": "m.M"}), "its own code"),
        (_config(quantization_config={"bits": 4}), "quantised"),
        (_config(architectures=["T5ForConditionalGeneration"]), "not a causal language model"),
        (_config(architectures=None), "not a causal language model"),
        (_config(architectures=5), "not a causal language model"),
        (_config(dtype="int8"), "declares the dtype"),
        (_config(dtype=["bfloat16"]), "declares the dtype"),
        (lambda path: (path / "modeling_x.py").write_text(""), "contains code"),
        (lambda path: (path / "tokenizer.json").unlink(), "no tokenizer"),
        (_only("pytorch_model.bin"), "pickled weights only"),
        (_only("model.Q4_1.gguf"), "GGUF weights only"),
        (_only("adapter_config.json"), "an adapter, not a whole model"),
        (_only("other.safetensors"), "neither model.safetensors nor"),
        (_header({"w": entry("I8", [4], 0, 4)}, bytes(4)), "buffer or a quantised weight"),
        (_header({"w": entry("F64", [1], 0, 8)}, bytes(8)), "float64"),
        (_header({"w": entry("F8_E4M3", [4], 0, 4)}, bytes(4)), "quantised"),
        (_header({"w": entry("F4", [4], 0, 2)}, bytes(2)), "does not know"),
        (_header({"w": entry("F32", [0, 4], 0, 0)}), "empty"),
        (_header({}), "stores no tensors"),
    ],
)
def test_what_cannot_be_served_faithfully_is_refused(damage: Damage, message: str, tmp_path: Path) -> None:
    folder_with(tmp_path)
    damage(tmp_path)
    with pytest.raises(ModelUnsupported, match=message):
        Checkpoint.open(tmp_path)


@pytest.mark.parametrize(
    "damage",
    [
        _header({"w": entry("F32", [2], 0, 8)}, bytes(8), length=0),
        _header({"w": entry("F32", [2], 0, 8)}, bytes(8), length=2**63),
        _header({"w": entry("F32", [2], 0, 8)}, bytes(8), length=HEADER_LIMIT + 1),
        _header(b"\xff\xfe not text"),
        _header(b"[1, 2]"),
        _header(b"[" * 200_000),
        _header(b'{"w": 1'),
        _header(b'{"w":' + json.dumps(entry("F32", [1], 0, 4)).encode() + b',"w":1}', bytes(4)),
        _header({"w": 1}),
        _header({"w": {"dtype": "F32", "shape": [2]}}, bytes(8)),
        _header({"w": entry("F32", [-2], 0, 8)}, bytes(8)),
        _header({"w": entry("F32", [True, 2], 0, 8)}, bytes(8)),
        _header({"w": entry("F32", [2.0], 0, 8)}, bytes(8)),  # type: ignore[list-item]
        _header({"w": entry("F32", [2**40, 2**40], 0, 8)}, bytes(8)),
        _header({"w": entry("F32", 20_000 * [10**4000], 0, 8)}, bytes(8)),  # a product that takes minutes
        _header({"w": entry("F32", 65 * [1], 0, 4)}, bytes(4)),
        _header({"w": entry("F32", [2], 8, 0)}, bytes(8)),
        _header({"w": entry("F32", [2], 0, 8)}, bytes(4)),
        _header({"w": entry("F32", [2], 0, 8)}, bytes(12)),
        _header({"w": entry("F32", [2], 4, 12)}, bytes(12)),
        _header({"a": entry("F32", [2], 0, 8), "b": entry("F32", [2], 4, 12)}, bytes(12)),
        _header({"a": entry("F32", [2], 0, 8), "b": entry("F32", [2], 0, 8)}, bytes(8)),
        _header({"__metadata__": {"format": 1}, "w": entry("F32", [2], 0, 8)}, bytes(8)),
        lambda path: (path / "model.safetensors").write_bytes(b"\x01"),
    ],
)
def test_hostile_headers_are_refused(damage: Damage, tmp_path: Path) -> None:
    folder_with(tmp_path)
    damage(tmp_path)
    with pytest.raises(ModelUnsupported):
        Checkpoint.open(tmp_path)


@settings(max_examples=300)
@given(st.binary(max_size=200), st.integers(0, 210))
def test_no_bytes_crash_the_header_parser(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, length: int
) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "model.safetensors"
    path.write_bytes(struct.pack("<Q", length) + data)
    try:
        tensors = read_header(path)
    except ModelUnsupported:
        return
    assert sum(tensor.nbytes for tensor in tensors.values()) == len(data) - length


@pytest.mark.parametrize(
    "name", ["../model-0.safetensors", "/etc/x.safetensors", "a/b.safetensors", "x.bin", 3]
)
def test_an_index_must_not_leave_the_directory(name: object, tmp_path: Path) -> None:
    folder_with(tmp_path, files=3)
    index = {"weight_map": {"model.norm.weight": name}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(ModelUnsupported, match="points at"):
        Checkpoint.open(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.update(ghost="model-0.safetensors"),
        lambda table: table.update({"lm_head.weight": "model-1.safetensors"}),
        lambda table: table.clear(),
    ],
)
def test_index_and_headers_have_to_agree_exactly(
    change: Callable[[dict[str, str]], object], tmp_path: Path
) -> None:
    folder_with(tmp_path, files=3)
    path = tmp_path / "model.safetensors.index.json"
    index = json.loads(path.read_text())
    change(index["weight_map"])
    path.write_text(json.dumps(index))
    with pytest.raises(ModelUnsupported):
        Checkpoint.open(tmp_path)


def test_a_tensor_that_the_index_does_not_name_is_refused(tmp_path: Path) -> None:
    folder_with(tmp_path, files=3)
    header = {"model.norm.weight": entry("F32", [4], 0, 16), "extra": entry("F32", [1], 16, 20)}
    write(tmp_path / "model-1.safetensors", header, bytes(20))
    with pytest.raises(ModelUnsupported, match="disagree on 1 tensors, first 'extra'"):
        Checkpoint.open(tmp_path)


def test_a_tensor_in_two_files_is_refused(tmp_path: Path) -> None:
    folder_with(tmp_path, files=3)
    write(tmp_path / "model-1.safetensors", {"lm_head.weight": entry("F32", [1], 0, 4)}, bytes(4))
    with pytest.raises(ModelUnsupported, match="stored twice"):
        Checkpoint.open(tmp_path)


def test_single_file_and_index_beside_each_other_are_refused(tmp_path: Path) -> None:
    folder_with(tmp_path, files=3)
    write(tmp_path / "model.safetensors", {"w": entry("F32", [1], 0, 4)}, bytes(4))
    with pytest.raises(ModelUnsupported, match="disagree on which one counts"):
        Checkpoint.open(tmp_path)


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing, match="cannot be read"):
        Checkpoint.open(tmp_path / "nowhere")
    with pytest.raises(ModelMissing, match=r"config\.json"):
        Checkpoint.open(tmp_path)
    folder_with(tmp_path, files=3)
    (tmp_path / "model-1.safetensors").unlink()
    with pytest.raises(ModelMissing, match=r"model-1\.safetensors"):
        Checkpoint.open(tmp_path)


def test_a_file_that_shrinks_after_opening_is_noticed(tmp_path: Path) -> None:
    checkpoint = Checkpoint.open(folder_with(tmp_path))
    path = tmp_path / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(ModelMissing, match="ends before"):
        checkpoint.read("lm_head.weight")


def test_a_directory_resolves_to_itself(tmp_path: Path) -> None:
    assert resolve(str(tmp_path)) == tmp_path


@pytest.mark.parametrize("model", ["/no/such/directory", "./none", "a/b/c", "nobody/no-such-model-here"])
def test_what_is_neither_a_directory_nor_fetchable_is_missing(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ModelMissing, match=model):
        resolve(model)


def test_a_snapshot_is_fetched_without_pickles_or_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fnmatch

    import huggingface_hub

    asked: dict[str, Any] = {}

    def fetch(repo: str, **options: Any) -> str:
        asked.update(options, repo=repo)
        return str(tmp_path)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fetch)
    assert resolve("org/model", "abc") == tmp_path
    assert (asked["repo"], asked["revision"]) == ("org/model", "abc")

    def wanted(name: str) -> bool:
        return any(fnmatch.fnmatch(name, pattern) for pattern in asked["allow_patterns"])

    for name in (
        "model-00001.safetensors",
        "config.json",
        "tokenizer.model",
        "chat_template.jinja",
        "merges.txt",
    ):
        assert wanted(name)
    for name in ("pytorch_model.bin", "modeling.py", "model.gguf", "weights.pt"):
        assert not wanted(name)


def test_opening_loads_neither_torch_nor_transformers(tmp_path: Path) -> None:
    import subprocess
    import sys

    folder_with(tmp_path)
    code = (
        "import sys; from pathlib import Path; from population.checkpoint import Checkpoint;"
        f"Checkpoint.open(Path({str(tmp_path)!r})).digests();"
        "print([m for m in ('torch', 'transformers', 'numba') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert out.stdout.strip() == "[]"
