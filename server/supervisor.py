"""`corp serve`: the port, the lock on the data directory, uvicorn in this process and a worker beside it."""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from server import leases
from server.clock import Clock
from server.database import Database
from server.errors import AddressUnusable, DataLocked, DirectoryUnusable, RemoteRefused
from server.layout import Layout
from server.locks import FileLock, held

if TYPE_CHECKING:
    import uvicorn

GRACE_SECONDS = 25.0
LOG_BYTES = 10_000_000
# -P: a folder that happens to hold a server/ must not shadow ours
WORKER = (sys.executable, "-P", "-m", "server.worker", "--supervised")

log = logging.getLogger("corp.serve")


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """Where to listen and where to keep jobs.

    Args:
        port: 0 takes a free one.
        allow_remote: needed for any host but loopback, because there is no authentication yet.
        grace: seconds a job may take to stop at a block of prompts at shutdown.
    """

    data: Path
    host: str = "127.0.0.1"
    port: int = 8000
    allow_remote: bool = False
    grace: float = GRACE_SECONDS


def serve(
    settings: ServeSettings, announce: Callable[[str], None], *, worker: Sequence[str] = WORKER
) -> None:
    """Serve until SIGTERM or SIGINT.

    Args:
        announce: told the server's URL once it listens.
        worker: the worker's command, without ``--data``.

    Raises:
        RemoteRefused, AddressUnusable, DataLocked, DatabaseMismatch: before anything runs.
    """
    clock = Clock()
    layout = Layout(settings.data.resolve())
    with contextlib.closing(listen(settings)) as listener, _locked(layout):
        database = Database.open(layout.database)
        leases.reap(database, clock, lambda worker: held(layout.worker_lock(worker)))
        _sweep(layout)
        keeper = Keeper(layout, database, clock, settings.grace, worker)
        server = _server(settings, layout, database, clock)
        keeper.start()
        try:
            announce(_url(listener))
            with _signals(server):
                server.run(sockets=[listener])
        finally:
            keeper.stop()
            database.close()


def listen(settings: ServeSettings) -> socket.socket:
    """The bound socket.

    Raises:
        RemoteRefused: the host is not loopback and ``allow_remote`` is off.
        AddressUnusable: the port is taken or the host unknown.
    """
    if not settings.allow_remote and not is_loopback(settings.host):
        raise RemoteRefused(
            f"{settings.host} can be reached from other machines, and this release has no authentication:"
            " whoever reaches the port can run jobs and read checkpoints",
            hint="keep 127.0.0.1 and use an SSH tunnel, or pass --allow-remote behind your own firewall",
        )
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        raise AddressUnusable(
            f"cannot listen on {settings.host} port {settings.port}: {error.strerror or error}",
            hint="choose another --port, or --port 0 for a free one",
        ) from None
    listener.listen(128)
    return listener


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches the host."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@contextlib.contextmanager
def _locked(layout: Layout) -> Iterator[None]:
    with FileLock(layout.serve_lock) as lock:
        try:
            acquired = lock.acquire()
        except OSError as error:
            raise DirectoryUnusable(
                f"{layout.data} cannot be used: {error.strerror}", hint="name another --data directory"
            ) from None
        if not acquired:
            raise DataLocked(
                f"another `corp serve` is using {layout.data}",
                hint="stop it, or name another --data directory",
            )
        yield


def _sweep(layout: Layout) -> None:
    """Remove the lock files of dead workers. Only before ours start: one that is just starting looks dead."""
    for path in layout.worker_lock("any").parent.glob("*.lock"):
        if not held(path):
            path.unlink(missing_ok=True)


def _server(settings: ServeSettings, layout: Layout, database: Database, clock: Clock) -> uvicorn.Server:
    import uvicorn

    from server.app import create_app
    from server.settings import Settings

    app = create_app(Settings(layout, database, clock, any_host=settings.allow_remote))

    class Server(uvicorn.Server):
        """uvicorn with our signal handlers: its own would raise SIGTERM again and so exit with -15."""

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

        def handle_exit(self, sig: int, frame: Any) -> None:
            app.state.stopping.set()  # ends the event streams, which would hold the shutdown up
            super().handle_exit(sig, frame)

    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=5,
        timeout_keep_alive=15,
        lifespan="off",
    )
    return Server(config)


@contextlib.contextmanager
def _signals(server: uvicorn.Server) -> Iterator[None]:
    before = {number: signal.signal(number, server.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Keeper:
    """Keeps one worker process alive, and gives its job back the moment it dies."""

    def __init__(
        self, layout: Layout, database: Database, clock: Clock, grace: float, command: Sequence[str]
    ) -> None:
        self._layout = layout
        self._database = database
        self._clock = clock
        self._grace = grace
        self._command = command
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="keeper", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop the worker at its next block of prompts; kill it when that outlasts the grace time."""
        self._stopping.set()
        self._thread.join()

    def _keep(self) -> None:
        pause = 0.0
        while not self._stopping.wait(pause):
            came_up = self._watch(self._spawn())
            # One that died before its first heartbeat will probably do so again: wait longer each time.
            pause = 0.0 if came_up else min(30.0, 2 * pause + 0.5)

    def _spawn(self) -> subprocess.Popen[bytes]:
        path = self._layout.worker_log
        mode = "wb" if path.exists() and path.stat().st_size > LOG_BYTES else "ab"
        with path.open(mode) as output:
            return subprocess.Popen(
                [*self._command, "--data", str(self._layout.data)],
                stdin=subprocess.PIPE,  # its end of this pipe tells the worker that we live
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def _watch(self, worker: subprocess.Popen[bytes]) -> bool:
        """Wait until the worker has ended: by itself, at our shutdown, or killed because it hangs.

        Returns: whether it had come up, that is, was ever heard of.
        """
        asked = False
        while not self._ended(worker, 0.5):
            self._reap()
            if self._hangs(worker.pid):
                log.error(
                    "worker %d has not been heard of for %g s and is killed", worker.pid, leases.LEASE_SECONDS
                )
                _kill(worker)
            if self._stopping.is_set() and not asked:
                asked = True
                worker.send_signal(signal.SIGTERM)
                if not self._ended(worker, self._grace):
                    _kill(worker)
        _kill(worker)  # whatever it started
        came_up = leases.silence(self._database, self._clock, worker.pid) is not None
        lost = self._reap(counts=not asked)
        if not asked:
            log.warning(
                "worker %d ended with %d (%s); %s",
                worker.pid,
                worker.returncode,
                self._layout.worker_log,
                _goes_on(lost),
            )
        return came_up

    def _ended(self, worker: subprocess.Popen[bytes], seconds: float) -> bool:
        try:
            worker.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _hangs(self, pid: int) -> bool:
        age = leases.silence(self._database, self._clock, pid)
        return age is not None and age > leases.LEASE_SECONDS

    def _reap(self, *, counts: bool = True) -> list[str]:
        alive = lambda worker: held(self._layout.worker_lock(worker))  # noqa: E731
        try:
            return leases.reap(self._database, self._clock, alive, counts=counts)
        except Exception:
            log.exception("cannot release the jobs of dead workers; trying again")
            return []


def _goes_on(lost: list[str]) -> str:
    return f"{', '.join(lost)} goes on in a new one" if lost else "a new one is started"


def _kill(worker: subprocess.Popen[bytes]) -> None:
    """Kill the worker's whole process group; it leads one of its own."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(worker.pid, signal.SIGKILL)
    worker.wait()
