"""Print the lowest versions that pyproject.toml allows, as constraints for pip: python scripts/lowest.py."""

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"
BOUND = re.compile(r"([\w.-]+)(?:\[[^\]]*\])?(?:>=|==)([\w.]+)")
TOOLS = ("docs", "dev")  # extras that no user installs


def find_lowest(project: dict[str, list[str] | dict[str, list[str]]]) -> list[str]:
    """`name==version` for each direct dependency of the core and of the extras for users."""
    extras = {name: needs for name, needs in project["optional-dependencies"].items() if name not in TOOLS}  # type: ignore[union-attr]
    needs = [*project["dependencies"], *(need for each in extras.values() for need in each)]
    bounds = {match[1]: match[2] for need in needs if (match := BOUND.match(need))}
    return [f"{name}=={version}" for name, version in sorted(bounds.items())]


if __name__ == "__main__":
    print("\n".join(find_lowest(tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"])))
