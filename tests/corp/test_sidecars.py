from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from corp.sidecars import card_metadata, chat_templates, config, sidecars
from population.checkpoint import Checkpoint
from population.errors import ModelUnsupported


@pytest.fixture
def model(tiny_llama: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_llama, tmp_path / "model"))


def files(model: Path, storage: str = "bfloat16") -> dict[str, bytes]:
    return sidecars(Checkpoint.open(model), storage)


def edit(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_tokenizer_and_generation_config_are_copied_byte_for_byte(model: Path) -> None:
    (model / "merges.txt").write_bytes(b"#version: 0.2\r\na b\n")
    (model / "special_tokens_map.json").write_bytes(b'{"eos_token":\t"</s>"}')
    (model / "LICENSE").write_bytes(b"Apache")
    (model / "NOTICE.txt").write_bytes(b"notice")
    found = files(model)
    for name in (
        "generation_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "merges.txt",
        "special_tokens_map.json",
        "LICENSE",
        "NOTICE.txt",
    ):
        assert found[name] == (model / name).read_bytes()


def test_nothing_else_is_passed_on(model: Path) -> None:
    for name in ("optimizer.pt", "training_args.bin", "README.md", "adapter_model.safetensors", ".git"):
        (model / name).write_bytes(b"x")
    assert set(files(model)) == {
        "config.json",
        "generation_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
    }


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ({"dtype": "float32"}, {"dtype": "float16"}),
        ({"torch_dtype": "float32"}, {"torch_dtype": "float16"}),
        ({"torch_dtype": "float32", "dtype": "float32"}, {"torch_dtype": "float16", "dtype": "float16"}),
        ({}, {"torch_dtype": "float16"}),
        ({"_name_or_path": "/home/me/x", "dtype": "float32"}, {"dtype": "float16"}),
        ({"a": {"z": 1, "b": "ü"}, "dtype": "bfloat16"}, {"a": {"z": 1, "b": "ü"}, "dtype": "float16"}),
    ],
)
def test_config_states_the_new_dtype_under_the_keys_in_use(
    base: dict[str, Any], expected: dict[str, Any]
) -> None:
    found = json.loads(config(base, "float16"))
    assert list(found.items()) == list(expected.items())


@pytest.mark.parametrize("where", ["jinja", "tokenizer", "both", "list", "old"])
def test_one_template_in_every_form(model: Path, where: str) -> None:
    text = "{% for m in messages %}{{ m.content }}ä{% endfor %}"
    if where in ("jinja", "both"):
        (model / "chat_template.jinja").write_text(text)
    if where == "tokenizer":
        edit(model / "tokenizer_config.json", chat_template=text)
    if where == "both":  # readers of the .jinja file scored; the stale copy gives way
        edit(model / "tokenizer_config.json", chat_template="another")
    if where == "list":
        named = [{"name": "tools", "template": "t"}, {"name": "default", "template": text}]
        edit(model / "tokenizer_config.json", chat_template=named)
    if where == "old":
        (model / "chat_template.json").write_text(json.dumps({"chat_template": text}))
    out = model.parent / "out"
    out.mkdir()
    for name, data in files(model).items():
        (out / name).write_bytes(data)
    stated = chat_templates(out)
    assert {"chat_template.jinja", "tokenizer_config.json"} <= set(stated)
    assert set(stated.values()) == {text}
    if where == "list":
        assert {"name": "tools", "template": "t"} in json.loads((out / "tokenizer_config.json").read_text())[
            "chat_template"
        ]


def test_a_template_in_both_places_leaves_the_tokenizer_config_as_it_is(model: Path) -> None:
    edit(model / "tokenizer_config.json", chat_template="x")
    (model / "chat_template.jinja").write_text("x")
    assert files(model)["tokenizer_config.json"] == (model / "tokenizer_config.json").read_bytes()


def test_somebodys_home_directory_is_left_out(model: Path) -> None:
    edit(model / "tokenizer_config.json", name_or_path="/home/somebody/model")
    edit(model / "config.json", _name_or_path="/home/somebody/model")
    assert not any(b"somebody" in data for data in files(model).values())


def test_a_link_out_of_the_model_is_refused(model: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (model / "LICENSE").symlink_to(tmp_path / "secret")
    with pytest.raises(ModelUnsupported, match="outside the model"):
        files(model)


def test_links_of_the_hubs_cache_are_followed(model: Path, tmp_path: Path) -> None:
    cache = tmp_path / "models--org--m"
    snapshot = cache / "snapshots" / "0123"
    (cache / "blobs").mkdir(parents=True)
    snapshot.mkdir(parents=True)
    for file in model.iterdir():
        shutil.copy(file, cache / "blobs" / file.name)
        (snapshot / file.name).symlink_to(f"../../blobs/{file.name}")
    assert files(snapshot) == files(model)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# no front matter",
        "---\n[",
        "---\n- a\n---\n",
        "---\nlicense: mit",
        "\xff\xfe",
    ],
)
def test_a_card_that_cannot_be_read_says_nothing(model: Path, text: str) -> None:
    (model / "README.md").write_text(text, encoding="latin-1")
    assert card_metadata(model) == {}


def test_a_pipe_is_not_waited_for(model: Path) -> None:
    os.mkfifo(model / "merges.txt")
    with pytest.raises(ModelUnsupported, match="not a plain file"):
        files(model)


def test_the_cards_front_matter_is_read(model: Path) -> None:
    front = "license: apache-2.0\nlanguage: [en, no]\ndate: 2024-13-01"  # no date, which YAML would say late
    (model / "README.md").write_text(f"---\n{front}\n---\n# Model\n---\n")
    found = card_metadata(model)
    assert found == {"license": "apache-2.0", "language": ["en", "no"], "date": "2024-13-01"}


def test_a_tokenizer_config_that_is_no_json_is_refused(model: Path) -> None:
    (model / "tokenizer_config.json").write_text("{")
    with pytest.raises(ModelUnsupported, match="tokenizer_config"):
        files(model)
