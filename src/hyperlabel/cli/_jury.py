"""`hyperlabel jury`: a long table of judgments in, one row per item and a report card per judge out."""

import math
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hyperlabel.cli._options import JsonOptions, JuryOptions, Option, TableOptions, split_names
from hyperlabel.errors import ParameterError

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table

    from hyperlabel.panel import Jury

TABLE_HELP = "A table with one row per judgment: csv, tsv, JSON lines, parquet, Arrow, DuckDB, - for standard input."
OUT_HELP = "Write one row per item to a csv, tsv, JSON lines, parquet or Arrow file; else csv to standard output."
CARD_HELP = "Write the report card of the judges to a file as well."
CURVE_HELP = "Write how many labels the best 1, 2, 3... judges keep to a file."
REPORT_HELP = "Write a page about the panel to an html file."
KEEP_HELP = "Say which judges are enough to keep this share of the labels."

# Column of the card -> its heading, short enough that both tables fit a terminal.
WORTH_HEADS = {
    "votes": "votes",
    "no_verdict": "no\nverdict",
    "accuracy": "gold\nacc.",
    "estimated_accuracy": "est.\nacc.",
    "checked": "checked",
    "kappa": "kappa",
    "label_changes": "changed\nlabels",
    "gold_loss": "gold\nloss",
    "copy_of": "copy of",
}
HABIT_HEADS = {
    "bias": "votes too often for",
    "self_consistency": "same\nagain",
    "position_flips": "flips",
    "cost": "cost",
    "cost_per_useful_vote": "cost per\nuseful vote",
}


def jury(
    table: Annotated[str, typer.Argument(metavar="TABLE", help=TABLE_HELP, show_default=False)],
    *,
    judging: JuryOptions,
    out: Annotated[str | None, Option("--out", "-o", metavar="FILE", help=OUT_HELP)] = None,
    card: Annotated[str | None, Option(metavar="FILE", help=CARD_HELP)] = None,
    curve: Annotated[str | None, Option(metavar="FILE", help=CURVE_HELP)] = None,
    report: Annotated[str | None, Option(metavar="FILE", help=REPORT_HELP)] = None,
    keep: Annotated[float | None, Option(metavar="SHARE", help=KEEP_HELP)] = None,
    output: JsonOptions,
) -> None:
    """Turn judgments into a label per item and a card per judge.

    A judge has one vote per item: what most of its judgments say. Failed and unparsable judgments abstain and are
    counted. The result has the item, label, confidence, contested, dissenters and p_<class> for each class.

    Example: hyperlabel jury judgments.csv --item id --judge model --vote verdict -o verdicts.csv
    """
    import polars as pl

    from hyperlabel._core import printable
    from hyperlabel.cli._terminal import Summary, say, say_warnings
    from hyperlabel.data import check_target, write_table

    summary = Summary(judging.model)
    _check_arguments(out, card, curve, report, keep)
    with say_warnings(strict=output.strict) as messages:
        verdicts = _decide(table, judging)
        enough = None if keep is None else verdicts.enough(keep)
        messages.raise_if_strict()
        rows = verdicts.to_polars()
        joined = rows.with_columns(pl.col("dissenters").list.join("; "))  # a csv has no lists
        has_lists = check_target(out or "-").kind != "csv"
        write_table(rows if has_lists else joined, out or "-", argument="--out")
    if not output.json:
        _print_card(verdicts)
    if card is not None:
        write_table(verdicts.judges.to_polars(), card, argument="--card")
    if curve is not None:
        write_table(verdicts.curve.to_polars(), curve, argument="--curve")
    if report is not None:
        verdicts.report(report, title=Path(table).name)
        say(f"wrote {printable(report)}: the page about the panel")
    if enough is not None:
        say(f"enough to keep {keep:.0%} of the labels: {', '.join(enough)}")
    if out not in (None, "-"):
        say(f"wrote {printable(out)}: {len(verdicts):,} rows")
    if output.json:
        summary.print(aside=out in (None, "-"), **_summarize(verdicts, enough))


