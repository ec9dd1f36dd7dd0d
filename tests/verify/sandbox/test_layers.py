"""Every layer holds something by itself: with the layer it is held, without it is not."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.verify.sandbox.machine import strict
from verify.sandbox import Layers, Level, Limits, Outcome, Pool
from verify.sandbox.selftest import ENDS, failed, failed_files

pytestmark = strict

RAW = "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n"
NONE = Layers(user=False, limits=False, landlock=False, seccomp=False)
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


class Pools:
    """One pool for each set of layers, made when it is asked for."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack, self._made = stack, dict[Layers, Pool]()

    def __getitem__(self, layers: Layers) -> Pool:
        if layers not in self._made:
            self._made[layers] = self._stack.enter_context(Pool(1, layers=layers, cached=False))
        return self._made[layers]

    def value(self, layers: Layers, source: str, call: str) -> object:
        result = self[layers].evaluate(source, [call], limits=Limits(wall=20))
        assert result.verdict is Outcome.OK, result.detail
        return result.values[0]


@pytest.fixture(scope="module")
def pools() -> Iterator[Pools]:
    with ExitStack() as stack:
        yield Pools(stack)


TRY = """
def error(do):
    try:
        do()
    except OSError as problem:
        return problem.errno
"""


@pytest.mark.parametrize(
    "attack",
    [
        "open('/etc/passwd').close()",
        "open('/proc/self/environ').close()",
        "open('/dev/null', 'w').close()",
        "os.listdir('/')",
    ],
)
def test_landlock_alone_keeps_files(pools: Pools, attack: str) -> None:
    source = TRY + f"import os\ndef do(): {attack}"
    assert pools.value(Layers(user=False, limits=False, seccomp=False), source, "error(do)") == errno.EACCES
    assert pools.value(NONE, source, "error(do)") is None


@pytest.mark.parametrize(
    "attack",
    [
        "os.truncate(path, 0)",
        "os.unlink(path)",
        "os.rename(path, path + '2')",
        "os.link(path, path + '2')",
        "os.mkdir(path + '2')",
        "os.symlink('x', path + '2')",
    ],
)
def test_landlock_alone_keeps_files_unchanged(pools: Pools, tmp_path: Path, attack: str) -> None:
    canary = tmp_path / "canary"
    canary.write_text("sings")
    source = TRY + f"import os\npath = {str(canary)!r}\ndef do(): {attack}"
    shut = Layers(user=False, limits=False, seccomp=False)
    assert pools.value(shut, source, "error(do)") in (errno.EACCES, errno.EXDEV)  # EXDEV: link and rename
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"canary": "sings"}
    assert pools.value(NONE, source, "error(do)") is None


def test_landlock_alone_keeps_tcp_and_signals(pools: Pools) -> None:
    source = TRY + "import os, socket\ndef bind(): socket.socket().bind(('127.0.0.1', 0))"
    shut = Layers(user=False, limits=False, seccomp=False)
    assert pools.value(shut, source, "error(bind)") == errno.EACCES
    assert pools.value(NONE, source, "error(bind)") is None
    signal = "error(lambda: os.kill(os.getppid(), 0))"
    assert pools.value(shut, source, signal) == errno.EPERM
    assert pools.value(NONE, source, signal) is None


@pytest.mark.parametrize(
    "call",
    [
        "libc.socket(2, 1, 0)",
        "libc.socket(16, 3, 0)",  # netlink
        "libc.fork() or os._exit(0)",
        "libc.stat(b'/etc/passwd', ctypes.create_string_buffer(512))",
        "libc.dup(1)",
        "libc.nice(1)",
        "libc.unshare(0)",
        "libc.memfd_create(b'x', 0)",
        "libc.prctl(15, b'another name')",
        "libc.kill(os.getpid(), 0)",
        "libc.sched_setaffinity(0, 8, b'\\xff' * 8)",
    ],
)
def test_the_call_filter_alone_refuses_what_is_no_computing(pools: Pools, call: str) -> None:
    source = RAW + f"def refused(): return ({call}) == -1 and ctypes.get_errno() == {errno.EPERM}"
    assert pools.value(Layers(user=False, limits=False, landlock=False), source, "refused()") is True
    assert pools.value(NONE, source, "refused()") is False


