"""Options that commands share, and how what was typed is read.

This file and those of the commands load typer and nothing else that takes time: help must be quick. What a command
does is imported when it runs.
"""

from typing import Annotated

import typer

from hyperlabel.errors import ParameterError

Option = typer.Option

# Written out, since asking the modules that have them takes time; tests hold them equal.
MODELS = ("hlm2", "hlm", "mv", "bv", "dp", "fs", "metal", "nplm", "ds", "hds", "ebcc", "cll", "auto", "rf", "amcl")
ENGINES = ("polars", "duckdb", "spark", "dask")

_FORMS = "a column of VOTES, a table with 'id' and the class (any format), or an npy array"

VOTES_HELP = (
    "A table: csv or tsv (any separator, also .gz, .zst), JSON lines, parquet, Arrow; a folder or pattern of these; "
    "- for standard input; d.duckdb, d.duckdb::TABLE, d.duckdb::SELECT...; or an npy or npz array, a WRENCH folder."
)
MODEL_HELP = f"Label model: {', '.join(MODELS)}; or a file: a saved model, or weights of `hyperlabel train`."
CLASSES_HELP = "All classes, in the order of their probabilities; else inferred from votes and gold."
LFS_HELP = "Columns that are LFs: names or patterns such as 'lf_*'; else all but id, item, text, gold, truth, label."
METRIC_HELP = "accuracy, or f1: F1 of the second of two classes, macro F1 of more"

VotesName = Annotated[str, typer.Argument(metavar="VOTES", help=VOTES_HELP, show_default=False)]
TruthName = Annotated[str | None, Option(metavar="COLUMN|FILE", help=f"True classes, for scores: {_FORMS}.")]
GoldName = Annotated[str | None, Option(metavar="COLUMN|FILE", help=f"Known classes, to learn from: {_FORMS}.")]
ModelName = Annotated[str, Option(metavar="NAME|FILE", help=MODEL_HELP)]
ClassNames = Annotated[str | None, Option(metavar="A,B,...", help=CLASSES_HELP)]
LfNames = Annotated[str | None, Option(metavar="A,B,...", help=LFS_HELP)]
LongNames = Annotated[
    str | None, Option(metavar="ITEM,LF,VOTE", help="VOTES has one row per vote, with these columns.")
]
Delimiter = Annotated[str | None, Option(metavar="CHAR", help="Separator of a csv; else found in its first lines.")]
Encoding = Annotated[str | None, Option(metavar="NAME", help="Encoding of a text table; else found: UTF-8, UTF-16...")]


def split_names(text: str | None, option: str) -> list[str] | None:
    """A comma-separated option as a list.

    >>> split_names("ham, spam", "--classes")
    ['ham', 'spam']
    """
    if text is None:
        return None
    names = [part.strip() for part in text.split(",")]
    if not all(names):
        raise ParameterError(f"{option} is '{text}'; expected names with a comma between each two")
    return names