def _check_arguments(
    out: str | None, card: str | None, curve: str | None, report: str | None, keep: float | None
) -> None:
    """Refuse files that cannot be written, and a share that is none, before anything is read."""
    from hyperlabel._core import ABOVE_ZERO, check_number, printable
    from hyperlabel.data import check_target

    targets = [target for target in (out, card, curve) if target is not None]
    for target in targets:
        check_target(target, "--out")
        if targets.count(target) > 1:
            raise ParameterError(f"--out, --card and --curve have '{printable(target)}' twice; name each file once")
    if report is not None and Path(report).suffix not in (".html", ".htm"):
        raise ParameterError(f"--report is '{printable(report)}'; expected a name that ends in .html")
    if keep is not None:
        check_number(keep, "--keep", "a share above 0, at most 1", least=ABOVE_ZERO, most=1)


def _decide(table: str, options: JuryOptions) -> "Jury":
    """Read the table and ask the label model."""
    from dataclasses import replace

    from hyperlabel._core import printable
    from hyperlabel.cli._inputs import Selection, make_model, match_classes
    from hyperlabel.data import Table, number_texts
    from hyperlabel.panel import jury as decide

    reading = Selection.parse(
        TableOptions(abstain=options.abstain, delimiter=options.delimiter, encoding=options.encoding)
    )
    judgments = Table.open(table, delimiter=reading.delimiter, encoding=reading.encoding)
    if (options.vote is None) == (options.score is None):
        raise ParameterError("--vote and --score are both given, or neither is; expected one of them")
    for option in ("item", "judge", "vote", "score"):
        name = getattr(options, option)
        if name is not None and name not in judgments.columns:
            names = ", ".join(map(printable, judgments.columns))
            raise ParameterError(f"--{option} is '{printable(name)}'; expected a column of the table: {names}")
    classes: Sequence[Hashable] | None = split_names(options.classes, "--classes")
    with judgments.reading():
        frame = number_texts(judgments.lazy(), [] if options.vote is None else [options.vote]).collect()
    if options.vote is not None:
        classes = match_classes(replace(reading, classes=classes), frame.lazy(), [options.vote])
    columns = {name: getattr(options, name) for name in ("item", "judge", "vote", "score", "run", "position")}
    return decide(
        frame,
        **columns,
        price=parse_price(options.price, frame.columns),
        gold=_read_gold(options, frame),
        classes=classes,
        ordinal=options.ordinal,
        swap=_read_swap(options, frame),
        abstain=reading.abstain,
        model=options.model if options.model in ("median", "mean") else make_model(options.model),
    )


def _read_swap(options: JuryOptions, frame: "pl.DataFrame") -> dict[Any, Any] | None:
    """Return pairs of verdicts, in the type of the column of verdicts."""
    from hyperlabel._core import printable

    names = split_names(options.swap, "--swap")
    if names is None or options.vote is None:
        return None
    pairs = dict(each.partition("=")[::2] for each in names)
    if not all(pairs.values()):
        raise ParameterError(f"--swap is '{printable(options.swap)}'; expected pairs of verdicts: A=B,...")
    if frame.schema[options.vote].is_integer():
        return {int(one): int(other) for one, other in pairs.items()}
    return pairs


def _read_gold(options: JuryOptions, frame: "pl.DataFrame") -> object:
    """Return a column by its name, or a mapping from item to class."""
    import polars as pl

    from hyperlabel._core import printable
    from hyperlabel.cli._inputs import check_ids, check_once, class_column, read_label_table
    from hyperlabel.data import number_texts

    gold = options.gold
    if gold is None or gold in frame.columns:
        return gold
    table = read_label_table(gold, "gold", f"of the table ({', '.join(map(printable, frame.columns))})")
    key = options.item if options.item in table.columns else "id"
    column, where = class_column(table, key, gold), f"'{printable(gold)}', column '{printable(key)}'"
    check_ids(table[key], where)
    numbers = [column] if frame.schema[options.item] == pl.String else [key, column]
    for name in numbers:
        table = number_texts(table.lazy(), [name]).collect()
    check_once(table[key], where)
    return dict(zip(table[key].to_list(), table[column].to_list(), strict=True))


