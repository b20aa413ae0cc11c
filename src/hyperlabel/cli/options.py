"""Options that commands share, and how what was typed is read.

This file and those of the commands load typer and nothing else that takes time: help must be quick. What a command
does is imported when it runs.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import Annotated, Any

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
LFS_HELP = (
    "Columns that are LFs: names or patterns such as 'lf_*'; else all whose names do not say otherwise, as id, text, "
    "gold, truth, label, split do. Once for each column if a name has a comma."
)
DROP_HELP = "Columns that are no LFs, by name or pattern: what --lfs, or the names, would take and you do not want."
ABSTAIN_HELP = "Texts that abstain, beside empty cells and -1; else NA, N/A, None, nan, null, abstain, - and the like."
SCORES_HELP = (
    "Columns of scores: names or patterns. High ones speak for the last of --classes; they are cut into levels. LFs "
    "that vote for classes are then those of --lfs."
)
METRIC_HELP = "accuracy, or f1: F1 of the second of two classes, macro F1 of more"
_COMMA_HELP = "Once for each if a name has a comma."
BALANCE_HELP = f"Known shares: spam=0.9,ham=0.1, 0.9,0.1 in the order of --classes, or uniform. {_COMMA_HELP}"
ACCURACIES_HELP = f"Known shares of right votes of some LFs, such as links=0.9,short=0.6. {_COMMA_HELP}"
GOOD_AT_HELP = f"What labels are to be good at: {METRIC_HELP}; f1 pays with --class-balance."
ENGINE_HELP = (
    f"Where to work: {', '.join(ENGINES)}, or memory; auto is polars for parquet and large csv, else memory. "
    "As results, spark and dask write a folder of parquet files."
)
AUDIT_HELP = f"Classes of items drawn at random, to judge labels by: {_FORMS}."
LEARN_HELP = "Gold to learn from, of other items, like --gold; or the share of the gold that is set apart for it."
STRATA_HELP = "Strata of confidence that items are drawn in; the same for `audit` and what it is for."
SHOWN_TEXT_HELP = "Column of texts, shown where single items are; else 'text', if there is one."
AUDIT_HELP = "True classes of items that were drawn at random and taught nothing: labels are certified by them."
STRICT_HELP = "Take every warning as an error: nothing is written."
QUIET_HELP = "Say nothing but errors."
VERBOSE_HELP = "Say more of what is done, with times."
JSON_HELP = "Print a summary as JSON on standard output; on standard error if the table goes to standard output."

VotesName = Annotated[str, typer.Argument(metavar="VOTES", help=VOTES_HELP, show_default=False)]
TruthName = Annotated[str | None, Option(metavar="COLUMN|FILE", help=f"True classes, for scores: {_FORMS}.")]
GoldName = Annotated[str | None, Option(metavar="COLUMN|FILE", help=f"Known classes, to learn from: {_FORMS}.")]
ModelName = Annotated[str, Option(metavar="NAME|FILE", help=MODEL_HELP)]
ClassNames = Annotated[str | None, Option(metavar="A,B,...", help=CLASSES_HELP)]
LfNames = Annotated[list[str] | None, Option(metavar="A,B,...", help=LFS_HELP, show_default=False)]
StrataNumber = Annotated[int, Option(metavar="NUMBER", help=STRATA_HELP)]
LongNames = Annotated[
    str | None, Option(metavar="ITEM,LF,VOTE", help="VOTES has one row per vote, with these columns.")
]
EngineName = Annotated[str, Option(metavar="NAME", help=ENGINE_HELP)]
ORDINAL_HELP = "The classes have an order, that of --classes: a vote leans on the neighbors of its class, too."
ClassShares = Annotated[list[str] | None, Option(metavar="CLASS=SHARE,...", help=BALANCE_HELP, show_default=False)]
LfShares = Annotated[list[str] | None, Option(metavar="LF=SHARE,...", help=ACCURACIES_HELP, show_default=False)]
Delimiter = Annotated[str | None, Option(metavar="CHAR", help="Separator of a csv; else found in its first lines.")]
Encoding = Annotated[str | None, Option(metavar="NAME", help="Encoding of a text table; else found: UTF-8, UTF-16...")]


@dataclass(frozen=True)
class TableOptions:
    """How a table of votes is read."""

    classes: ClassNames = None
    lfs: LfNames = None
    drop: Annotated[list[str] | None, Option(metavar="A,B,...", help=DROP_HELP, show_default=False)] = None
    long: LongNames = None
    abstain: Annotated[str | None, Option(metavar="A,B,...", help=ABSTAIN_HELP)] = None
    delimiter: Delimiter = None
    encoding: Encoding = None
    scores: Annotated[str | None, Option(metavar="A,B,...", help=SCORES_HELP)] = None


@dataclass(frozen=True)
class LearningOptions:
    """What a label model is told, whichever it is."""

    gold: GoldName = None
    class_balance: ClassShares = None
    lf_accuracies: LfShares = None
    ordinal: Annotated[bool, Option("--ordinal", help=ORDINAL_HELP)] = False
    metric: Annotated[str, Option(metavar="NAME", help=GOOD_AT_HELP)] = "accuracy"


@dataclass(frozen=True)
class ModelOptions(LearningOptions):
    """The label model."""

    model: ModelName = "hlm2"


@dataclass(frozen=True)
class AuditOptions(ModelOptions):
    """The label model, and the gold that judges it."""

    gold: Annotated[str | None, Option(metavar="COLUMN|FILE", help=AUDIT_HELP)] = None
    learn: Annotated[str | None, Option(metavar="COLUMN|FILE|SHARE", help=LEARN_HELP)] = None


@dataclass(frozen=True)
class PageOptions:
    """What a page shows beside votes and labels."""

    truth: TruthName = None
    text: Annotated[str | None, Option(metavar="COLUMN", help=SHOWN_TEXT_HELP)] = None
    title: Annotated[str | None, Option(metavar="TEXT", help="What the page is called; else the name of VOTES.")] = None
    audit: Annotated[str | None, Option(metavar="COLUMN|FILE", help=AUDIT_HELP)] = None
    error: Annotated[float, Option(metavar="SHARE", help="With --audit: the largest share of wrong labels.")] = 0.05


@dataclass(frozen=True)
class Manner:
    """How a command speaks."""

    strict: Annotated[bool, Option("--strict", help=STRICT_HELP)] = False
    quiet: Annotated[bool, Option("--quiet", "-q", help=QUIET_HELP)] = False
    verbose: Annotated[bool, Option("--verbose", "-v", help=VERBOSE_HELP)] = False


@dataclass(frozen=True)
class JsonManner(Manner):
    """How a command speaks that has a summary."""

    json: Annotated[bool, Option("--json", help=JSON_HELP)] = False


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """A command that takes the options of a group, such as `TableOptions`, where it has a parameter for the group.

    >>> def show(votes: str, manner: Manner) -> None:
    ...     print(votes, manner)
    >>> spread(show)(votes="v.csv", strict=True)
    v.csv Manner(strict=True, quiet=False, verbose=False)
    """
    parameters = inspect.signature(command).parameters.values()
    groups: dict[str, Any] = {p.name: p.annotation for p in parameters if is_dataclass(p.annotation)}

    def run(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{each.name: given.pop(each.name) for each in fields(group) if each.name in given})
        command(**given)

    shown = [p for each in parameters for p in (_options_of(groups[each.name]) if each.name in groups else [each])]
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {p.name: p.annotation for p in shown}
    run.__signature__ = inspect.Signature([p.replace(kind=p.KEYWORD_ONLY) for p in shown])  # type: ignore[attr-defined]
    return run


def _options_of(group: Any) -> list[inspect.Parameter]:
    return [
        inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=each.default, annotation=each.type)
        for each in fields(group)
    ]


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
