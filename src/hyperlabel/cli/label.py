"""`hyperlabel label`: votes in, labels out."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, cast

import polars as pl
import typer
from rich.table import Table

from hyperlabel import engines
from hyperlabel.cli.tables import (
    Source,
    check_output,
    choose_engine,
    match_classes,
    open_source,
    read_labels,
    scan_result,
    split_names,
    write_table,
)
from hyperlabel.cli.terminal import console, say
from hyperlabel.errors import ConvergenceWarning, ParameterError
from hyperlabel.models import label_model, label_models
from hyperlabel.models.base import LabelModel
from hyperlabel.models.decide import Metric, confidence_of
from hyperlabel.patterns import Patterns
from hyperlabel.votes import ABSTAIN

Option = typer.Option

VOTES_HELP = "A csv, tsv or parquet table, an npy or npz array, or a WRENCH folder."
OUT_HELP = "csv, tsv or parquet file; without it csv goes to standard output."
GOLD_HELP = "Known classes: a column of VOTES, a table with 'id' and the class, or an npy array."
MODEL_HELP = f"Label model: {', '.join(label_models())}; or a .safetensors file of `hyperlabel train`."
CLASSES_HELP = "All classes, in the order of their probabilities; else inferred from votes and gold."
BALANCE_HELP = "Known shares of the classes, such as 0.9,0.1, in the order of --classes."
METRIC_HELP = "What labels are to be good at: accuracy, or f1 of the second class, which pays with --class-balance."
LFS_HELP = "Columns that are LFs: names or patterns such as 'lf_*'; else all but id, item, text, gold, truth, label."
ENGINE_HELP = (
    f"Where to work: {', '.join(engines.ENGINES)}, or memory; auto is polars for parquet and large csv, else memory. "
    "spark and dask write a folder of parquet files."
)
LONG_HELP = "VOTES has one row a vote, with these columns."


def label(
    votes: Annotated[Path, typer.Argument(metavar="VOTES", help=VOTES_HELP, show_default=False)],
    out: Annotated[Path | None, Option("--out", "-o", metavar="FILE", help=OUT_HELP)] = None,
    gold: Annotated[str | None, Option(metavar="COLUMN|FILE", help=GOLD_HELP)] = None,
    model: Annotated[str, Option(metavar="NAME|FILE", help=MODEL_HELP)] = "hlm2",
    classes: Annotated[str | None, Option(metavar="A,B,...", help=CLASSES_HELP)] = None,
    class_balance: Annotated[str | None, Option(metavar="SHARE,...", help=BALANCE_HELP)] = None,
    lfs: Annotated[str | None, Option(metavar="A,B,...", help=LFS_HELP)] = None,
    long: Annotated[str | None, Option(metavar="ITEM,LF,VOTE", help=LONG_HELP)] = None,
    tie_break: Annotated[str, Option(metavar="RULE", help="Exact ties: first, abstain or random.")] = "first",
    seed: Annotated[int, Option(metavar="NUMBER", help="For --tie-break random.")] = 0,
    probabilities: Annotated[bool, Option("--probabilities", help="Add a column p_<class> for each class.")] = False,
    metric: Annotated[str, Option(metavar="NAME", help=METRIC_HELP)] = "accuracy",
    engine: Annotated[str, Option(metavar="NAME", help=ENGINE_HELP)] = "auto",
) -> None:
    """Label every item of VOTES.

    All rows and columns are kept; 'label' and 'confidence' are added. An item without votes has an empty label.
    """
    columns, triple = split_names(lfs, "--lfs"), split_names(long, "--long")
    stated = split_names(classes, "--classes")
    chosen = choose_engine(engine, votes, out, long=triple, gold=gold)
    check_output(out, folder=chosen in ("spark", "dask"))
    if tie_break not in ("first", "abstain", "random"):
        raise ParameterError(f"--tie-break is '{tie_break}'; expected first, abstain or random")
    if metric not in ("accuracy", "f1"):
        raise ParameterError(f"--metric is '{metric}'; expected accuracy or f1")
    wanted = cast(Metric, metric)
    estimator = make_model(model, tie_break=tie_break, seed=seed)
    if class_balance is not None:
        set_balance(estimator, class_balance, stated, model)
    if chosen != "memory":
        matched = match_classes(stated, votes, columns)
        with say_warnings():
            result = engines.label(
                votes,
                lfs=columns,
                model=estimator,
                classes=matched,
                gold=gold,
                probabilities=probabilities,
                metric=wanted,
                engine=chosen,
                out=out,
            )
        if out is None:
            write_table(result.collect(engine="streaming"), None)
    else:
        source = open_source(votes, lfs=columns, long=triple, classes=stated, labels=[gold] if gold else [])
        known = None if gold is None else read_labels(gold, source, "gold")
        with say_warnings():
            estimator.fit(source.votes, known)
        write_table(source.join(label_columns(estimator, source, probabilities, wanted)), out)
    if out is not None:
        rows = print_label_counts(out)
        say(f"wrote {out}: {rows:,} rows")


def make_model(name: str, **params: Any) -> LabelModel:
    """A label model by its short name, or the hyper label model with the weights of a file."""
    if name.endswith(".safetensors"):
        return label_model("hlm", weights=name, **params)
    return label_model(name, **params)


def set_balance(estimator: LabelModel, balance: str, classes: list[str] | None, model: str) -> None:
    """Tell a model the class balance that was typed."""
    if "class_balance" not in estimator.get_params():
        raise ParameterError(f"--class-balance is given, but the label model '{model}' takes none; use --model hlm2")
    if classes is None:
        raise ParameterError(f"--class-balance is '{balance}'; expected --classes beside it, which says whose shares")
    try:
        shares = [float(share) for share in balance.split(",")]
    except ValueError:
        shares = []
    if len(shares) != len(classes):
        raise ParameterError(f"--class-balance is '{balance}'; expected a share for each of the {len(classes)} classes")
    estimator.set_params(class_balance=shares)


@contextmanager
def say_warnings() -> Iterator[None]:
    """What a model warns of while it learns is a line on standard error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", ConvergenceWarning)
        yield
    for warning in caught:
        say(f"warning: {warning.message}")


