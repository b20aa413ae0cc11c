"""The commands, and how they are found.

Their files load only typer until a command runs, so that help and completion are fast.
"""

from typing import Annotated

import typer

import hyperlabel
from hyperlabel.cli.advise import advise
from hyperlabel.cli.analyze import analyze
from hyperlabel.cli.audit import audit
from hyperlabel.cli.certify import certify
from hyperlabel.cli.compare import compare
from hyperlabel.cli.demo import demo
from hyperlabel.cli.estimate import estimate
from hyperlabel.cli.export import export
from hyperlabel.cli.fit import fit
from hyperlabel.cli.jury import jury
from hyperlabel.cli.label import label
from hyperlabel.cli.options import spread
from hyperlabel.cli.report import report
from hyperlabel.cli.studio import studio
from hyperlabel.cli.suggest import suggest
from hyperlabel.cli.train import train
from hyperlabel.errors import ParameterError

app = typer.Typer(
    pretty_exceptions_enable=False, rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]}
)
for command in (
    *(label, fit, export, analyze, report, compare, suggest, advise, audit, certify, estimate, jury),
    *(studio, train, demo),
):
    app.command()(spread(command))


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"hyperlabel {hyperlabel.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Training labels from noisy votes, in one forward pass of a pre-trained model.

    Example: hyperlabel label votes.csv -o labels.csv
    """


def run(arguments: list[str]) -> int:
    """Parse the arguments (help if there are none) and run a command; returns the exit code."""
    command = typer.main.get_command(app)
    try:
        code = command(arguments or ["--help"], prog_name="hyperlabel", standalone_mode=False)
    except typer.Abort as error:
        raise KeyboardInterrupt from error
    except SystemExit as error:
        if isinstance(error.__context__, OSError):  # a reader that went away, of which the parser makes a silent end
            raise error.__context__ from None
        raise
    except Exception as error:
        # The exceptions of the parser, whichever parser library typer uses, have this method.
        if not hasattr(error, "format_message"):
            raise
        context = getattr(error, "ctx", None)
        path = context.command_path if context else "hyperlabel"
        raise ParameterError(f"{error.format_message().rstrip('.')}; see: {path} --help") from error
    return int(code or 0)
