from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from population.checkpoint import Checkpoint
from population.engines.engine import Sampling
from population.engines.torch import TorchEngine
from population.errors import EngineMismatch, ModelUnsupported
from tests.population.engines import tiny

Start = Callable[..., TorchEngine]


def rewrite(folder: Path, change) -> None:  # type: ignore[no-untyped-def]
    """Let ``change`` edit the stored tensors."""
    from safetensors.torch import load_file, save_file

    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def test_names_without_the_models_prefix_are_understood(tmp_path: Path, start: Start) -> None:
    def strip(tensors) -> None:  # type: ignore[no-untyped-def]
        for name in list(tensors):
            tensors[name.removeprefix("transformer.")] = tensors.pop(name)

    prompts = tiny.unequal_prompts(2)
    whole = start(tiny.save("gpt2", tmp_path / "whole"))
    bare_folder = tiny.save("gpt2", tmp_path / "bare")
    rewrite(bare_folder, strip)
    bare = start(bare_folder)
    assert "wte.weight" in Checkpoint.open(bare_folder).tensors
    assert bare.score(prompts, ["ab", "c"]) == whole.score(prompts, ["ab", "c"])


def test_a_stored_copy_of_a_tied_head_counts_once_even_if_it_differs(tmp_path: Path, start: Start) -> None:
    def add_head(tensors) -> None:  # type: ignore[no-untyped-def]
        tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"] + 1

    plain = start(tiny.save("llama", tmp_path / "plain"))
    folder = tiny.save("llama", tmp_path / "double")
    rewrite(folder, add_head)
    assert Checkpoint.open(folder).tied_duplicates == ("lm_head.weight",)
    double = start(folder)
    prompts = tiny.unequal_prompts(2)
    assert double.digest() == plain.digest()
    assert double.score(prompts, ["ab", "c"]) == plain.score(prompts, ["ab", "c"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.pop("model.norm.weight"), "does not store 1 of the model's weights"),
        (lambda t: t.update(extra=t["model.norm.weight"].clone()), "'extra' is no weight"),
        (
            lambda t: t.update({"model.rotary_emb.inv_freq": t["model.norm.weight"][:4].clone()}),
            "inv_freq' is a buffer",
        ),
        (
            lambda t: t.update({"model.norm.weight": t["model.norm.weight"][:-1].clone()}),
            r"has the shape \(31,\)",
        ),
    ],
)
def test_tensors_and_parameters_have_to_match_one_to_one(
    change: Callable[[dict[str, object]], object], message: str, tmp_path: Path, start: Start
) -> None:
    folder = tiny.save("llama", tmp_path)
    rewrite(folder, change)
    with pytest.raises(ModelUnsupported, match=message):
        start(folder)


def test_two_stored_tensors_for_one_weight_are_refused(tmp_path: Path, start: Start) -> None:
    folder = tiny.save("gpt2", tmp_path)  # GPT-2 ties by its class's default, which its config does not state
    tiny.edit_config(folder, tie_word_embeddings=None)
    rewrite(folder, lambda t: t.update({"lm_head.weight": t["transformer.wte.weight"].clone()}))
    with pytest.raises(ModelUnsupported, match="are one weight"):
        start(folder)


def test_an_unknown_architecture_is_a_clear_error(tmp_path: Path, start: Start) -> None:
    folder = tiny.save("llama", tmp_path)
    tiny.edit_config(folder, model_type="no_such_model")
    with pytest.raises(ModelUnsupported, match="cannot load") as caught:
        start(folder)
    assert "\n" not in str(caught.value)
    assert "pip install" not in caught.value.detail


def test_a_model_that_is_loaded_otherwise_than_stored_is_refused(
    tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    from population.engines import loading

    plain = loading.load_model

    def scaled(*arguments):  # type: ignore[no-untyped-def]
        model = plain(*arguments)
        model.model.norm.weight.mul_(2)
        return model

    monkeypatch.setattr(loading, "load_model", scaled)
    with pytest.raises(EngineMismatch, match=r"loads model\.norm\.weight otherwise"):
        start(tiny.save("llama", tmp_path))


def test_weights_that_are_not_numbers_are_called_so(tmp_path: Path, start: Start) -> None:
    folder = tiny.save("llama", tmp_path)
    checkpoint = Checkpoint.open(folder)
    info = checkpoint.tensors["model.norm.weight"]
    with (folder / info.file).open("r+b") as file:
        file.seek(info.offset)
        file.write(b"\xff" * info.nbytes)
    with pytest.raises(ModelUnsupported, match=r"model\.norm\.weight are NaN"):
        start(folder)


def test_loading_is_silent(tmp_path: Path, start: Start, capfd: pytest.CaptureFixture[str]) -> None:
    folder = tiny.save("llama", tmp_path)
    capfd.readouterr()
    start(folder).generate(tiny.unequal_prompts(2), Sampling(max_new_tokens=2))
    written = capfd.readouterr()
    assert (written.out, written.err) == ("", "")
