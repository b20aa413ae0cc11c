"""LFs that return scores, next to LFs that vote."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.errors import ParameterError
from hyperlabel.lf.define import LabelingFunction, LFError
from hyperlabel.lf.run import Answer, place
from hyperlabel.shown import show
from hyperlabel.votes import Votes
from hyperlabel.votes.classes import ABSTAIN


def read_answer(lf: LabelingFunction, answer: Answer) -> NDArray[np.float64]:
    """The scores of an LF, from 0 for its least score to 1 for its largest; NaN where it abstains. -> (n,)."""
    assert lf.scores is not None
    low, high = lf.scores
    scores = []
    for code, value in enumerate(answer.values):
        if value == ABSTAIN and low > ABSTAIN:
            scores.append(np.nan)
        elif isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high:
            scores.append((value - low) / (high - low))
        else:
            row = int((answer.codes == code).argmax())
            raise LFError(
                f"{place(lf.name, row)} is {show(value)}; expected a score from {low:g} to {high:g}, or None",
                lf.name,
                row,
            )
    return np.asarray(np.array([*scores, np.nan])[answer.codes])


def score_votes(
    lfs: Sequence[LabelingFunction],
    answers: Sequence[Answer],
    classes: Sequence[Hashable] | None,
    like: Any,
) -> Votes:
    """The votes of LFs that return scores, cut into levels."""
    if classes is None:
        raise ParameterError(
            f"LF '{lfs[0].name}' returns scores, and no LF votes for a class; state the classes, from low scores to "
            "high ones, with classes"
        )
    scores = np.stack([read_answer(lf, answer) for lf, answer in zip(lfs, answers, strict=True)], 1)
    names = [lf.name for lf in lfs]
    return Votes.from_scores(scores, classes=classes, lfs=names, scale=(0.0, 1.0), like=like)
