"""`hyperlabel label`: votes in, labels out."""

from pathlib import Path
from typing import Annotated

from hyperlabel.cli.options import (
    ENGINES,
    METRIC_HELP,
    ClassNames,
    GoldName,
    LfNames,
    LongNames,
    ModelName,
    Option,
    VotesPath,
)
from hyperlabel.errors import ParameterError

OUT_HELP = "csv, tsv or parquet file; without it csv goes to standard output."
BALANCE_HELP = "Known shares of the classes, such as 0.9,0.1, in the order of --classes."
GOOD_AT_HELP = f"What labels are to be good at: {METRIC_HELP}; f1 pays with --class-balance."
ENGINE_HELP = (
    f"Where to work: {', '.join(ENGINES)}, or memory; auto is polars for parquet and large csv, else memory. "
    "spark and dask write a folder of parquet files."
)
TIES_HELP = "Exact ties: first, abstain or random; else as the model has it, first."
SEED_HELP = "For --tie-break random."


def label(
    votes: VotesPath,
    out: Annotated[Path | None, Option("--out", "-o", metavar="FILE", help=OUT_HELP)] = None,
    gold: GoldName = None,
    model: ModelName = "hlm2",
    classes: ClassNames = None,
    class_balance: Annotated[str | None, Option(metavar="SHARE,...", help=BALANCE_HELP)] = None,
    lfs: LfNames = None,
    long: LongNames = None,
    tie_break: Annotated[str | None, Option(metavar="RULE", help=TIES_HELP)] = None,
    seed: Annotated[int | None, Option(metavar="NUMBER", help=SEED_HELP)] = None,
    probabilities: Annotated[bool, Option("--probabilities", help="Add a column p_<class> for each class.")] = False,
    metric: Annotated[str, Option(metavar="NAME", help=GOOD_AT_HELP)] = "accuracy",
    engine: Annotated[str, Option(metavar="NAME", help=ENGINE_HELP)] = "auto",
) -> None:
    """Label every item of VOTES.

    All rows and columns are kept; 'label' and 'confidence' are added. An item with gold has that class; an item without
    votes has an empty label. A fitted model labels in its state, any other one reads VOTES first.
    """
    from hyperlabel.cli.labeling import Labeling, print_label_counts
    from hyperlabel.cli.models import make_model, refuse_for_fitted, set_balance
    from hyperlabel.cli.tables import Selection, check_output, choose_engine, scan_result, write_table
    from hyperlabel.cli.terminal import say
    from hyperlabel.metrics import check_metric

    if tie_break not in (None, "first", "abstain", "random"):
        raise ParameterError(f"--tie-break is '{tie_break}'; expected first, abstain or random")
    wanted = check_metric(metric, "--metric")
    selection = Selection.parse(lfs=lfs, long=long, classes=classes)
    chosen = choose_engine(engine, votes, out, long=selection.long, gold=gold)
    check_output(out, folder=chosen in ("spark", "dask"))
    estimator = make_model(model, tie_break=tie_break, seed=seed)
    refuse_for_fitted(estimator, model, gold=gold, classes=classes, class_balance=class_balance)
    if class_balance is not None:
        set_balance(estimator, class_balance, selection.classes, model)
    task = Labeling(estimator, votes, selection.of_model(estimator), gold, probabilities, wanted)
    if chosen == "memory":
        table = task.in_memory()
        write_table(table, out)
        labels = table.lazy()
    else:
        result = task.with_engine(chosen, out)
        if out is None:
            write_table(result.collect(engine="streaming"), None)
        else:
            labels = scan_result(out)
    if out is not None:
        rows = print_label_counts(labels)
        say(f"wrote {out}: {rows:,} rows")
