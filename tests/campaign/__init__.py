"""Odd data, damaged files, kills and other ways of saying the same: a campaign that looks for the next defect.

`pytest -m campaign` runs the short form; `python -m tests.campaign --seed 1 --seconds 600` the long one. Each surface
is a module with a function `run_case(rng)`: it raises where a promise of docs/reliability.md does not hold.
"""

SURFACES = (
    "calls",
    "commands",
    "readers",
    "saved",
    "forms",
    "engines",
    "kills",
    "threads",
    "snorkel",
)
LONG_SURFACES = ("clusters",)
"""Those that take minutes to start: Spark and Dask."""
