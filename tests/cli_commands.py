"""Commands that read votes.csv, with what each needs beside it."""

COMMANDS = {
    "label": ["-o", "out.csv"],
    "fit": ["-o", "out.safetensors"],
    "analyze": [],
    "report": ["-o", "out.html"],
    "compare": ["--truth", "truth.csv", "--models", "mv"],
}