@as_root
def test_the_user_alone_takes_roots_rights(pools: Pools) -> None:
    source = TRY + "import os\ndef do(): open('/etc/shadow').close()"
    alone = Layers(limits=False, landlock=False, seccomp=False)
    assert pools.value(alone, source, "(os.getresuid(), os.getresgid(), os.getgroups())") == (
        (65534,) * 3,
        (65534,) * 3,
        [],
    )
    assert pools.value(alone, source, "error(do)") == errno.EACCES
    assert pools.value(alone, source, "error(lambda: os.setuid(0))") == errno.EPERM
    assert pools.value(NONE, source, "os.getuid()") == 0
    assert pools.value(NONE, source, "error(do)") is None


def test_limits_alone_bound_what_a_program_takes(pools: Pools, tmp_path: Path) -> None:
    alone = Layers(user=False, landlock=False, seccomp=False)
    memory, spin = "x = bytearray(256 << 20)", "while True: pass"
    short, small = Limits(cpu=0.2, wall=1.5), Limits(memory=128, cpu=30, wall=120)
    assert pools[alone].evaluate(memory, [], limits=small).verdict is Outcome.MEMORY
    assert pools[NONE].evaluate(memory, [], limits=small).verdict is Outcome.OK
    assert "CPU" in pools[alone].evaluate(spin, [], limits=short).detail
    assert "clock" in pools[NONE].evaluate(spin, [], limits=short).detail
    write = TRY + f"def do():\n with open({str(tmp_path / 'file')!r}, 'w', buffering=1) as f: f.write('x\\n')"
    assert pools.value(alone, write, "error(do)") == errno.EFBIG
    assert pools.value(NONE, write, "error(do)") is None
    files = TRY + "import os\ndef do():\n for _ in range(50): os.dup(1)"
    assert pools.value(alone, files, "error(do)") == errno.EMFILE
    assert pools.value(NONE, files, "error(do)") is None


def test_a_program_has_no_descriptors_but_its_own_whatever_the_layers(pools: Pools) -> None:
    source = """
import os, stat
def kind(number):
    try: return "pipe" if stat.S_ISFIFO(os.fstat(number).st_mode) else os.readlink(f"/proc/self/fd/{number}")
    except OSError: return "closed"
"""
    kinds = pools.value(NONE, source, "[kind(number) for number in range(99)]")
    assert isinstance(kinds, list)
    assert kinds[:3] == ["/dev/null", "pipe", "/dev/null"]
    assert sorted(set(kinds[3:])) == ["/dev/null", "closed", "pipe"]
    assert kinds[3:].count("closed") == 94  # all but that of sys.stdout and that whose end tells ours


def test_privileges_cannot_be_gained_whatever_the_layers(pools: Pools) -> None:
    source = RAW + "def gained(): return libc.prctl(39, 0, 0, 0, 0), libc.prctl(3, 0, 0, 0, 0)"
    assert pools.value(NONE, source, "gained()") == (1, 0)  # no_new_privs is set, dumpable is not


def test_a_level_is_what_the_layers_give() -> None:
    assert Layers().level is Level.STRICT
    assert Layers(landlock=False).level is Level.REDUCED
    for missing in ("user", "limits", "seccomp"):
        assert Layers(**{missing: False}).level is Level.NONE


def test_the_self_test_finds_what_is_missing(pools: Pools) -> None:
    assert failed(pools[Layers()]) == []
    source, limits, end = ENDS["take memory"]
    assert pools[Layers(limits=False)].evaluate(source, [], limits=limits).verdict is not end
    assert "open a socket" in failed(pools[Layers(seccomp=False)])
    assert failed_files(pools[Layers(seccomp=False)]) == []
    assert "read a file (Landlock alone)" in failed_files(pools[Layers(seccomp=False, landlock=False)])


@as_root
def test_the_self_test_finds_that_it_is_root(pools: Pools) -> None:
    assert failed(pools[Layers(user=False)]) == ["be root"]
