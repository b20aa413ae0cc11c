"""Tables of the benchmarks: shown, and kept where a place is named."""

from pathlib import Path


def show_result(text: str, path: Path | None) -> None:
    """Print a table, and keep it."""
    print(text)
    keep_result(text, path)


def keep_result(text: str, path: Path | None) -> None:
    """Write a table to a file, if one is named."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")
