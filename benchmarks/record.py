"""Keeping the results of the benchmarks."""

from pathlib import Path


def write_result(text: str, path: Path | None) -> None:
    """Keep a result, if a place is named."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
