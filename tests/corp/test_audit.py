from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from corp.audit import AuditReport, audit
from corp.errors import AuditFailed, RecipeInvalid
from corp.manifest import Entry, Manifest
from corp.recipe import Recipe
from population.checkpoint import Checkpoint
from population.direction import Component, Direction, Law
from population.errors import ModelMissing
from population.header import read_header
from population.scaletable import scale_table
from tests.corp.exports import DARE, DIRECTION, TIES, export

SECOND = "model-00002-of-00003.safetensors"


@pytest.fixture
def exported(tiny_llama: Path, tmp_path: Path) -> Path:
    """Three shards in RUN/checkpoint."""
    (tmp_path / "run").mkdir()
    export(tiny_llama, tmp_path / "run" / "checkpoint", shard_bytes=18_000)
    return tmp_path / "run" / "checkpoint"


def ignore(event: str, data: Mapping[str, object]) -> None:
    del event, data


def check(exported: Path, base: Path | None) -> AuditReport:
    return audit(exported, base=base, emit=ignore)


def seal(exported: Path) -> None:
    """Make the manifest fit the files, as a careful forger would."""
    files = {path.name: Entry.of(path.read_bytes()) for path in exported.iterdir()}
    del files["manifest.json"]
    (exported / "manifest.json").write_bytes(Manifest(files).to_bytes())


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def tamper(exported: Path, recipe: Recipe) -> None:
    (exported / "recipe.json").write_bytes(recipe.to_bytes())
    seal(exported)


def test_an_untouched_export_passes(exported: Path, tiny_llama: Path) -> None:
    events: list[tuple[str, Mapping[str, object]]] = []
    report = audit(exported, base=tiny_llama, emit=lambda *event: events.append(event))
    recipe = Recipe.read(exported / "recipe.json")
    files = [path for path in exported.iterdir() if path.name != "manifest.json"]
    size = sum(path.stat().st_size for path in files)
    assert report == AuditReport(recipe.digest(), len(files), size, len(recipe.tensors), None, None)
    assert json.loads(json.dumps(report.to_json()))["tensors"] == len(recipe.tensors)
    progress = [data for event, data in events if event == "phase.progress"]
    assert progress[-1] == {"phase": "audit", "done": len(recipe.tensors), "total": len(recipe.tensors)}
    assert "not checked" in str(events[-1])


def test_a_changed_byte_of_a_shard_names_the_file(exported: Path, tiny_llama: Path) -> None:
    flip(exported / SECOND, -1)
    with pytest.raises(AuditFailed, match=r"model-00002-of-00003\.safetensors has the SHA-256"):
        check(exported, tiny_llama)


def test_a_changed_byte_of_the_recipe_names_it(exported: Path, tiny_llama: Path) -> None:
    flip(exported / "recipe.json", 100)
    with pytest.raises(AuditFailed, match=r"recipe\.json has the SHA-256"):
        check(exported, tiny_llama)


def test_a_changed_weight_under_a_forged_manifest_names_the_tensor(exported: Path, tiny_llama: Path) -> None:
    info = max(read_header(exported / SECOND).values(), key=lambda tensor: tensor.size)
    flip(exported / SECOND, info.offset + 10)
    seal(exported)
    with pytest.raises(AuditFailed, match=rf"1 of {info.size:,} weights of {info.name} in {SECOND}"):
        check(exported, tiny_llama)


def test_a_changed_amplitude_under_a_forged_manifest_is_found(exported: Path, tiny_llama: Path) -> None:
    recipe = Recipe.read(exported / "recipe.json")
    first, *others = recipe.direction.components
    components = (Component(first.seed, first.amplitude * 1.01), *others)
    tamper(exported, replace(recipe, direction=replace(recipe.direction, components=components)))
    with pytest.raises(AuditFailed, match="are not base \\+ recipe"):
        check(exported, tiny_llama)


