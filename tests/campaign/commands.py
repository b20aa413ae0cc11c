"""Every command with options that work, some of them replaced: exit code 0, or 2 with one line and nothing written."""

import contextlib
import io
import json
import os
import shutil
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import hyperlabel as hl
from hyperlabel.cli import main
from tests.campaign.hostile import Rng
from tests.campaign.mutate import mutate

N = 30
TRUTH = np.arange(N) % 2
CELLS = np.stack([TRUTH, TRUTH, np.where(np.arange(N) % 7 == 0, 1 - TRUTH, TRUTH)], axis=1)
CELLS[::6] = -1

LABELING = {
    "--model": ("mv", "hlm3", "ds", "model.safetensors"),
    "--gold": ("gold", "gold.csv"),
    "--class-balance": ("0=0.4,1=0.6", "uniform"),
    "--lf-accuracies": ("a=0.9",),
    "--metric": ("accuracy", "f1"),
    "--classes": ("0,1", "1,0"),
    "--lfs": ("a,b,c", "?"),
    "--drop": ("c",),
    "--abstain": ("-1", "NA"),
    "--delimiter": (",", "tab"),
    "--encoding": ("utf-8",),
}
PAGE = {"--truth": ("gold",), "--text": ("text",), "--title": ("Title",), "--audit": ("gold",), "--error": ("0.2",)}
TRUST = {"--gold": ("gold",), "--learn": ("0.3",), "--strata": ("1", "2"), "--confidence": ("0.9",)}
Options = dict[str, tuple[str, ...]]
COMMANDS: dict[str, tuple[tuple[str, ...], Options]] = {  # what is needed, and options
    "label": (
        ("votes.csv", "-o", "out.csv"),
        {
            **LABELING,
            "--tie-break": ("abstain", "random"),
            "--seed": ("3",),
            "--text": ("text",),
            "--engine": ("polars", "duckdb", "memory", "auto"),
            "--scores": ("a,b",),
            "--long": ("id,text,a",),
        },
    ),
    "fit": (("votes.csv", "-o", "out.safetensors"), {**LABELING, "--engine": ("polars", "duckdb")}),
    "export": (
        ("model.safetensors",),
        {"--sql": ("duckdb", "spark", "postgres", "bigquery"), "--from": ("votes",), "--table": ("out.csv",)},
    ),
    "analyze": (("votes.csv",), {**LABELING, "--truth": ("gold",)}),
    "report": (("votes.csv", "-o", "out.html"), {**LABELING, **PAGE}),
    "compare": (("votes.csv", "--truth", "gold", "--models", "mv,bv"), {**LABELING, "--models": ("mv,ds",)}),
    "suggest": (("votes.csv",), {**LABELING, "--number": ("3",), "-n": ("3",)}),
    "advise": (("votes.csv",), LABELING),
    "audit": (("votes.csv",), {**LABELING, "--number": ("4",), "-n": ("4",), "--strata": ("2",), "--seed": ("1",)}),
    "certify": (("votes.csv", "--gold", "gold"), {**LABELING, **TRUST, "--error": ("0.1",), "-o": ("out.csv",)}),
    "estimate": (("votes.csv", "--gold", "gold"), {**LABELING, **TRUST}),
    "jury": (
        ("judgments.csv", "--item", "item", "--judge", "judge", "--vote", "vote"),
        {"--run": ("run",), "--price": ("0.1",), "--gold": ("gold",), "--classes": ("0,1",), "-o": ("out.csv",)},
    ),
}
FLAGS = ("--strict", "--quiet", "--verbose", "--json", "--probabilities", "--votes-only", "--ordinal", "--by-class")
TABLES = ("votes.csv", "votes.parquet", "votes.npy", "long.csv", "empty.csv", "broken.csv", "judgments.csv")
WORDS = (
    *("", " ", ",", "=", "a=", "=1", "a=x", "1e400", "-1", "0", "1", "2.5", "nan", "inf", "9" * 30, "a,b", "a,a", "id"),
    *("ä", "\x1b[2J", "\u202e", "lf_*", "[", "*", "no.csv", "..", ".", "/", "/proc/self/mem", "out.xyz", "-", "gold"),
    *("text", "a" * 300, "model.safetensors", "broken.safetensors", "x" * 5000 + ".csv", "{}", "'", '"', "\\", "::"),
    *("out.parquet", "out.npy", "out.csv.gz", "folder", "folder/x.csv", "no/x.csv", "%s", "0,1,2", "none", "None"),
)


