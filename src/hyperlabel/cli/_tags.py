"""`hyperlabel tags`: votes for several tags per item in, a set of tags for each item out."""

from typing import Annotated, Any

import typer

from hyperlabel.cli._options import MODEL_HELP, JsonOptions, LfNames, Option, split_names
from hyperlabel.errors import ParameterError

TABLE_HELP = (
    "A table whose columns are LFs: a cell has tags, 'a; b' in a csv or a list; columns 'lf:tag' of yes and no; or a "
    "long table, see --long."
)
OUT_HELP = "Write one row per item to a csv, tsv, JSON lines, parquet or Arrow file; else csv to standard output."
SILENCE_HELP = "A tag that an LF knows and does not name: no (default for sets) or abstain (default for yes and no)."
THRESHOLD_HELP = "f1, the best expected F1 of each tag; or a probability for all tags."
LONG_HELP = "TABLE has one row per item, LF and tag, and perhaps yes or no, with these columns."
GOLD_HELP = "Column with the true tags of some items, to learn from."
TRUTH_HELP = "Column with the true tags: print precision, recall and F1."


def tags(
    table: Annotated[str, typer.Argument(metavar="TABLE", help=TABLE_HELP, show_default=False)],
    *,
    out: Annotated[str, Option("--out", "-o", metavar="FILE", help=OUT_HELP)] = "-",
    tags: Annotated[str | None, Option(metavar="A,B,...", help="All tags; else those that are named.")] = None,
    silence: Annotated[str | None, Option(metavar="no|abstain", help=SILENCE_HELP)] = None,
    threshold: Annotated[str, Option(metavar="f1|SHARE", help=THRESHOLD_HELP)] = "f1",
    long: Annotated[str | None, Option(metavar="ITEM,LF,TAG[,VOTE]", help=LONG_HELP)] = None,
    lfs: LfNames = None,
    gold: Annotated[str | None, Option(metavar="COLUMN", help=GOLD_HELP)] = None,
    truth: Annotated[str | None, Option(metavar="COLUMN", help=TRUTH_HELP)] = None,
    model: Annotated[str | None, Option(metavar="NAME|FILE", help=MODEL_HELP)] = None,
    output: JsonOptions,
) -> None:
    """Turn votes for tags, several per item, into a set of tags for each item.

    Example: hyperlabel tags votes.csv -o tags.csv
    """
    from hyperlabel._core import printable
    from hyperlabel.cli._inputs import make_model
    from hyperlabel.cli._terminal import Summary, print_lines, say, say_warnings
    from hyperlabel.data import check_target, read_table, write_table
    from hyperlabel.tags import label_tags

    summary, target = Summary(model), check_target(out, "--out")
    with say_warnings(strict=output.strict) as messages:
        frame = read_table(table)
        names = [name for each in lfs or [] for name in split_names(each, "--lfs") or []] or None
        labels = label_tags(
            frame.drop([name for name in (gold, truth) if name in frame.columns]),
            tags=split_names(tags, "--tags"),
            silence=silence,
            model=None if model is None else make_model(model),
            gold=_read_true_tags(frame, gold, long, "--gold"),
            threshold=threshold if threshold == "f1" else _parse_share(threshold),
            long=split_names(long, "--long"),
            lfs=names,
        )
        true = _read_true_tags(frame, truth, long, "--truth")
        scores = None if true is None else labels.score(true)
        messages.raise_if_strict()
        rows = labels.to_polars() if long is not None else _add_tags(frame, labels.to_polars())
        write_table(_join_lists(rows) if target.kind == "csv" else rows, out, argument="--out")
    say(printable(f"{labels.votes!r}: {labels!r}"))
    if scores is not None and not output.json:
        say(str(scores)) if out == "-" else print_lines(scores)
    if output.json:
        counts = dict(zip(labels.tags, labels.taken.sum(0).tolist(), strict=True))
        table_of_scores = None if scores is None else list(scores.rows())
        summary.print(aside=out == "-", rows=len(labels), per_tag=counts, scores=table_of_scores)


def _add_tags(frame: Any, tags: Any) -> Any:
    """Add the columns of tags to the table; a column of it with such a name is kept as `*_input`."""
    from hyperlabel.data import free_names

    added = tags.select("tags", "^p_.*$")
    return frame.rename(free_names(frame.columns, added.columns)).hstack(added)


def _join_lists(frame: Any) -> Any:
    """Write lists as texts, since a csv has no lists."""
    import polars as pl

    return frame.with_columns(pl.col(pl.List(pl.String)).list.join("; "))


def _parse_share(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ParameterError(f"--threshold is '{text}'; expected f1, or a probability such as 0.5") from None


def _read_true_tags(frame: Any, column: str | None, long: str | None, option: str) -> dict[Any, Any] | None:
    """Return a mapping from item to the tags in a column; items are named as `label_tags` names them."""
    from hyperlabel._core import printable
    from hyperlabel.tags import read_true_tags

    if column is None:
        return None
    if long is not None or column not in frame.columns:
        where = "a wide table" if long is not None else f"the columns {', '.join(map(printable, frame.columns))}"
        raise ParameterError(f"{option} is '{printable(column)}'; expected a column of {where}")
    return read_true_tags(frame, column)
