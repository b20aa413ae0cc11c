"""The verdicts that `hyperlabel jury` writes and the report card that it shows."""

import math
from dataclasses import replace
from typing import Any

import polars as pl
from rich.table import Table as RichTable

from hyperlabel.checks import ABOVE_ZERO, check_number
from hyperlabel.cli.analysis import percent, plain_table
from hyperlabel.cli.models import make_model
from hyperlabel.cli.options import JuryOptions, TableOptions, split_names
from hyperlabel.cli.tables import Selection, check_ids, class_column, count_classes, match_classes
from hyperlabel.cli.terminal import console, say
from hyperlabel.errors import ParameterError, VotesError
from hyperlabel.panel import Jury, jury
from hyperlabel.shown import printable, show_counts
from hyperlabel.tables import Table, check_target, read_table
from hyperlabel.votes.read import number_texts

# Column of the card -> its heading, short enough that both tables fit a terminal.
_WORTH = {
    "votes": "votes",
    "no_verdict": "no\nverdict",
    "estimated_accuracy": "est.\nacc.",
    "accuracy": "gold\nacc.",
    "kappa": "kappa",
    "label_changes": "changed\nlabels",
    "gold_loss": "gold\nloss",
    "copy_of": "copy of",
}
_HABITS = {
    "leaning": "votes too often for",
    "self_consistency": "same\nagain",
    "position_flips": "flips",
    "cost": "cost",
    "cost_per_useful_vote": "cost per\nuseful vote",
}
_TEXTS = ("copy_of", "leaning")


def check_results(out: str | None, card: str | None, curve: str | None, keep: float | None) -> None:
    """Refuse what cannot be written or said, before any work is done."""
    named = [target for target in (out, card, curve) if target is not None]
    twice = next((target for target in named if named.count(target) > 1), None)
    if twice is not None:
        raise ParameterError(f"--out, --card and --curve have '{printable(twice)}' twice; name each file once")
    if keep is not None:
        check_number(keep, "--keep", "a share above 0, at most 1", least=ABOVE_ZERO, most=1)


def decide(table: str, options: JuryOptions) -> Jury:
    """Read the table and ask the label model."""
    reading = Selection.parse(
        TableOptions(abstain=options.abstain, delimiter=options.delimiter, encoding=options.encoding)
    )
    judgments = Table.open(table, delimiter=reading.delimiter, encoding=reading.encoding)
    if (options.vote is None) == (options.score is None):
        raise ParameterError("--vote and --score are both given, or neither is; expected one of them")
    named = {"--item": options.item, "--judge": options.judge, "--vote": options.vote, "--score": options.score}
    for option, name in named.items():
        if name is not None and name not in judgments.columns:
            names = ", ".join(map(printable, judgments.columns))
            raise ParameterError(f"{option} is '{printable(name)}'; expected a column of the table: {names}")
    classes = split_names(options.classes, "--classes")
    typed = replace(reading, classes=classes)
    with judgments.reading():
        frame = number_texts(judgments.lazy(), [] if options.vote is None else [options.vote]).collect()
    return jury(
        frame,
        item=options.item,
        judge=options.judge,
        vote=options.vote,
        score=options.score,
        run=options.run,
        position=options.position,
        price=_read_price(options.price, frame.columns),
        gold=_read_gold(options, frame),
        classes=classes if options.vote is None else match_classes(typed, frame.lazy(), [options.vote]),
        abstain=reading.abstain,
        model=make_model(options.model),
    )


def _read_gold(options: JuryOptions, frame: pl.DataFrame) -> object:
    """A column by its name, or a mapping from item to class."""
    gold = options.gold
    if gold is None or gold in frame.columns:
        return gold
    try:
        table = read_table(gold)
    except VotesError as error:
        columns = ", ".join(map(printable, frame.columns))
        raise VotesError(
            f"--gold is '{printable(gold)}', which is neither a column of the table ({columns}) nor a table: {error}"
        ) from error
    key = options.item if options.item in table.columns else "id"
    column, where = class_column(table, key, gold), f"'{printable(gold)}', column '{printable(key)}'"
    check_ids(table[key], where)
    numbers = [column] if frame.schema[options.item] == pl.String else [key, column]
    for name in numbers:
        table = number_texts(table.lazy(), [name]).collect()
    twice = table.filter(table[key].is_duplicated())[key]
    if len(twice):
        raise VotesError(f"{where} has {twice[0]!r} more than once; give each item one class")
    return dict(zip(table[key].to_list(), table[column].to_list(), strict=True))


