"""The table of results in docs/reliability.md: python -m tests.campaign.page."""

import json
from pathlib import Path

from tests.campaign.ledger import LAST, RESULTS, ROOT

PAGE = ROOT / "docs" / "reliability.md"
START, END = "<!-- results -->\n", "<!-- end of results -->"


def table(results: Path = RESULTS, last: Path = LAST) -> str:
    """The counts of all surfaces, of earlier runs and of the last ones, as markdown."""
    ledgers = [json.loads(path.read_text()) if path.exists() else {} for path in (results, last)]
    nothing = {"tried": 0, "failures": 0}
    rows = {name: [ledger.get(name, nothing) for ledger in ledgers] for name in sorted(ledgers[0] | ledgers[1])}
    rows["**all**"] = [{key: sum(each[key] for each in ledger.values()) for key in nothing} for ledger in ledgers]
    head = ["| Surface | Tried before | Failures | Tried in the last runs | Failures |", "|---|---|---|---|---|"]
    return "\n".join([*head, *(f"| {name} | {' | '.join(map(_counts, row))} |" for name, row in rows.items()), ""])


def _counts(entry: dict[str, int]) -> str:
    return f"{entry['tried']:,} | {entry['failures']:,}"


def write() -> None:
    """Put the table into the page."""
    before, _, rest = PAGE.read_text().partition(START)
    _, _, after = rest.partition(END)
    PAGE.write_text(before + START + table() + END + after)


if __name__ == "__main__":
    write()