@cache
def files() -> dict[str, bytes]:
    """What commands read, by name."""
    frame = pl.DataFrame(
        {"id": range(N), "text": [f"word{i % 5} ä" for i in range(N)], "gold": TRUTH}
        | {name: CELLS[:, j] for j, name in enumerate("abc")}
    )
    Path("made").mkdir(exist_ok=True)
    os.chdir("made")
    frame.write_csv("votes.csv")
    frame.write_parquet("votes.parquet")
    np.save("votes.npy", CELLS)
    frame.select("id", "gold").write_csv("gold.csv")
    long = frame.unpivot(index=["id", "gold"], on=["a", "b", "c"], variable_name="judge", value_name="vote")
    long.rename({"id": "item"}).with_columns(run=0).write_csv("judgments.csv")
    long.write_csv("long.csv")
    frame[:0].write_csv("empty.csv")
    hl.label_model("mv").fit(hl.Votes.from_frame(frame, lfs=["a", "b", "c"])).save("model.safetensors")
    os.chdir("..")
    return {path.name: path.read_bytes() for path in Path("made").iterdir()}


def lay_out(rng: Rng) -> None:
    """A fresh folder with the files, two of them damaged."""
    held = files()
    for path in Path().iterdir():
        if path.name != "made":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name, content in held.items():
        Path(name).write_bytes(content)
    others = list(held.values())
    Path("broken.csv").write_bytes(mutate(held["votes.csv"], rng, others))
    Path("broken.safetensors").write_bytes(mutate(held["model.safetensors"], rng, others))
    Path("folder").mkdir()


def draw(rng: Rng) -> list[str]:
    """A command line."""
    name = str(rng.choice(list(COMMANDS)))
    needed, options = COMMANDS[name]
    line = [name, *needed]
    for option in rng.choice(list(options), rng.integers(0, 4), replace=False):
        sane = options[str(option)]
        line += [str(option), sane[rng.integers(len(sane))]]
    if rng.random() < 0.3:
        line.append(str(rng.choice(FLAGS)))
    for _ in range(rng.choice([0, 1, 1, 2])):
        place = int(rng.integers(1, len(line)))
        if line[place].startswith("-") and rng.random() < 0.7:
            continue
        pool = TABLES if place == 1 and rng.random() < 0.7 else WORDS
        line[place] = pool[rng.integers(len(pool))]
    return line


def run_case(rng: Rng) -> None:
    """One command line, as a user types it."""
    lay_out(rng)
    before, line = snapshot(), draw(rng)
    code, out, said = run(line)
    after = snapshot()
    assert code in (0, 2), (line, code, said)
    assert "Traceback" not in said, (line, said)
    if code == 2 and "--json" in line:
        (error,) = [json.loads(text) for text in (out + said).splitlines() if text.startswith("{")]
        assert error["exit_code"] == 2, (line, error)
        assert after == before, (line, said, sorted(after.keys() ^ before.keys()))
    elif code == 2:
        complaints = [text for text in said.splitlines() if text.startswith("hyperlabel: ")]
        assert len(complaints) == 1, (line, said)
        assert said.rstrip("\n").splitlines()[-1] == complaints[0], (line, said)
        assert len(complaints[0]) < 3000, (line, said)
        assert after == before, (line, said, sorted(after.keys() ^ before.keys()))
    assert said.replace("\n", "").isprintable() or not any(ord(c) < 32 and c not in "\n\t" for c in said), (line, said)


def run(line: list[str]) -> tuple[Any, str, str]:
    """The exit code of a command, and what it said on standard output and error."""
    out, said, typed = io.TextIOWrapper(io.BytesIO()), io.StringIO(), sys.argv
    sys.argv = ["hyperlabel", *line]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
            main()
    except SystemExit as error:
        return error.code, _text_of(out), said.getvalue()
    except BaseException as error:
        error.add_note(f"{line}")
        raise
    finally:
        sys.argv = typed
    return 0, _text_of(out), said.getvalue()


def _text_of(out: io.TextIOWrapper) -> str:
    out.flush()
    held: Any = out.buffer
    return bytes(held.getvalue()).decode(errors="replace")


def snapshot() -> dict[str, bytes | None]:
    """What stands in the folder."""
    return {str(path): path.read_bytes() if path.is_file() else None for path in Path().rglob("*")}