def _read_price(text: str | None, columns: list[str]) -> object:
    """A column by its name, a number, or numbers by judge.

    >>> _read_price("cost", ["cost"]), _read_price("0.1", []), _read_price("a=2,b=0.5", [])
    ('cost', 0.1, {'a': 2.0, 'b': 0.5})
    """
    if text is None or text in columns:
        return text
    try:
        if "=" not in text:
            return float(text)
        pairs = [part.rpartition("=") for part in text.split(",")]
        return {judge.strip(): float(price) for judge, _, price in pairs}
    except ValueError:
        raise ParameterError(
            f"--price is '{printable(text)}'; expected a column ({', '.join(map(printable, columns))}), a number, or "
            "judge=number,..."
        ) from None


def verdict_rows(verdicts: Jury, out: str | None) -> pl.DataFrame:
    """One row per item; in a file without lists, dissenters are one string."""
    rows: pl.DataFrame = verdicts.to_polars()
    if check_target(out or "-").kind == "csv":
        return rows.with_columns(pl.col("dissenters").list.join("; "))
    return rows


def print_card(verdicts: Jury) -> None:
    """The report card, and how far the judges agree, on standard error: standard output may hold the verdicts."""
    rows = [
        {**row, "no_verdict": row["failed"] + row["unparsable"], "leaning": _leaning(row)}
        for row in verdicts.judges.rows()
    ]
    for heads in (_WORTH, _HABITS):
        shown = {name: head for name, head in heads.items() if any(row.get(name, "") != "" for row in rows)}
        if shown:
            console.print(_card_table(rows, shown), "")
    alpha, fleiss, cohen = verdicts.agreement[:3]
    say("shares in percent; docs/jury.md says what the columns mean")
    say(f"Krippendorff's alpha {alpha:.2f}, Fleiss' kappa {fleiss:.2f}, mean of Cohen's kappa {cohen:.2f}")
    say(f"votes for each class: {show_counts(count_classes(verdicts.votes))}")
    say(printable(repr(verdicts)))


def _card_table(rows: list[dict[str, Any]], heads: dict[str, str]) -> RichTable:
    """One line per judge with some columns of the card."""
    table = plain_table()
    table.add_column("judge", overflow="fold", min_width=min(20, max(len(row["judge"]) for row in rows)))
    for name in heads:
        table.add_column(heads[name], justify="left" if name in _TEXTS else "right", overflow="fold")
    for row in rows:
        table.add_row(printable(row["judge"]), *(_show_figure(name, row[name]) for name in heads))
    return table


def _show_figure(name: str, value: Any) -> str:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, int):
        return f"{value:,}"
    if name not in ("kappa", "cost", "cost_per_useful_vote"):
        return percent(value)
    return "" if math.isnan(value) else f"{value:,.2f}" if name == "kappa" or value >= 1 else f"{value:.3g}"


def _leaning(row: dict[str, Any]) -> str:
    """The class that a judge votes for too often, and by how much."""
    biases = {name.removeprefix("bias_"): value for name, value in row.items() if name.startswith("bias_")}
    name = max(biases, key=lambda each: -math.inf if math.isnan(biases[each]) else biases[each])
    return f"{name} {100 * biases[name]:+.0f}" if biases[name] >= 0.005 else ""


def summarize(verdicts: Jury, enough: list[str] | None) -> dict[str, Any]:
    """What `--json` prints."""
    alpha, fleiss, cohen = verdicts.agreement[:3]
    summary: dict[str, Any] = {
        "items": len(verdicts),
        "classes": list(verdicts.labels.classes),
        "contested": int(verdicts.contested.sum()),
        "judgments": len(verdicts.judgments.judge),
        "failed": int(verdicts.judgments.failed.sum()),
        "unparsable": int(verdicts.judgments.unparsable.sum()),
        "krippendorff_alpha": alpha,
        "fleiss_kappa": fleiss,
        "cohen_kappa": cohen,
        "judges": list(verdicts.judges.rows()),
    }
    return summary if enough is None else {**summary, "enough": enough}