def parse_price(text: str | None, columns: list[str]) -> object:
    """Return a column by its name, a number, or numbers by judge.

    >>> parse_price("cost", ["cost"]), parse_price("0.1", []), parse_price("a=2,b=0.5", [])
    ('cost', 0.1, {'a': 2.0, 'b': 0.5})
    """
    from hyperlabel._core import printable

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


def _print_card(verdicts: "Jury") -> None:
    """Print the report card and the agreement of the judges to standard error: standard output may hold verdicts."""
    from hyperlabel._core import printable, show_counts
    from hyperlabel.cli._inputs import count_classes
    from hyperlabel.cli._terminal import console, say

    rows = [
        {**row, "no_verdict": row["failed"] + row["unparsable"], "bias": _show_bias(row), **_show_intervals(row)}
        for row in verdicts.judges.rows()
    ]
    for heads in (WORTH_HEADS, HABIT_HEADS):
        shown = {name: head for name, head in heads.items() if any(row.get(name, "") != "" for row in rows)}
        if shown:
            console.print(_card_table(rows, shown), "")
    alpha, fleiss, cohen = verdicts.agreement[:3]
    say("shares in percent; docs/jury.md says what the columns mean")
    say(f"Krippendorff's alpha {alpha:.2f}, Fleiss' kappa {fleiss:.2f}, mean of Cohen's kappa {cohen:.2f}")
    if verdicts.ordinal:
        ordinal, weighted = verdicts.agreement.ordinal_alpha, verdicts.agreement.weighted_kappa
        say(f"with the order of the classes: alpha {ordinal:.2f}, mean of weighted kappa {weighted:.2f}")
    say(f"votes for each class: {show_counts(count_classes(verdicts.votes))}")
    say(printable(repr(verdicts)))


def _card_table(rows: list[dict[str, Any]], heads: dict[str, str]) -> "Table":
    """Return a table with one line per judge and some columns of the card."""
    from hyperlabel._core import printable
    from hyperlabel.cli._terminal import plain_table

    table = plain_table()
    table.add_column("judge", overflow="fold", min_width=min(20, max(len(row["judge"]) for row in rows)))
    for name, head in heads.items():
        table.add_column(head, justify="left" if name in ("checked", "copy_of", "bias") else "right", overflow="fold")
    for row in rows:
        table.add_row(printable(row["judge"]), *(_show_figure(name, row[name]) for name in heads))
    return table


def _show_figure(name: str, value: Any) -> str:
    from hyperlabel._core import printable
    from hyperlabel.cli._terminal import percent

    if isinstance(value, str):
        return printable(value)
    if isinstance(value, int):
        return f"{value:,}"
    if name not in ("kappa", "cost", "cost_per_useful_vote"):
        return percent(value)
    return "" if math.isnan(value) else f"{value:,.2f}" if name == "kappa" or value >= 1 else f"{value:.3g}"


def _show_intervals(row: dict[str, Any]) -> dict[str, str]:
    """Return accuracies with their intervals, in percent."""
    texts = {}
    for name, end in (("accuracy", "accuracy"), ("estimated_accuracy", "estimated")):
        value, low, high = (100 * row.get(column, math.nan) for column in (name, f"{end}_low", f"{end}_high"))
        if name in row:
            texts[name] = "" if math.isnan(value) else f"{value:.0f} ({low:.0f}-{high:.0f})"
    return texts


def _show_bias(row: dict[str, Any]) -> str:
    """Return the class that a judge votes for too often, and by how much."""
    biases = {name.removeprefix("bias_"): value for name, value in row.items() if name.startswith("bias_")}
    name = max(biases, key=lambda each: -math.inf if math.isnan(biases[each]) else biases[each])
    return f"{name} {100 * biases[name]:+.0f}" if biases[name] >= 0.005 else ""


def _summarize(verdicts: "Jury", enough: list[str] | None) -> dict[str, Any]:
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
