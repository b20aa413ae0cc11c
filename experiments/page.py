"""The page of results: docs/benchmarks.md and its figures, from records alone.

Flows in: a folder of JSON lines. Flows out: markdown with the tables of each experiment, pictures beside it. The prose
says what was done and where it differs from the paper; every figure comes from the records.
"""

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.claims import claims_section
from experiments.overview import overview
from experiments.paper import SETS
from experiments.store import Record, read_records
from hyperlabel._core import replacing


@dataclass(frozen=True)
class Section:
    """One experiment on the page."""

    name: str  # its module, and its file of records
    title: str  # its heading
    text: str  # what was done, and where it differs from the paper
    commands: tuple[str, ...]  # the subcommands that made the records


INTRODUCTION = """\
# Benchmarks

Label models on 44 public sets of real votes: 14 of labeling functions (the WRENCH benchmark, which the paper uses), 12
of people, 8 of dense panels, 10 of other labeling functions. First what to expect of the default; then the claims of R.
Wu, S.-E. Chen, J. Zhang and X. Chu, "Learning Hyper Label Model for Programmatic Weak Supervision", ICLR 2023, each
with a verdict; then every experiment of the paper, rerun, beside its own numbers.
"""

CLAIMS = """\
## What the paper claims, and what we find

`hlm` is the paper's model as this project trained it; its [model card](hlm-card.md) lists every difference. Verdicts
come from the records by fixed rules (`experiments/claims.py`): less than a point apart is a tie, and a verdict is
*open* where something that it needs was not run as in the paper.
"""

MAKING = """\
## How this page is made

`python -m experiments page` writes it from the records in
[experiments/results/bench](../experiments/results/bench), one JSON line per run with its score, seconds, versions and
machine. Each section names the commands that made its records; `DATA` is a folder of npz files with votes `L` and truth
`y`, or of WRENCH folders, `PAPER` the names of the paper's sets, `MODELS` those of all label models but `ebcc`, with
`hlm-text` (the paper's network by the recipe of its text, [model card](hlm-card.md)) and `released`. A command that is
interrupted continues where it stopped; with `--limit` a cell that takes more processor time is stopped, and the page
says so.

`released` stands in every table of quality: the authors' weights with `as_released=True`, which gives the labels of
their package, gold included, and their way to stretch probabilities. To make it:

```
pip install --no-deps --target FOLDER hyperlm==0.0.5
python -m experiments released --package FOLDER
```
"""

PROTOCOL = """\
## How scores are made, and where this differs from the paper

As in the paper: models learn from the votes that they are scored on; the splits of a set form one matrix; items on
which every LF abstains and LFs that never vote are dropped; the score is accuracy, or F1 of class 1, over the items
whose truth is known, in percent; a label model that must be given a class balance gets the better of the uniform one
and majority vote's, judged by the truth.

Different from the paper:

- **Rows.** The authors' loader merges the three splits by item id, so that rows of later splits overwrite rows of
  earlier ones that have the same id, and the published scores are those of the remaining rows. Here every row counts.
  `aggregate --as-released` scores the rows that their loader keeps.
- **Sets.** {sets}
  The votes of `cdr` are those of another release with fewer items; of `agnews` 7,600 of 120,000 rows are available,
  of `spouse` the validation and test rows, which have truth; the training votes of `chemprot` were rebuilt with the
  published LFs.
- **Models.** Label models run with this package's defaults, which differ from the reference implementations where
  [label models](label-models.md) says so. Constants of these defaults were chosen with the truth of these sets in
  view, which flatters them. `--as-released` sets models to do what the reference implementations do; why some scores
  still are not the paper's is explained there, too.
- **Error bars.** They are over seeds, for the models whose result depends on the seed. The paper's error bar of `hlm`
  is over repeated training; the table of training runs has ours.
- **Hardware.** The paper used a GPU where a method could; everything here runs on the CPU.
"""

