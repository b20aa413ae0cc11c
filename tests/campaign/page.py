"""The table of results in docs/reliability.md: python -m tests.campaign.page."""

import json
from pathlib import Path

from tests.campaign.ledger import RESULTS, ROOT

PAGE = ROOT / "docs" / "reliability.md"
START, END = "<!-- results -->\n", "<!-- end of results -->"


def table(results: Path = RESULTS) -> str:
    """The counts of all surfaces, as markdown."""
    ledger = json.loads(results.read_text()) if results.exists() else {}
    rows = [f"| {surface} | {entry['tried']:,} | {entry['failures']:,} |" for surface, entry in sorted(ledger.items())]
    tried, failed = (sum(entry[key] for entry in ledger.values()) for key in ("tried", "failures"))
    return "\n".join(
        ["| Surface | Tried | Failures |", "|---|---|---|", *rows, f"| **all** | {tried:,} | {failed:,} |", ""]
    )


def write() -> None:
    """Put the table into the page."""
    before, _, rest = PAGE.read_text().partition(START)
    _, _, after = rest.partition(END)
    PAGE.write_text(before + START + table() + END + after)


if __name__ == "__main__":
    write()
