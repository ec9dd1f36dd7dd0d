"""Files and directories appear whole or not at all."""

from __future__ import annotations

import errno
import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from population.errors import DiskFull, TargetExists
from population.publish import publish_bytes, publish_directory, publish_json


def names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


def fail_with(code: int):
    def call(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    return call


def test_bytes_are_published_and_replaced(tmp_path):
    path = tmp_path / "a.bin"
    publish_bytes(path, b"one")
    publish_bytes(path, b"three")
    assert path.read_bytes() == b"three"
    assert names(tmp_path) == {"a.bin"}


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_mode_follows_the_umask(tmp_path, mask, mode):
    before = os.umask(mask)
    try:
        publish_bytes(tmp_path / "a", b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == mode


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_full_disk_keeps_the_old_content_and_leaves_nothing_behind(tmp_path, monkeypatch, step, code):
    path = tmp_path / "a.bin"
    publish_bytes(path, b"old")
    monkeypatch.setattr(os, step, fail_with(code))
    with pytest.raises(DiskFull, match=r"a\.bin \(3 bytes\)"):
        publish_bytes(path, b"new")
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == {"a.bin"}


def test_other_failures_keep_the_old_content_and_their_own_error(tmp_path, monkeypatch):
    path = tmp_path / "a.bin"
    publish_bytes(path, b"old")
    monkeypatch.setattr(os, "replace", fail_with(errno.EIO))
    with pytest.raises(OSError, match="Input/output error"):
        publish_bytes(path, b"new")
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == {"a.bin"}


def test_content_and_directory_are_flushed_before_and_after_the_rename(tmp_path, monkeypatch):
    events = []
    fsync, replace = os.fsync, os.replace

    def watch_fsync(descriptor):
        events.append("directory" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    def watch_replace(source, target):
        events.append("rename")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", watch_fsync)
    monkeypatch.setattr(os, "replace", watch_replace)
    publish_bytes(tmp_path / "a", b"x")
    assert events == ["file", "rename", "directory"]


WRITER = """
import sys
from pathlib import Path
from population.publish import publish_bytes
number = 0
while True:
    publish_bytes(Path(sys.argv[1]), bytes([number % 256]) * 3_000_000)
    number += 1
"""


def test_a_writer_killed_at_any_moment_leaves_one_whole_content(tmp_path):
    path = tmp_path / "a.bin"
    for attempt in range(6):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, path], cwd=Path(__file__).parents[2])
        while not path.exists():
            time.sleep(0.005)
        time.sleep(0.013 * attempt)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        data = path.read_bytes()
        assert len(data) == 3_000_000
        assert len(set(data)) == 1
        path.unlink()


def test_equal_values_give_equal_json(tmp_path):
    publish_json(tmp_path / "a", {"b": 1.5, "a": "é\ud800"})
    publish_json(tmp_path / "b", {"a": "é\ud800", "b": 1.5})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert json.loads((tmp_path / "a").read_text()) == {"a": "é\ud800", "b": 1.5}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object()])
def test_what_json_cannot_say_is_refused_before_anything_is_written(tmp_path, value):
    publish_json(tmp_path / "a", 1)
    with pytest.raises((ValueError, TypeError)):
        publish_json(tmp_path / "a", {"x": value})
    assert (tmp_path / "a").read_text() == "1\n"
    assert names(tmp_path) == {"a"}


def filled(folder: Path) -> Path:
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "b").write_text("b")
    (folder / "a").write_text("a")
    return folder


def test_a_directory_is_flushed_throughout_and_then_appears(tmp_path, monkeypatch):
    flushed = []
    fsync = os.fsync

    def watch(descriptor):
        flushed.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).relative_to(tmp_path).as_posix())
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", watch)
    publish_directory(filled(tmp_path / "partial"), tmp_path / "final")
    assert set(flushed[:-1]) == {"partial", "partial/a", "partial/sub", "partial/sub/b"}
    assert flushed[-1] == "."
    assert names(tmp_path) == {"final"}
    assert (tmp_path / "final" / "sub" / "b").read_text() == "b"


@pytest.mark.parametrize("native", [True, False], ids=["renameat2", "without renameat2"])
@pytest.mark.parametrize("target", ["empty directory", "file", "broken link"])
def test_an_existing_target_is_never_replaced(tmp_path, monkeypatch, target, native):
    if not native:
        monkeypatch.setattr("ctypes.CDLL", lambda *_, **__: object())
    final = tmp_path / "final"
    if target == "file":
        final.write_text("mine")
    elif target == "broken link":
        final.symlink_to(tmp_path / "nowhere")
    else:
        final.mkdir()
    partial = filled(tmp_path / "partial")
    with pytest.raises(TargetExists, match="final exists already"):
        publish_directory(partial, final)
    assert (partial / "a").read_text() == "a"
    assert names(tmp_path) == {"partial", "final"}


def test_a_missing_partial_directory_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        publish_directory(tmp_path / "partial", tmp_path / "final")
    assert not (tmp_path / "final").exists()