@pytest.mark.parametrize("direction", [TIES, DARE], ids=["ties", "dare"])
def test_a_merge_is_rebuilt_from_its_recipe_and_a_forged_rule_is_found(
    tiny_llama: Path, tmp_path: Path, direction: Direction
) -> None:
    exported = tmp_path / "merged"
    export(tiny_llama, exported, direction)
    recipe = Recipe.read(exported / "recipe.json")
    assert recipe.direction == direction
    assert check(exported, tiny_llama).tensors == len(recipe.tensors)
    assert direction.merge is not None
    for change in ({"density": 0.31}, {"weights": (0.5, 0.31, 0.19)}):
        rule = replace(direction.merge, **change)
        tamper(exported, replace(recipe, direction=replace(direction, merge=rule)))
        with pytest.raises(AuditFailed, match="are not base \\+ recipe"):
            check(exported, tiny_llama)


LAWS = [
    (Law(kind="lowrank", rank=4), "isotropic"),
    (Law(), "rms"),
    (Law(scope="no-norms"), "modular"),
    (Law(kind="lowrank", rank=2, scope="no-embeddings"), "modular"),
    (Law(scheme="tied"), "rms"),
]


@pytest.mark.parametrize(
    ("law", "scale"), LAWS, ids=lambda part: part if isinstance(part, str) else part.kind
)
def test_every_kind_of_noise_is_rebuilt_and_another_is_found(
    tiny_llama: Path, tmp_path: Path, law: Law, scale: str
) -> None:
    """A centre that moved twice, under the law with its scale table, as a run exports it."""
    law = replace(law, scale=scale_table(Checkpoint.open(tiny_llama), scale, law))
    direction = replace(DIRECTION, law=law) + Direction((Component(17, -0.01), Component(5, 0.02)), law, 1.5)
    exported = tmp_path / "exported"
    export(tiny_llama, exported, direction)
    recipe = Recipe.read(exported / "recipe.json")
    assert recipe.direction == direction
    assert check(exported, tiny_llama).tensors == len(recipe.tensors)
    other = replace(law, kind="full", rank=None) if law.rank else replace(law, scale=1.0)
    tamper(exported, replace(recipe, direction=replace(direction, law=other)))
    with pytest.raises(AuditFailed, match="are not base \\+ recipe"):
        check(exported, tiny_llama)


def test_a_changed_tensor_digest_under_a_forged_manifest_is_found(exported: Path, tiny_llama: Path) -> None:
    recipe = Recipe.read(exported / "recipe.json")
    tamper(exported, replace(recipe, tensors={**recipe.tensors, "model.norm.weight": "0" * 64}))
    with pytest.raises(AuditFailed, match=r"model\.norm\.weight .*another SHA-256"):
        check(exported, tiny_llama)


def test_a_tensor_missing_from_the_recipe_is_found(exported: Path, tiny_llama: Path) -> None:
    recipe = Recipe.read(exported / "recipe.json")
    tensors = {name: digest for name, digest in recipe.tensors.items() if name != "lm_head.weight"}
    tamper(exported, replace(recipe, tensors=tensors))
    with pytest.raises(AuditFailed, match=r"tensor lm_head\.weight is only in the weight files"):
        check(exported, tiny_llama)


def test_another_spelling_of_the_recipe_is_refused(exported: Path, tiny_llama: Path) -> None:
    path = exported / "recipe.json"
    path.write_text(json.dumps(json.loads(path.read_text())))
    seal(exported)
    with pytest.raises(RecipeInvalid, match="spelled"):
        check(exported, tiny_llama)


def test_another_base_is_named(exported: Path, pocket: Path) -> None:
    with pytest.raises(AuditFailed, match=r"pocket.*is not the base of this recipe: model\.safetensors"):
        check(exported, pocket)


def test_the_base_is_found_through_the_run(exported: Path, tiny_llama: Path) -> None:
    (exported.parent / "spec.json").write_text(json.dumps({"model": str(tiny_llama), "revision": None}))
    assert check(exported, None).prompts is None


@pytest.mark.parametrize(
    "spec",
    [
        None,
        "{",
        "[]",
        '{"model": "/nowhere/at/all"}',
        '{"model": 5}',
        '{"model": "/a\\u0000"}',
        pytest.param("[" * 100_000, id="deep"),
    ],
)
def test_without_a_base_the_audit_says_what_to_name(exported: Path, spec: str | None) -> None:
    if spec is not None:
        (exported.parent / "spec.json").write_text(spec)
    with pytest.raises(ModelMissing, match=r"tiny-llama.* was not found.*--base"):
        check(exported, None)


