"""What panels know about their page."""

from collections.abc import Coroutine
from typing import Any, Protocol

from hyperlabel.studio.app.hub import Hub
from hyperlabel.studio.project import Project


class Frame(Protocol):
    """The page: its project, its panels, and how things are done and shown."""

    hub: Hub
    item: Any  # the panels; each knows the others only through the page
    rules: Any
    rows: Any
    python: Any

    @property
    def project(self) -> Project:
        """The project."""

    def act(self, what: Coroutine[Any, Any, Any]) -> None:
        """Do what was asked for; show an error if it fails."""

    def say(self, text: str, *, wrong: bool = False) -> None:
        """Show a message that disappears by itself."""

    def open_tab(self, name: str) -> None:
        """Show a panel on the right side."""

    async def undo(self) -> None:
        """Undo the last change."""

    async def ask_balance(self) -> None:
        """Ask for the class balance."""

    async def save(self, name: str) -> None:
        """Save a file."""

    def switch_theme(self) -> None:
        """Switch between light and dark."""