def print_label_counts(path: Path) -> int:
    """A table of how many items of a result got each label; returns how many items there are."""
    counts = scan_result(path).group_by("label").agg(pl.len().alias("items")).collect(engine="streaming")
    total = int(counts["items"].sum())
    table = Table("label", "items", "share")
    table.columns[1].justify = table.columns[2].justify = "right"
    for name, items in counts.sort("items", "label", descending=[True, False]).iter_rows():
        table.add_row("(no label)" if name is None else str(name), f"{items:,}", f"{items / total:.1%}")
    console.print(table)
    return total


def label_columns(estimator: LabelModel, source: Source, probabilities: bool, metric: Metric) -> pl.DataFrame:
    """The columns that labelling adds."""
    read = estimator._read(source.votes)
    patterns = Patterns.from_votes(read)
    shares = estimator._pattern_probabilities(patterns)
    best = estimator._decide(shares, patterns, metric)
    labels = label_series(patterns.expand(read.decode(best)), estimator.classes_)
    columns = {"label": labels, "confidence": pl.Series(patterns.expand(confidence_of(best, shares)))}
    if probabilities:
        names = pl.Series(estimator.classes_).cast(pl.String).to_list()
        columns |= {f"p_{name}": pl.Series(patterns.expand(shares[:, c])) for c, name in enumerate(names)}
    return pl.DataFrame(columns)


def label_series(labels: Any, classes: Any) -> pl.Series:
    """Labels as a column of the classes' type; an item without a label is null. (n,), (k,) -> (n,)."""
    if labels.dtype.kind == "i":
        return pl.Series(labels).replace(ABSTAIN, None)
    return pl.Series([None if label == ABSTAIN else label for label in labels], dtype=pl.Series(classes).dtype)
