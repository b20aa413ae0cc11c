"""`Advice`: one thing to do next, with its number, its reason and the call that does it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from hyperlabel.plots import plot_bars
from hyperlabel.shown import html_table, printable


class Worth(NamedTuple):
    """What a kind of advice has been worth on public sets (docs/trust.md).

    Attributes:
        gain: Mean gain in points where it was followed.
        hurt: Share of the sets with a loss of more than a tenth of a point.
        sets: The number of sets on which it was followed.
    """

    gain: float
    hurt: float
    sets: int

    def __str__(self) -> str:
        return f"about {self.gain:+.1f} points on {self.sets} public sets, a loss on {self.hurt:.0%} of them"


# From `python -m experiments advice`; a test compares its record. Unvoted and uncovered: per tenth of the items.
WORTH = {
    "unvoted": Worth(9.7, 0.00, 42),
    "uncovered": Worth(4.9, 0.00, 8),
    "copies, many": Worth(3.9, 0.05, 43),
    "copies, few": Worth(0.3, 0.00, 8),
    "balance": Worth(1.3, 0.11, 36),
    "label, rules": Worth(1.2, 0.21, 19),
    "label, people": Worth(0.5, 0.23, 22),
    "idle": Worth(0.0, 0.00, 18),
}


@dataclass(frozen=True)
class Advice:
    """One thing to do next.

    Attributes:
        kind: What it is about: balance, copies, idle, label, uncovered or unvoted.
        number: How many labels, LFs or items it is about.
        reason: Why, in a sentence.
        call: The Python call that does it; `votes` are the votes.
        command: The command that does it.
        examples: Items or LFs that it is about, at most 20.
        like: What its worth depends on: votes by `rules` or by `people`, `few` copies or `many`.
        scale: How many tenths of the items it is about, if its worth is known per tenth.
    """

    kind: str
    number: int
    reason: str
    call: str
    command: str
    examples: tuple[Any, ...] = ()
    like: str | None = None
    scale: float = 1.0

    @property
    def worth(self) -> Worth:
        """What this kind of advice has been worth on public sets, in a similar situation."""
        found = WORTH[self.kind if self.like is None else f"{self.kind}, {self.like}"]
        return Worth(self.scale * found.gain, found.hurt, found.sets)

    def __str__(self) -> str:
        lines = f"{self.reason} ({self.worth})", f"   Python:  {self.call}", f"   command: {self.command}"
        return "\n".join(map(printable, lines))


@dataclass(frozen=True)
class AdviceList:
    """What to do next, most valuable first; prints as a list.

    Attributes:
        items: The advice.
    """

    items: tuple[Advice, ...]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Advice]:
        return iter(self.items)

    def __getitem__(self, index: int) -> Advice:
        return self.items[index]

    def __str__(self) -> str:
        if not self.items:
            return "No advice: no known problem was found."
        return "\n".join(f"{i}. {each}" for i, each in enumerate(self.items, 1))

    __repr__ = __str__

    def to_dicts(self) -> list[dict[str, Any]]:
        """The advice, for programs."""
        return [{**vars(each), "worth": each.worth._asdict()} for each in self.items]

    def plot(self, ax: Any = None) -> Any:
        """Draw what each advice has been worth on public sets.

        Draws into `ax`, axes of matplotlib, or into new ones, and returns them.
        """
        drawn = plot_bars([f"{a.kind} ({a.number:,})" for a in self.items], [a.worth.gain for a in self.items], ax)
        drawn.set_xlabel("points gained on public sets")
        return drawn

    def _repr_html_(self) -> str:
        """The advice as an HTML table."""
        rows = [[i, a.reason, str(a.worth), a.call, a.command] for i, a in enumerate(self.items, 1)]
        return html_table(["", "reason", "worth", "Python", "command"], rows, f"{len(self)} things to do next")