SECTIONS = (
    Section(
        "aggregate",
        "Unsupervised label models (Table 2)",
        "Every label model that needs no gold, on every set. The *ceiling* is the best score that any function of an "
        "item's own votes can reach, with the truth known: the commonest class of each pattern, or the best F1 over "
        "all ways to call patterns positive. Where patterns hardly repeat, as with crowds, it is out of reach and "
        "means little. People train on the probabilities, so these are judged too: Brier score (squared distance "
        "from the truth, 0 to 2), log loss (natural logarithm; a class that is ruled out counts as one in a million) "
        "and calibration error (how far confidence is from the share of right labels, mean over ten bins). `fs` and "
        "`metal` must be given a class balance and get the better of two; the other models keep their own, and the "
        "table by class balance shows what they would have scored with a given one, with the first seed. A model has "
        "no average where a cell was stopped; `ebcc`, by far the slowest, runs on the paper's sets alone.",
        (
            "python -m experiments aggregate --data DATA --seeds 5 --models MODELS --limit 60",
            "python -m experiments aggregate --data DATA --seeds 5 --as-released --limit 60",
            "python -m experiments aggregate --data DATA --seeds 5 --models ebcc --sets PAPER --limit 60",
        ),
    ),
    Section(
        "runs",
        "Training runs (the error bar of Table 2)",
        "The paper's model trained ten times by each recipe; [how](../training/README.md#hlm). `hlm-paper` is the "
        "recipe of the paper's text: Adam with amsgrad at a constant rate of 0.001, 50,000 steps or until the loss has "
        "not fallen for 10,000. `hlm-decay`, from which the bundled `hlm` is, has a decaying rate, `hlm-released` "
        "does what the authors' code does, and `hlm-released-log`, with and without decay, draws few items more often. "
        "The run with the highest accuracy on D', averaged over all iterations, stands for its recipe at its last one, "
        "whatever it scores.",
        (
            "hyperlabel train --model hlm --recipe paper --runs 10 --out training/hlm-paper",
            "hyperlabel train --model hlm --recipe paper --schedule cosine --iterations 4000 --runs 10 "
            "--out training/hlm-decay",
            "hyperlabel train --model hlm --recipe released --runs 10 --out training/hlm-released",
            "hyperlabel train --model hlm --recipe released-log --runs 10 --out training/hlm-released-log",
            "hyperlabel train --model hlm --recipe released-log --schedule cosine --iterations 4000 --runs 10 "
            "--out training/hlm-released-log-decay",
            "python -m experiments runs --data DATA --runs training/hlm-paper (and the other four)",
        ),
    ),
    Section(
        "runtime",
        "Running time (Tables 3 and 5)",
        "From an array of votes to probabilities, learning included, on the CPU, in one process, one model after the "
        "other: median of the timed runs, after one that warms up. The paper's seconds were taken on another machine "
        "and are shown for orientation only; ratios within a table can be compared. Synthetic votes have two classes "
        "and independent LFs; a line that ends early was cut. `hyperlm` is the authors' package, `snorkel` the "
        "reference implementation of MeTaL, `crowd-kit` one of Dawid-Skene: they are timed on the paper's sets. Ratios "
        "are geometric means over sets unless another mean is named. `hlm3` is not among the records: it takes 1.4 "
        "times the time of `hlm2` ([model card](model-card.md)).",
        (
            "python -m experiments runtime --data DATA --seeds 3 --seconds 1 --gigabytes 4",
            "python -m experiments runtime --data DATA --seeds 1 --seconds 1 --sets PAPER "
            "--models hyperlm,snorkel,crowd-kit",
        ),
    ),
    Section(
        "semi",
        "Label models that learn from gold (Figure 2)",
        "Gold is drawn: the true classes of some items, at least two of each class and at most 70 % of the items. "
        "Models learn from all votes and this gold, and the other items are scored; `hlm` without gold, on the same "
        "items, is the line to be above. `released` learns from gold as the authors' package does, label for label. As "
        "in the paper, where `amcl` finds no solution or needs too much memory, a random forest takes its place. The "
        "paper's forests take half a minute of processor time per draw (three were timed), hours for the figure: "
        "the last two commands were not run to their end, and the verdicts that need them are open. `rf, small` and "
        "`amcl, small`, with one forest of 50 trees, were run on all draws, `amcl, small` for two seconds at most.",
        (
            "python -m experiments semi --data DATA --models hlm3,hlm,ds --seeds 5 --sets PAPER",
            "python -m experiments semi --data DATA --models released --seeds 2 --sets PAPER",
            "python -m experiments semi --data DATA --models rf --seeds 5 --sets PAPER --trees 50 --no-search",
            "python -m experiments semi --data DATA --models amcl --seeds 5 --sets PAPER --trees 50 --no-search "
            "--limit 2",
            "python -m experiments semi --data DATA --models rf --seeds 5 --sets PAPER",
            "python -m experiments semi --data DATA --models amcl --seeds 5 --sets PAPER --limit 3600",
        ),
    ),
    Section(
        "ablation",
        "What each part of the training is worth (Table 4)",
        "The hyper label model trained from scratch with one part replaced by a naive one, every variant with the same "
        "number of steps and matrices. Different from the paper: a far smaller budget, for all variants alike, and the "
        "two architectures each with a row of its own; on the paper's sets. The second command has the recipe of the "
        "bundled `hlm`, whose rate decays over 4,000 steps (the runs of `hlm` itself are those of its training), and "
        "in the place of data generation the generator of the authors' code. A run takes some ten minutes of "
        "processor time, with that generator over an hour; it was not run yet. Another assumption about LFs, a "
        "function of the user's, is trained and compared in [assumption.md](../experiments/results/assumption.md).",
        (
            "python -m experiments ablation --data DATA --seeds 5 --iterations 400 --batch 8 --sets PAPER "
            "--models hlm,independent,mlp,deepset,every",
            "python -m experiments ablation --data DATA --seeds 5 --decaying --sets PAPER "
            "--models hlm,wrench,mlp,deepset,every",
        ),
    ),
    Section(
        "theory",
        "How close the network is to the optimum it approximates",
        "The paper's analysis, put to the test; it reports no such measurements. First, the distance of the network "
        "from the exact optimum h*(X), on votes so few that it can be computed; [the optimum at any size]"
        "(../experiments/results/optimum.md) goes on to larger ones. Second, how likely random votes and "
        "labels are valid, against the formula of the paper's appendix. Third, whether real votes have any valid "
        "labels at all, without which the optimum is undefined.",
        ("python -m experiments theory --data DATA --seeds 2 --seconds 5",),
    ),
    Section(
        "endmodel",
        "End models trained on the labels (Table 6)",
        "A classifier trained on the probabilities of each label model and scored on the true classes of the test "
        "split. As in the paper, a quarter of the other items, with generated labels, chooses the hyper-parameters. "
        "Different from the paper: texts are encoded by TF-IDF, since no pre-trained transformer comes with this "
        "package; `--text-model` takes one. `TEXTS` is a folder of sets with texts beside their votes, or with "
        "features `X`. The split is the benchmark's where the votes are row by row those of its set (census, spouse), "
        "else a quarter of the items, drawn at random (trec, agnews). Census has numbers, and an MLP with the small "
        "search; texts have a linear model with four strengths of regularization.\n\n"
        "**What soft labels teach where classes are unbalanced.** An end model that learns probabilities answers with "
        "their mean over items that look alike. Calibrated probabilities of a rare class are low, few of these means "
        "are above one half, and an end model cut at one half finds too few positives: on census `hlm3` has as good "
        "labels as any, and its end model loses points to them. It ranks items well, so two things mend it. One is "
        "to cut for the best expected F1 (the tables below), which needs probabilities that are right: they are on "
        "census, and it gains there; on sms they are far too high, and it does harm. The other is to learn the labels "
        "instead (`hlm3:hard`), which gains less. The raw probabilities of `hlm`, all close to one half, are poor "
        "teachers; learn its labels (`hlm:hard`).",
        (
            "python -m experiments endmodel --data DATA --seeds 5 "
            "--models hlm,released,hlm2,hlm3,mv,bv,metal,cll,truth",
            "python -m experiments endmodel --data TEXTS --seeds 3 --sets trec,spouse,agnews "
            "--models hlm,hlm3,mv,metal,cll,truth",
            "python -m experiments endmodel --data TEXTS --seeds 3 --search small --sets census "
            "--models hlm,hlm3,mv,metal,cll,truth",
            "the same with --models hlm3:hard,hlm:hard",
        ),
    ),
)


