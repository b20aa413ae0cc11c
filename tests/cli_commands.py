"""All commands, and those that read votes.csv with what each needs beside it."""

from typer.main import get_command

from hyperlabel.cli._app import app

ALL_COMMANDS = tuple(get_command(app).commands)

COMMANDS = {
    "label": ["-o", "out.csv"],
    "fit": ["-o", "out.safetensors"],
    "analyze": [],
    "report": ["-o", "out.html"],
    "compare": ["--truth", "truth.csv", "--models", "mv"],
}
