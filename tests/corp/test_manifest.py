from __future__ import annotations

import json
from pathlib import Path

import pytest

from corp.errors import AuditFailed
from corp.manifest import Entry, Manifest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, data in (("a.json", b"{}"), ("b.safetensors", b"x" * 1000)):
        (tmp_path / name).write_bytes(data)
    files = {path.name: Entry.of(path.read_bytes()) for path in tmp_path.iterdir()}
    (tmp_path / "manifest.json").write_bytes(Manifest(files).to_bytes())
    return tmp_path


def problems(folder: Path) -> list[str]:
    return Manifest.read(folder).problems(folder)


def test_an_untouched_directory_has_no_problems(folder: Path) -> None:
    assert problems(folder) == []


def test_missing_extra_longer_and_changed_files_are_named(folder: Path) -> None:
    (folder / "a.json").write_bytes(b"[]")
    (folder / "new.txt").touch()
    assert problems(folder)[0] == "new.txt is not in the manifest"
    assert problems(folder)[1].startswith("a.json has the SHA-256")
    (folder / "a.json").unlink()
    (folder / "b.safetensors").write_bytes(b"x" * 1001)
    assert problems(folder)[1:] == ["a.json is missing", "b.safetensors has 1,001 bytes, not 1,000"]


def test_a_link_or_a_folder_in_place_of_a_file_is_named(folder: Path, tmp_path: Path) -> None:
    (folder / "a.json").rename(tmp_path.parent / "elsewhere.json")
    (folder / "a.json").symlink_to(tmp_path.parent / "elsewhere.json")
    (folder / "b.safetensors").unlink()
    (folder / "b.safetensors").mkdir()
    assert problems(folder) == ["a.json is not a plain file", "b.safetensors is not a plain file"]


@pytest.mark.parametrize("name", ["../escape", "/etc/passwd", "a/b", "", ".", "..", "manifest.json", "a\0"])
def test_a_manifest_that_names_other_places_is_refused(folder: Path, name: str) -> None:
    data = json.loads((folder / "manifest.json").read_text())
    data["files"][name] = data["files"]["a.json"]
    (folder / "manifest.json").write_text(json.dumps(data))
    with pytest.raises(AuditFailed, match="not the name of an exported file"):
        Manifest.read(folder)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b"[" * 10_000,
        b'{"version": 1}',
        b'{"version": 2, "files": {}}',
        b'{"version": true, "files": {}}',
        b'{"version": 1, "files": []}',
        b'{"version": 1, "files": {"a": 1}}',
        b'{"version": 1, "files": {"a": {"bytes": -1, "sha256": "' + b"a" * 64 + b'"}}}',
        b'{"version": 1, "files": {"a": {"bytes": 1.0, "sha256": "' + b"a" * 64 + b'"}}}',
        b'{"version": 1, "files": {"a": {"bytes": 1, "sha256": "' + b"g" * 64 + b'"}}}',
        b'{"version": 1, "files": {}}',  # right, but spelled otherwise
    ],
)
def test_what_is_no_manifest_is_refused(folder: Path, text: bytes) -> None:
    (folder / "manifest.json").write_bytes(text)
    with pytest.raises(AuditFailed, match=r"manifest\.json"):
        Manifest.read(folder)


def test_a_directory_without_a_manifest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AuditFailed, match="cannot be read"):
        Manifest.read(tmp_path)


def test_a_run_directory_is_told_where_its_checkpoint_is(tmp_path: Path) -> None:
    (tmp_path / "checkpoint").mkdir()
    (tmp_path / "checkpoint" / "manifest.json").write_text("{}")
    with pytest.raises(AuditFailed, match=f"name {tmp_path / 'checkpoint'}$"):
        Manifest.read(tmp_path)
