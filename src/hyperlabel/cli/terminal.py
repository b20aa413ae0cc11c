"""What people see: results on standard output, everything about them on standard error."""

from rich.console import Console

console = Console(stderr=True, highlight=False, markup=False, emoji=False)
"""What is said about results. Without markup: class names and paths are shown as they are."""

output = Console(highlight=False, markup=False, emoji=False)
"""Results themselves."""


def say(message: str) -> None:
    """One line, never wrapped."""
    console.print(message, soft_wrap=True)
