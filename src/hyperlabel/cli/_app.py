"""The commands; a new one is a file here and its name in `COMMANDS`."""

import importlib
from typing import Annotated

import typer

from hyperlabel._version import VERSION
from hyperlabel.cli._options import expand_option_groups
from hyperlabel.errors import ParameterError

# Command `name` is the function `name` of the file `_name.py`. Its file loads typer alone, so that help is fast.
COMMANDS = (
    *("label", "fit", "export", "analyze", "report", "compare", "suggest", "advise", "audit", "certify", "estimate"),
    *("jury", "spans", "tags", "studio", "train", "demo"),
)

app = typer.Typer(
    pretty_exceptions_enable=False, rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]}
)
for name in COMMANDS:
    app.command()(expand_option_groups(getattr(importlib.import_module(f"hyperlabel.cli._{name}"), name)))


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"hyperlabel {VERSION}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Training labels from noisy votes, in one forward pass of a pre-trained model.

    Example: hyperlabel label votes.csv -o labels.csv
    """


def run(arguments: list[str]) -> int:
    """Parse the arguments, run a command (help if there are none), and return the exit code."""
    command = typer.main.get_command(app)
    try:
        code = command(arguments or ["--help"], prog_name="hyperlabel", standalone_mode=False)
    except typer.Abort as error:
        raise KeyboardInterrupt from error
    except SystemExit as error:
        if isinstance(error.__context__, OSError):  # a closed pipe, which the parser turns into a silent exit
            raise error.__context__ from None
        raise
    except Exception as error:
        if not hasattr(error, "format_message"):  # only errors of the parser have it
            raise
        context = getattr(error, "ctx", None)
        path = context.command_path if context else "hyperlabel"
        raise ParameterError(f"{error.format_message().rstrip('.')}; see: {path} --help") from error
    return int(code or 0)
