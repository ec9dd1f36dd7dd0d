"""`corp serve`: the port, the lock on the data directory, uvicorn in this process and a worker beside it."""

from __future__ import annotations

import contextlib
import ipaddress
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from server import leases
from server.clock import Clock
from server.database import Database
from server.errors import AddressUnusable, DataLocked, DirectoryUnusable, RemoteRefused
from server.keeper import WORKER, Keeper
from server.layout import Layout
from server.locks import FileLock, held

if TYPE_CHECKING:
    import uvicorn

GRACE_SECONDS = 25.0


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """Where to listen and where to keep jobs.

    Args:
        port: 0 takes a free one.
        allow_remote: needed for any host but loopback, because there is no authentication yet.
        graders: modules whose graders a job may name.
        grace: seconds a job may take to stop at a block of prompts at shutdown.
    """

    data: Path
    host: str = "127.0.0.1"
    port: int = 8000
    allow_remote: bool = False
    grace: float = GRACE_SECONDS
    graders: tuple[str, ...] = ()


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

    app = create_app(
        Settings(layout, database, clock, any_host=settings.allow_remote, graders=settings.graders)
    )

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
