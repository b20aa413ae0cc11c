"""Serving the studio: one process, one project, one port of this machine."""

import hashlib
import socket
import webbrowser
from collections.abc import Callable
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from nicegui import app as nicegui_app
from nicegui import ui

from hyperlabel.errors import ParameterError
from hyperlabel.studio._app._guard import Guard
from hyperlabel.studio._app._page import Hub
from hyperlabel.studio._app._workbench import Workbench
from hyperlabel.studio._app._worker import StoppableRun
from hyperlabel.studio._project import Project

LOOPBACK = "127.0.0.1"
_PORTS = range(20_000, 30_000)  # usual systems give none of them to programs that ask for any port
_RECONNECT = 60.0  # seconds that a page has to connect again; on a busy machine it may not answer for a while


class Address:
    """A port of this machine, reserved for the studio; 0 takes a free one."""

    def __init__(self, port: int = 0, host: str = LOOPBACK) -> None:
        self.host = host
        self.socket = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self.socket.bind((host, port))
            self.socket.listen()  # from here on the port is taken, and early connections wait
        except (OSError, OverflowError, ValueError) as error:  # also invalid numbers and names
            self.socket.close()
            reason = error.strerror if isinstance(error, OSError) else error
            raise ParameterError(
                f"port is {port}, but it cannot be used on {host}: {reason}; choose another port, or 0"
            ) from error
        self.port = int(self.socket.getsockname()[1])

    @classmethod
    def of_folder(cls, folder: Path, port: int = 0, host: str = LOOPBACK) -> "Address":
        """Reserve a port; 0 takes the same one for a folder every time, so that old tabs work again, or a free one."""
        if port:
            return cls(port, host)
        number = int(hashlib.sha256(bytes(folder.resolve())).hexdigest(), 16)
        try:
            return cls(_PORTS[number % len(_PORTS)], host)
        except ParameterError:
            return cls(0, host)

    def url(self, token: str) -> str:
        """Return the address to open, with its token."""
        return f"http://{LOOPBACK if self.host in ('0.0.0.0', '::') else self.host}:{self.port}/?token={token}"


def serve(
    project: Project, run: StoppableRun, address: Address, *, open_browser: bool, say: Callable[[str], None]
) -> None:
    """Serve a project until the process ends; `say` prints the address."""
    hub = Hub(project, run)
    name = Path(project.data.table.name).name

    @ui.page("/", title=f"{name} - hyperlabel studio", response_timeout=30)
    async def page() -> None:
        await Workbench(hub).begin()

    outer = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    ui.run_with(outer, dark=None, show_welcome_message=False, favicon="\U0001f3f7\ufe0f", reconnect_timeout=_RECONNECT)
    guard = Guard(outer, address.port, loopback=address.host == LOOPBACK)
    url = address.url(guard.token)

    def ready() -> None:
        say(url)
        if open_browser:
            webbrowser.open(url)

    nicegui_app.on_startup(ready)
    config = uvicorn.Config(guard, log_level="warning", lifespan="on", ws_max_size=1 << 22, timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[address.socket])
