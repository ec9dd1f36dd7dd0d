"""The process that programs are forked from: small, started afresh, and without a secret.

It never reads a program or an answer, so that no program can find another's in its memory: programs go
through a pipe to the process that runs them, answers through a pipe from it to ours. Its own conversation is
a byte each way and a line per program: `G` forks, `K` kills; the line says how the process ended.

Run as `python -s -P -S -B zygote.py DIRECTORY REQUESTS RESULTS CONTROL STATUS LAYER …`; the numbers are
descriptors.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import sys
import time
from contextlib import suppress

# What programs may import. Everything is loaded before they are shut in; afterwards there are no files.
MODULES = [
    "abc",
    "argparse",
    "array",
    "ast",
    "base64",
    "binascii",
    "bisect",
    "calendar",
    "cmath",
    "codecs",
    "collections",
    "collections.abc",
    "colorsys",
    "concurrent.futures",
    "contextlib",
    "contextvars",
    "copy",
    "copyreg",
    "csv",
    "ctypes",
    "dataclasses",
    "datetime",
    "decimal",
    "difflib",
    "dis",
    "enum",
    "errno",
    "fnmatch",
    "fractions",
    "functools",
    "gc",
    "getopt",
    "graphlib",
    "hashlib",
    "heapq",
    "hmac",
    "html",
    "html.parser",
    "inspect",
    "io",
    "ipaddress",
    "itertools",
    "json",
    "keyword",
    "linecache",
    "locale",
    "math",
    "numbers",
    "operator",
    "optparse",
    "os",
    "pathlib",
    "pickle",
    "platform",
    "pprint",
    "queue",
    "random",
    "re",
    "reprlib",
    "sched",
    "secrets",
    "select",
    "shlex",
    "signal",
    "statistics",
    "string",
    "struct",
    "sys",
    "textwrap",
    "threading",
    "time",
    "timeit",
    "token",
    "tokenize",
    "traceback",
    "types",
    "typing",
    "unicodedata",
    "unittest",
    "urllib.parse",
    "uuid",
    "warnings",
    "weakref",
    "xml.etree.ElementTree",
    "zlib",
    "zoneinfo",
    "_strptime",
    "encodings.idna",
    "encodings.ascii",
    "encodings.latin_1",
    "encodings.utf_16",
    "encodings.utf_32",
    "encodings.unicode_escape",
    "encodings.punycode",
    "encodings.hex_codec",
]
_POLL = 0.0005, 0.02  # seconds, doubling: a process closes its end just before it ends, or runs on without


def main() -> None:
    directory, *numbers = sys.argv[1:6]
    requests, results, control, status = map(int, numbers)
    layers = sys.argv[6:]
    sys.path.insert(0, directory)
    cage, candidate = (importlib.import_module(f"caged.{name}") for name in ("cage", "candidate"))
    preload()
    sys.path.clear()
    sys.meta_path[:] = sys.meta_path[:2]  # built in and frozen modules; no files
    for descriptor in (control, status):
        os.set_inheritable(descriptor, False)
    if "user" in layers:
        cage.drop_user()
    os.write(status, json.dumps({"ready": cage.landlock.version(cage.libc)}).encode() + b"\n")
    while os.read(control, 1) == b"G":
        alive, lives = os.pipe()
        pid = os.fork()
        if pid == 0:
            for descriptor in (control, status, alive):
                os.close(descriptor)
            candidate.run(requests, results, lives, layers)
        os.close(lives)
        ended = supervise(pid, alive, control)
        os.close(alive)
        os.write(status, json.dumps(ended).encode() + b"\n")


def preload() -> None:
    for name in MODULES:
        with suppress(ImportError):  # a build without it
            importlib.import_module(name)
    time.tzset()
    import datetime

    datetime.datetime.strptime("2000", "%Y")


def supervise(pid: int, alive: int, control: int) -> dict[str, float]:
    """Wait for the process, kill it where we are told to or our parent is gone, and say how it ended.

    `alive` reads as ended when the process has ended, or has closed its own end and runs on.
    """
    watched, pause = [alive, control], _POLL[0]
    while True:
        readable = select.select(watched, [], [], None if alive in watched else pause)[0]
        pause = min(2 * pause, _POLL[1]) if alive not in watched else pause
        if control in readable:
            told = os.read(control, 1)
            end_group(pid)
            if not told:
                os._exit(0)
            watched.remove(control)
        if alive in readable:
            watched.remove(alive)
        if alive not in watched and os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            end_group(pid)  # while its number is still its own
            _, code, usage = os.wait4(pid, 0)
            return {"code": os.waitstatus_to_exitcode(code), "cpu": usage.ru_utime + usage.ru_stime}


def end_group(pid: int) -> None:
    for kill in (os.killpg, os.kill):
        with suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for our parent, whose end ends us
    main()