def test_a_pipe_for_a_spec_is_not_waited_for(exported: Path) -> None:
    os.mkfifo(exported.parent / "spec.json")
    with pytest.raises(ModelMissing):
        check(exported, None)


def test_evidence_beside_the_checkpoint_is_used(exported: Path, tiny_llama: Path) -> None:
    (exported.parent / "gate-evidence.json").write_text("{}")
    with pytest.raises(AuditFailed, match="is not evidence of a gate"):
        check(exported, tiny_llama)


def test_named_evidence_must_exist(exported: Path, tiny_llama: Path) -> None:
    with pytest.raises(AuditFailed, match=r"other\.json cannot be read"):
        audit(exported, base=tiny_llama, evidence=exported.parent / "other.json", emit=ignore)


def test_what_is_no_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AuditFailed, match="is not a directory"):
        check(tmp_path / "absent", None)


def test_differing_chat_templates_are_found(exported: Path, tiny_llama: Path) -> None:
    (exported / "chat_template.jinja").write_text("one")
    path = exported / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"chat_template": "another"}))
    seal(exported)
    with pytest.raises(AuditFailed, match=r"chat templates in .* differ"):
        check(exported, tiny_llama)


def test_a_chat_template_in_one_place_only_is_found(exported: Path, tiny_llama: Path) -> None:
    (exported / "chat_template.jinja").write_text("one")
    seal(exported)
    with pytest.raises(AuditFailed, match="some servers would not see it"):
        check(exported, tiny_llama)


@pytest.mark.parametrize("name", ["consolidated.safetensors", "pytorch_model.bin", "model.gguf"])
def test_stray_weights_are_found(exported: Path, tiny_llama: Path, name: str) -> None:
    (exported / name).write_bytes(b"x")
    seal(exported)
    with pytest.raises(AuditFailed, match=name):
        check(exported, tiny_llama)


def test_code_is_found(exported: Path, tiny_llama: Path) -> None:
    (exported / "modeling_llama.py").write_text("import os")
    seal(exported)
    with pytest.raises(AuditFailed, match=r"modeling_llama\.py"):
        check(exported, tiny_llama)


def test_a_single_file_beside_the_shards_is_found(exported: Path, tiny_llama: Path) -> None:
    shutil.copy(tiny_llama / "model.safetensors", exported)
    seal(exported)
    with pytest.raises(AuditFailed, match=r"both model\.safetensors and"):
        check(exported, tiny_llama)


def test_a_dtype_that_the_config_gets_wrong_is_found(exported: Path, tiny_llama: Path) -> None:
    path = exported / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"dtype": "float32"}))
    seal(exported)
    with pytest.raises(AuditFailed, match=r"config\.json states"):
        check(exported, tiny_llama)


def test_weights_that_a_server_may_not_read_are_found(exported: Path, tiny_llama: Path) -> None:
    (exported / "model-00001-of-00003.safetensors").chmod(0o600)
    with pytest.raises(AuditFailed, match=r"model-00001-of-00003\.safetensors can be read by others"):
        check(exported, tiny_llama)


def test_a_stored_copy_of_a_tied_head_is_found(pocket: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    export(pocket, tmp_path / "checkpoint")
    path = tmp_path / "checkpoint" / "model.safetensors"
    tensors = load_file(path)
    save_file(tensors | {"lm_head.weight": tensors["model.embed_tokens.weight"].clone()}, path)
    path.chmod(0o644)
    seal(tmp_path / "checkpoint")
    with pytest.raises(AuditFailed, match=r"lm_head\.weight is stored although the config ties it"):
        check(tmp_path / "checkpoint", pocket)


def test_an_export_of_another_direction_of_the_same_seeds_differs(
    exported: Path, tiny_llama: Path, tmp_path: Path
) -> None:
    doubled = Direction(DIRECTION.components, DIRECTION.law, 2 * DIRECTION.step)
    export(tiny_llama, tmp_path / "other", doubled, shard_bytes=18_000)
    shutil.copy(tmp_path / "other" / "recipe.json", exported)
    seal(exported)
    with pytest.raises(AuditFailed, match="are not base"):
        check(exported, tiny_llama)