def write_page(results: Path, docs: Path) -> Path:
    """Write benchmarks.md and the figures it shows to a folder, from the records of another.

    A section without records says so.
    """
    parts = [INTRODUCTION, overview(results), f"{CLAIMS}\n{claims_section(results)}"]
    parts += [PROTOCOL.format(sets=_about_sets(results)), MAKING]
    parts += [_section(section, results / f"{section.name}.jsonl", docs) for section in SECTIONS]
    path = docs / "benchmarks.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as part:
        part.write_text("\n".join(parts), encoding="utf-8")
    return path


def _section(section: Section, path: Path, docs: Path) -> str:
    commands = "\n".join(section.commands)
    head = f"## {section.title}\n\n{section.text}\n\n```\n{commands}\n```\n"
    if not path.exists():
        return f"{head}\n*Not run yet: there are no records of this experiment.*\n"
    records = read_records(path)
    module = importlib.import_module(f"experiments.{section.name}")
    pictures = [_picture(picture, docs) for picture in module.draw(records, docs / "benchmarks")]
    return "\n\n".join([head + "\n" + _measured_on(records), module.tables(records), *pictures]) + "\n"


def _picture(path: Path, docs: Path) -> str:
    return f"![{path.stem.replace('_', ' ')}]({path.relative_to(docs).as_posix()})"


def _measured_on(records: Sequence[Record]) -> str:
    """On what the records were made."""
    machines = dict.fromkeys(str(r["machine"]) for r in records)
    software: dict[str, list[str]] = {}
    for r in records:
        for package, version in r["versions"].items():
            found = software.setdefault(package, [])
            found.extend([version] if version not in found else [])
    packages = ", ".join(f"{package} {' and '.join(found)}" for package, found in software.items())
    return f"{len(records):,} records, made on: {'; '.join(machines)}. {packages}."


def _about_sets(results: Path) -> str:
    """How many sets there are, and how many of them are the paper's."""
    path = results / "aggregate.jsonl"
    names = {r["dataset"] for r in read_records(path)} if path.exists() else set()
    of_paper = sorted(names & set(SETS))
    return (
        f"Of the paper's {len(SETS)} sets {len(of_paper)} are available ({', '.join(of_paper)});\n"
        f"  {len(names - set(SETS))} others, which the paper did not use, are added."
    )
