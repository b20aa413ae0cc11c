"""Markdown tables, and the numbers in them."""

from collections.abc import Iterable, Sequence

import numpy as np


def table(head: Sequence[str], rows: Iterable[Sequence[str]], align: str = "r") -> str:
    """A markdown table; the first column is aligned left, the others as `align` says.

    Args:
        head: Names of the columns.
        rows: Cells; the first one names the row.
        align: `r` or `l`, one letter for all other columns.

    >>> print(table(["set", "score"], [["imdb", "75.0"]]))
    | set | score |
    |:--|--:|
    | imdb | 75.0 |
    """
    rule = "--:|" if align == "r" else ":--|"
    lines = [list(head), *map(list, rows)]
    text = ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join([text[0], "|:--|" + rule * (len(head) - 1), *text[1:]])


def titled(title: str, body: str) -> str:
    """A table or list under its title.

    >>> titled("Scores", "| 75.0 |").splitlines()
    ['**Scores**', '', '| 75.0 |']
    """
    return f"**{title}**\n\n{body}"


def number(value: float, digits: int = 1) -> str:
    """A number, or a dash where there is none.

    >>> number(75.04), number(float("nan"))
    ('75.0', '–')
    """
    return "–" if np.isnan(value) else f"{value:.{digits}f}"


def spread(values: Sequence[float], digits: int = 1) -> str:
    """Mean, and the standard deviation where the values differ.

    >>> spread([1.0, 3.0]), spread([2.0, 2.0])
    ('2.0 ± 1.4', '2.0')
    """
    if not values:
        return "–"
    mean, deviation = float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    return number(mean, digits) + (f" ± {deviation:.{digits}f}" if deviation > 0 else "")


def beside(value: str, published: float | None, digits: int = 1) -> str:
    """Our number, and the paper's in brackets on the next line of the cell.

    >>> beside("91.6", 91.4), beside("91.6", None)
    ('91.6<br>(91.4)', '91.6')
    """
    return value if published is None else f"{value}<br>({published:.{digits}f})"


def bold_best(cells: Sequence[str], values: Sequence[float], digits: int = 1, lowest: bool = False) -> list[str]:
    """Cells with the best value, as far as it is shown, in bold.

    >>> bold_best(["1.0", "2.0"], [1.0, 2.0])
    ['1.0', '**2.0**']
    """
    shown = np.round(np.array(values, np.float64) * (-1 if lowest else 1), digits)
    if np.isnan(shown).all():
        return list(cells)
    return [f"**{cell}**" if value == np.nanmax(shown) else cell for cell, value in zip(cells, shown, strict=True)]


def seconds(value: float) -> str:
    """A time with two figures, in the unit that suits it.

    >>> seconds(0.00123), seconds(4.56), seconds(321.0)
    ('1.2 ms', '4.6 s', '321 s')
    """
    if np.isnan(value):
        return "–"
    amount, unit = (value, "s") if value >= 0.9995 else (1e3 * value, "ms")
    return (
        f"{amount:.0f} {unit}" if amount >= 10 else f"{amount:.1f} {unit}" if amount >= 0.1 else f"{amount:.2f} {unit}"
    )
