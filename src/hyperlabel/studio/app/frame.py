"""What panels know of the page they stand on."""

from collections.abc import Coroutine
from typing import Any, Protocol

from hyperlabel.studio.app.hub import Hub
from hyperlabel.studio.project import Project


class Frame(Protocol):
    """The page: the project behind it, the panels beside, and how things are done and said."""

    hub: Hub
    item: Any  # the panels; each knows the others by the page alone
    rules: Any
    rows: Any
    python: Any

    @property
    def project(self) -> Project:
        """The project."""

    def act(self, what: Coroutine[Any, Any, Any]) -> None:
        """Do something that was asked for; a mistake is said."""

    def say(self, text: str, *, wrong: bool = False) -> None:
        """Say something that goes away by itself."""

    def open_tab(self, name: str) -> None:
        """Show a panel of the right side."""

    async def undo(self) -> None:
        """Take the last change back."""

    async def ask_balance(self) -> None:
        """Ask for the class balance."""

    async def save(self, name: str) -> None:
        """Write a file to leave with."""

    def switch_theme(self) -> None:
        """From light to dark, or back."""
