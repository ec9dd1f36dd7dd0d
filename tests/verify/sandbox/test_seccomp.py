"""The system call filter, on both architectures, against an interpreter of its language."""

from __future__ import annotations

import errno

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.verify.sandbox.bpf import ALLOW, run
from tests.verify.sandbox.machine import calls
from verify.sandbox.caged import seccomp

KILL, ERRNO = 0x80000000, 0x00050000
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
CLONE, CLONE3 = {"x86_64": 56, "aarch64": 220}, 435
machines = pytest.mark.parametrize("machine", ARCHITECTURES)
DANGEROUS = """
open openat openat2 creat stat lstat newfstatat statx access faccessat faccessat2 readlink
readlinkat execve execveat fork vfork clone clone3 kill tkill tgkill rt_sigqueueinfo pidfd_open
pidfd_getfd pidfd_send_signal ptrace process_vm_readv process_vm_writev socket socketpair connect bind
sendto sendmsg mount umount2 unshare setns bpf perf_event_open userfaultfd io_uring_setup
io_uring_enter keyctl add_key request_key memfd_create memfd_secret open_by_handle_at prlimit64
setrlimit personality shmget shmat msgget semget mknod mknodat link linkat symlink symlinkat setsid
setpgid chmod fchmod fchmodat chown fchown fchownat utimensat setxattr fsetxattr truncate ftruncate
sched_setaffinity sched_setscheduler setpriority setuid setresuid prctl seccomp ioctl fcntl dup dup2
dup3 setitimer timer_create alarm inotify_init1 fanotify_init mq_open unlink unlinkat rename renameat2
mkdir mkdirat chdir chroot pivot_root reboot kexec_load init_module swapon
"""
PROGRAMS = {machine: seccomp.program(machine) for machine in ARCHITECTURES}
ALLOWED = {
    machine: {pair[column] for pair in seccomp.CALLS.values()} - {None}
    for column, machine in enumerate(ARCHITECTURES)
}


@machines
def test_the_numbers_are_the_kernels(machine: str) -> None:
    known, column = calls(machine), list(ARCHITECTURES).index(machine)
    ours = {name: pair[column] for name, pair in seccomp.CALLS.items()}
    assert {name: known.get(name) for name in ours} == ours
    assert known["clone"] == CLONE[machine]
    assert known["clone3"] == CLONE3


@machines
@given(number=st.integers(0, 0x3FFFFFFF) | st.integers(0, 500), argument=st.integers(0, 2**64 - 1))
def test_what_is_not_listed_is_refused(machine: str, number: int, argument: int) -> None:
    answer = run(PROGRAMS[machine], ARCHITECTURES[machine], number, argument)
    if number in ALLOWED[machine]:
        assert answer == ALLOW
    elif number == CLONE3:
        assert answer == ERRNO | errno.ENOSYS
    elif number == CLONE[machine] and argument & 0x00010000:  # CLONE_THREAD
        assert answer == ALLOW
    else:
        assert answer == ERRNO | errno.EPERM


@machines
def test_a_process_is_no_thread(machine: str) -> None:
    def clone(flags: int) -> int:
        return run(PROGRAMS[machine], ARCHITECTURES[machine], CLONE[machine], flags)

    thread = 0x3D0F00  # what pthread_create asks for
    assert clone(thread) == ALLOW
    assert clone(17) == ERRNO | errno.EPERM  # SIGCHLD: a fork
    assert clone(0x4111) == ERRNO | errno.EPERM  # CLONE_VM | CLONE_VFORK | SIGCHLD


@machines
@given(architecture=st.integers(0, 2**32 - 1), number=st.integers(0, 2**32 - 1))
def test_another_architecture_is_killed(machine: str, architecture: int, number: int) -> None:
    if architecture != ARCHITECTURES[machine]:
        assert run(PROGRAMS[machine], architecture, number, 0) == KILL


@given(number=st.integers(0x40000000, 0x7FFFFFFF))
def test_the_32_bit_calls_of_x86_64_are_killed(number: int) -> None:
    assert run(PROGRAMS["x86_64"], ARCHITECTURES["x86_64"], number, 0) == KILL


@machines
def test_nothing_that_takes_a_path_starts_or_talks_is_listed(machine: str) -> None:
    known = calls(machine)
    dangerous = DANGEROUS.split()
    listed = {name for name in dangerous if known.get(name) in ALLOWED[machine]}
    assert listed == set()
    assert len(set(dangerous) & set(known)) > 60  # the names are the kernel's
