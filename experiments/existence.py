"""Whether any label vector is valid for given votes: counting, a certificate, or an integer program.

Signs of one class against the rest flow in, a verdict comes out. The optimum h*(X) is the mean of all valid label
vectors, so it is undefined where there is none.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperlabel.errors import require
from hyperlabel.training import is_valid, quorum

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SECONDS = 120.0
"""What the solver may take."""


class Verdict(NamedTuple):
    """`yes`, `no` or `unknown`, and what it rests on."""

    answer: str
    reason: str


def exists_valid(signs: NDArray[np.float32], limit: float = SECONDS) -> Verdict:
    """Whether any label vector is valid for binary votes.

    Counting comes first: an LF that never votes for a class is not better than random on it, whatever the labels. Then
    the majority vote is tried. What is left is an integer program, solved exactly or given up after a time; labels that
    the solver finds are checked.

    Args:
        signs: (n, m) votes as signs.
        limit: Seconds for the solver.

    >>> exists_valid(np.array([[1, 1, 0], [-1, -1, 1]], np.float32)).answer
    'yes'
    >>> exists_valid(np.array([[1, 1, 0], [0, 0, -1]], np.float32))
    Verdict(answer='no', reason='too few LFs vote against the class')
    """
    needed = quorum(signs.shape[1], "majority")
    for voted, word in ((signs > 0, "for"), (signs < 0, "against")):
        if voted.any(0).sum() < needed:
            return Verdict("no", f"too few LFs vote {word} the class")
    if is_valid(signs, (signs.sum(1, keepdims=True) > 0).astype(np.float32))[0]:
        return Verdict("yes", "the majority vote is valid")
    return solve_existence(signs, limit)


def solve_existence(signs: NDArray[np.float32], limit: float) -> Verdict:
    """Decide by an integer program whether a label vector is valid. (n, m) signs.

    The unknowns are u, how many of each pattern's items are of the class, and for each LF whether it counts as better
    than random on the class (its margin over these items is at least 1) and on the rest.
    """
    require("scipy", extra="sklearn")
    from scipy.optimize import Bounds, LinearConstraint, milp

    rows, place, counts = np.unique(signs, axis=0, return_inverse=True, return_counts=True)
    votes_for, votes_against = (signs > 0).sum(0), (signs < 0).sum(0)  # (m,)
    program = LinearConstraint(*_program(rows, votes_for, votes_against, quorum(signs.shape[1], "majority")))
    largest = np.concatenate([counts, votes_for > 0, votes_against > 0])
    size = len(largest)
    found = milp(
        np.zeros(size), constraints=program, bounds=Bounds(0, largest), integrality=np.ones(size, np.int64),
        options={"time_limit": limit},
    )  # fmt: skip
    if found.x is not None and _is_solution(signs, place.ravel(), np.rint(found.x[: len(counts)])):
        return Verdict("yes", "the solver found valid labels")
    if found.status == 2:
        return Verdict("no", "the solver proved that no labels are valid")
    return Verdict("unknown", f"the solver did not finish in {limit:.0f} s")


def _program(rows: NDArray[np.float32], votes_for: Ints, votes_against: Ints, needed: int) -> tuple[Any, Floats, float]:
    """Matrix and bounds over (u, better on the class, better on the rest).

    An LF's margin on the class is v = u @ rows, never below -against. On the rest it is v - (for - against). So `better
    on the class` implies v >= 1 as v >= -against + (1 + against) * better, and likewise on the rest.
    """
    import scipy.sparse as sparse

    count = sparse.csr_array(np.ones((1, rows.shape[1])))
    margins = sparse.csr_array(rows.T.astype(np.float64))
    matrix: Any = sparse.block_array(
        [
            [margins, -sparse.diags_array(1.0 + votes_against), None],
            [margins, None, -sparse.diags_array(1.0 + votes_for)],
            [None, count, None],
            [None, None, count],
        ],
        format="csc",
    )
    least = np.concatenate([-votes_against, -votes_against, [needed, needed]]).astype(np.float64)
    return matrix, least, np.inf


def _is_solution(signs: NDArray[np.float32], place: NDArray[np.intp], positives: Floats) -> bool:
    """Check labels that give so many items of each pattern to the class."""
    order = np.argsort(place, kind="stable")
    starts = np.searchsorted(place[order], np.arange(len(positives)))
    labels = np.zeros((len(signs), 1), np.float32)
    labels[order, 0] = np.arange(len(signs)) - starts[place[order]] < positives[place[order]]
    return bool(is_valid(signs, labels)[0])
