"""Options that commands share.

This file and those of the commands load typer alone, so that help is fast; a command imports what it needs when it
runs.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import Annotated, Any

import typer

from hyperlabel.errors import ParameterError

Option = typer.Option

# Written out, since importing the module that defines them takes time; a test checks that they are equal.
ENGINES = ("polars", "duckdb", "spark", "dask")

_FORMS = "a column of VOTES, a table with 'id' (or as `audit` names items) and the class, or an npy array"

VOTES_HELP = (
    "A table: csv or tsv (any separator, also .gz, .zst), JSON lines, parquet, Arrow; a folder or pattern of these; "
    "- for standard input; d.duckdb, d.duckdb::TABLE, d.duckdb::SELECT...; or an npy or npz array, a WRENCH folder."
)
MODEL_HELP = (
    "Label model: hlm3, mv (majority vote), ds (Dawid-Skene) or another that `hyperlabel compare` lists; or a file: "
    "a saved model, or weights of `hyperlabel train`."
)
CLASSES_HELP = "All classes, in the order of their probabilities; else inferred from votes and gold."
LFS_HELP = (
    "Columns that are LFs: names or patterns such as 'lf_*'; else all columns except those named id, text, gold, "
    "truth, label, split and the like. Repeat the option if a name has a comma."
)
DROP_HELP = "Columns that are not LFs, by name or pattern, though --lfs or their names would make them LFs."
ABSTAIN_HELP = "Values that abstain, besides empty and -1; else NA, N/A, None, nan, null, abstain, - and the like."
SCORES_HELP = (
    "Columns of scores: names or patterns. High scores favor the last of --classes, or the "
    "first where the name is followed by ':down'; they are cut into levels. Name LFs that vote for classes with --lfs."
)
METRIC_HELP = "accuracy, or f1: F1 of the second of two classes, macro F1 of more"
_COMMA_HELP = "Repeat the option if a name has a comma."
BALANCE_HELP = f"Known shares: spam=0.9,ham=0.1, 0.9,0.1 in the order of --classes, or uniform. {_COMMA_HELP}"
ACCURACIES_HELP = f"Known shares of right votes for some LFs, such as links=0.9,short=0.6. {_COMMA_HELP}"
TARGET_HELP = f"Metric to optimize the labels for: {METRIC_HELP}; use f1 with --class-balance."
ENGINE_HELP = (
    f"Where to run: {', '.join(ENGINES)}, or memory; auto is polars for parquet and large csv, else memory. "
    "With spark and dask, a table is written as a folder of parquet files."
)
AUDIT_HELP = f"Classes of items drawn at random, to judge labels by: {_FORMS}."
LEARN_HELP = "Gold of other items to learn from, given like --gold; or the share of --gold to learn from."
STRATA_HELP = "Number of strata of confidence; use the same for `audit`, `certify` and `estimate`."
SCORE_HELP = "Or its score: high scores favor the last of --classes; they are cut into levels."
PRICE_HELP = "Price of a judgment: a column, a number, or JUDGE=PRICE,..."
JURY_GOLD_HELP = "Known classes: a column of TABLE, or a table with the item and its class."
JURY_ORDINAL_HELP = "The classes have an order, such as stars; names need --classes, from low to high."
SWAP_HELP = "With --position: verdicts that take each other's place in the second order, such as 'A>B=B>A'."
JURY_CLASSES_HELP = "All classes; any other verdict is then counted as unparsable and abstains."
SHOWN_TEXT_HELP = "Column of texts to show with single items; else 'text', if there is one."
PAGE_AUDIT_HELP = "True classes of random items that no model learned from: they certify the labels."
STRICT_HELP = "Turn warnings into an error: nothing is written."
QUIET_HELP = "Print only errors."
VERBOSE_HELP = "Print more steps, with times."
JSON_HELP = "Print a summary as JSON on standard output, or on standard error if the table goes to standard output."

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
ORDINAL_HELP = "The classes have an order, that of --classes: labels lean to the median of the probabilities."
ClassShares = Annotated[list[str] | None, Option(metavar="CLASS=SHARE,...", help=BALANCE_HELP, show_default=False)]
LfShares = Annotated[list[str] | None, Option(metavar="LF=SHARE,...", help=ACCURACIES_HELP, show_default=False)]
Delimiter = Annotated[str | None, Option(metavar="CHAR", help="Separator of a csv; else found in its first lines.")]
Encoding = Annotated[str | None, Option(metavar="NAME", help="Encoding of a text table; else found: UTF-8, UTF-16...")]


@dataclass(frozen=True)
class TableOptions:
    """Options for reading a table of votes."""

    classes: ClassNames = None
    lfs: LfNames = None
    drop: Annotated[list[str] | None, Option(metavar="A,B,...", help=DROP_HELP, show_default=False)] = None
    long: LongNames = None
    abstain: Annotated[str | None, Option(metavar="A,B,...", help=ABSTAIN_HELP)] = None
    delimiter: Delimiter = None
    encoding: Encoding = None
    scores: Annotated[str | None, Option(metavar="A,B,...", help=SCORES_HELP)] = None

    @property
    def arguments(self) -> list[str]:
        """The options in use, as arguments of a command.

        >>> TableOptions(lfs=["a", "b,c"], long=None, classes="x,y").arguments
        ['--classes', 'x,y', '--lfs', 'a', '--lfs', 'b,c']
        """
        values = {each.name: getattr(self, each.name) or [] for each in fields(self)}
        lists = {name: [value] if isinstance(value, str) else value for name, value in values.items()}
        return [word for name, each in lists.items() for value in each for word in (f"--{name}", value)]


@dataclass(frozen=True)
class LearningOptions:
    """Options that every label model accepts."""

    gold: GoldName = None
    class_balance: ClassShares = None
    lf_accuracies: LfShares = None
    ordinal: Annotated[bool, Option("--ordinal", help=ORDINAL_HELP)] = False
    metric: Annotated[str, Option(metavar="NAME", help=TARGET_HELP)] = "accuracy"


@dataclass(frozen=True)
class ModelOptions(LearningOptions):
    """A label model and its options."""

    model: ModelName = "hlm3"


@dataclass(frozen=True)
class AuditOptions(ModelOptions):
    """A label model, and the gold that judges it."""

    gold: Annotated[str | None, Option(metavar="COLUMN|FILE", help=AUDIT_HELP)] = None
    learn: Annotated[str | None, Option(metavar="COLUMN|FILE|SHARE", help=LEARN_HELP)] = None


@dataclass(frozen=True)
class JuryOptions:
    """Options for reading a table of judgments, and the label model for them."""

    item: Annotated[str, Option(metavar="COLUMN", help="The item that is judged.")]
    judge: Annotated[str, Option(metavar="COLUMN", help="The judge.")]
    vote: Annotated[str | None, Option(metavar="COLUMN", help="Its verdict.")] = None
    score: Annotated[str | None, Option(metavar="COLUMN", help=SCORE_HELP)] = None
    run: Annotated[str | None, Option(metavar="COLUMN", help="The run, if there are several.")] = None
    position: Annotated[str | None, Option(metavar="COLUMN", help="The order in which a pair was shown.")] = None
    price: Annotated[str | None, Option(metavar="COLUMN|PRICE", help=PRICE_HELP)] = None
    gold: Annotated[str | None, Option(metavar="COLUMN|FILE", help=JURY_GOLD_HELP)] = None
    classes: Annotated[str | None, Option(metavar="A,B,...", help=JURY_CLASSES_HELP)] = None
    ordinal: Annotated[bool, Option("--ordinal", help=JURY_ORDINAL_HELP)] = False
    swap: Annotated[str | None, Option(metavar="A=B,...", help=SWAP_HELP)] = None
    abstain: Annotated[str | None, Option(metavar="A,B,...", help=ABSTAIN_HELP)] = None
    model: ModelName = "hlm3"
    delimiter: Delimiter = None
    encoding: Encoding = None


@dataclass(frozen=True)
class PageOptions:
    """Contents of a page besides votes and labels."""

    truth: TruthName = None
    text: Annotated[str | None, Option(metavar="COLUMN", help=SHOWN_TEXT_HELP)] = None
    title: Annotated[str | None, Option(metavar="TEXT", help="What the page is called; else the name of VOTES.")] = None
    audit: Annotated[str | None, Option(metavar="COLUMN|FILE", help=PAGE_AUDIT_HELP)] = None
    error: Annotated[float, Option(metavar="SHARE", help="With --audit: the largest share of wrong labels.")] = 0.05


@dataclass(frozen=True)
class OutputOptions:
    """Options for messages."""

    strict: Annotated[bool, Option("--strict", help=STRICT_HELP)] = False
    quiet: Annotated[bool, Option("--quiet", "-q", help=QUIET_HELP)] = False
    verbose: Annotated[bool, Option("--verbose", "-v", help=VERBOSE_HELP)] = False


@dataclass(frozen=True)
class JsonOptions(OutputOptions):
    """Options for messages, of a command that can print a summary."""

    json: Annotated[bool, Option("--json", help=JSON_HELP)] = False


def expand_option_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with the single options in place of parameters for groups of options, such as `TableOptions`.

    A group of `OutputOptions` also configures the output.

    >>> def show(votes: str, output: OutputOptions) -> None:
    ...     print(votes, output)
    >>> expand_option_groups(show)(votes="v.csv", strict=True)
    v.csv OutputOptions(strict=True, quiet=False, verbose=False)
    """
    parameters = inspect.signature(command, eval_str=True).parameters.values()
    groups: dict[str, Any] = {p.name: p.annotation for p in parameters if is_dataclass(p.annotation)}

    def run(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{each.name: values.pop(each.name) for each in fields(group) if each.name in values})
            if isinstance(values[name], OutputOptions):
                from hyperlabel.cli._terminal import configure_output

                configure_output(quiet=values[name].quiet, verbose=values[name].verbose)
        command(**values)

    expanded: list[inspect.Parameter] = []
    for each in parameters:
        expanded += inspect.signature(each.annotation).parameters.values() if each.name in groups else [each]
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {p.name: p.annotation for p in expanded}
    signature = inspect.Signature([p.replace(kind=p.KEYWORD_ONLY) for p in expanded])
    run.__signature__ = signature  # type: ignore[attr-defined]
    return run


def split_names(text: str | None, option: str) -> list[str] | None:
    """Split a comma-separated option.

    >>> split_names("ham, spam", "--classes")
    ['ham', 'spam']
    """
    if text is None:
        return None
    names = [part.strip() for part in text.split(",")]
    if not all(names):
        raise ParameterError(f"{option} is '{text}'; expected names separated by commas")
    return names
