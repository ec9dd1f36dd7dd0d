"""On what machines untrusted code is run at all."""

from __future__ import annotations

import errno
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from tests.verify.sandbox.bpf import LANDLOCK, SECCOMP
from tests.verify.sandbox.machine import calls, strict
from verify.errors import SandboxUnavailable
from verify.sandbox import Level, Outcome, evaluate, guard, level, require, selftest, shutdown

ROOT = Path(__file__).parents[3]
REPORT = """
from verify.errors import SandboxUnavailable
from verify.sandbox import evaluate, level
try:
    print(level(), evaluate('x = 1', ['x']).level)
except SandboxUnavailable as error:
    print(level(), error.code, error.detail)
"""
SETRESUID = 117 if platform.machine() == "x86_64" else 147


@pytest.fixture
def untried() -> Iterator[None]:
    shutdown()
    yield
    shutdown()


def report(*command: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def without(calls: Collection[int], error: int = errno.ENOSYS, **environment: str) -> str:
    """What is said on a kernel that lacks these calls."""
    errors = json.dumps(dict.fromkeys(calls, error))
    return report("-m", "tests.verify.sandbox.bpf", errors, REPORT, **environment)


@strict
def test_this_machine_is_tried_and_holds() -> None:
    assert level() is Level.STRICT, guard._tried().reason


@strict
def test_a_kernel_without_landlock_runs_nothing_unless_that_is_asked_for() -> None:
    said = without(LANDLOCK)
    assert said.startswith("reduced sandbox_unavailable")
    assert "reaches level reduced, strict is needed (the kernel has no Landlock)" in said
    assert without(LANDLOCK, CORP_SANDBOX_MIN_LEVEL="reduced") == "reduced reduced\n"


# What Docker's default profile keeps from a container without capabilities, io_uring with it since 2023.
DOCKER = """
acct add_key bpf chroot clock_settime delete_module fanotify_init finit_module fsconfig fsmount
fsopen fspick get_mempolicy init_module io_uring_enter io_uring_register io_uring_setup ioperm iopl kcmp
kexec_file_load kexec_load keyctl lookup_dcookie mbind migrate_pages mount mount_setattr move_mount move_pages
open_by_handle_at open_tree perf_event_open pidfd_getfd pivot_root process_madvise quotactl quotactl_fd reboot
request_key set_mempolicy set_mempolicy_home_node setdomainname sethostname setns settimeofday swapoff swapon
syslog umount2 unshare userfaultfd vhangup
"""


@strict
def test_dockers_default_profile_lets_the_sandbox_be() -> None:
    known = calls(platform.machine())
    assert (
        without([known[name] for name in DOCKER.split() if name in known], errno.EPERM) == "strict strict\n"
    )
    assert without([known["clone3"]]) == "strict strict\n"


@strict
@pytest.mark.parametrize(
    ("missing", "word"),
    [
        ((SECCOMP,), "filter was refused"),
        (LANDLOCK[2:], "did not shut"),
        pytest.param(
            (SETRESUID,),
            "does not start",
            marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user"),
        ),
    ],
)
def test_a_layer_that_cannot_be_applied_closes_the_sandbox(missing: tuple[int, ...], word: str) -> None:
    said = without(missing, CORP_SANDBOX_MIN_LEVEL="reduced")
    assert said.startswith("none sandbox_unavailable")
    assert word in said


@strict
def test_the_environment_of_a_service_does_not_reach_programs() -> None:
    look = "from verify.sandbox import evaluate\nprint(evaluate('import os', ['sorted(os.environ)']).values)"
    said = report("-c", look, LD_LIBRARY_PATH="/opt/lib", PYTHONPATH=str(ROOT), TOKEN="secret", LC_ALL="C")
    assert said == "(['LANG', 'PATH', 'PYTHONHASHSEED'],)\n"


@strict
def test_a_forked_process_has_a_sandbox_of_its_own() -> None:
    script = """
import os
from verify.sandbox import evaluate
evaluate("", ["0"])
pid = os.fork()
results = [evaluate("", [str(number)]).values for number in range(20 * (pid == 0), 20 + 20 * (pid == 0))]
assert results == [(number,) for number in range(20 * (pid == 0), 20 + 20 * (pid == 0))]
if pid:
    print(os.waitpid(pid, 0)[1], evaluate("", ["'parent'"]).values)
"""
    assert report("-c", script) == "0 ('parent',)\n"


def readable_python() -> str:
    """An interpreter that a user without rights can start, of our version."""
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for folder in ("/usr/bin", "/usr/local/bin"):
        found = shutil.which(name, path=folder)
        if found and not Path(found).resolve().is_relative_to("/root"):
            return found
    pytest.skip(f"no {name} outside root's home")


@strict
@pytest.mark.skipif(os.geteuid() != 0, reason="this is not root anyway")
def test_a_user_without_rights_has_the_same_sandbox() -> None:
    script = f"""
import os, sys
from verify.sandbox import evaluate, level
sys.executable = {readable_python()!r}
os.setgroups([])
os.setresgid(54321, 54321, 54321)
os.setresuid(54321, 54321, 54321)
print(level(), evaluate("import os", ["os.getuid()"]).values)
"""
    assert report("-c", script) == "strict (54321,)\n"


@pytest.mark.usefixtures("untried")
def test_another_system_runs_nothing_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    assert level() is Level.NONE
    with pytest.raises(SandboxUnavailable, match="needs Linux") as caught:
        evaluate("x = 1", ["x"])
    assert caught.value.code == "sandbox_unavailable"
    assert "docs/sandbox.md" in caught.value.hint


@strict
@pytest.mark.usefixtures("untried")
def test_an_attack_that_gets_out_closes_the_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(selftest.CALLS, "compute", ("def f(x): return x + 2", "f(1)", 2))
    assert level() is Level.NONE
    with pytest.raises(SandboxUnavailable, match="self-test got out: compute"):
        evaluate("x = 1", ["x"])


@pytest.mark.parametrize("stated", ["none", "", "STRICT", "high"])
def test_a_minimum_that_is_no_level_is_refused(monkeypatch: pytest.MonkeyPatch, stated: str) -> None:
    monkeypatch.setenv(guard.MINIMUM, stated)
    with pytest.raises(SandboxUnavailable, match="CORP_SANDBOX_MIN_LEVEL") as caught:
        require()
    assert caught.value.hint == "it is strict or reduced"


@strict
@pytest.mark.usefixtures("untried")
def test_a_sandbox_that_was_shut_down_starts_again() -> None:
    assert evaluate("", ["1"]).values == (1,)
    shutdown()
    assert evaluate("", ["1"]).verdict is Outcome.OK
