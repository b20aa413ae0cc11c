"""Drift: LFs that vote otherwise than in the set that a model was fitted on.

Three shares of each LF are compared with those in the state: the items that it votes on, its votes for each class, and
how far the other votes on the same items agree with it. Each comparison is a likelihood-ratio test of two shares;
agreement, a mean of numbers from 0 to 1, counts as one as well, which can only make it look less surprising.
"""

from math import asin, erfc, sqrt
from typing import Any, NamedTuple

import numpy as np

from hyperlabel._core import Float64
from hyperlabel.data import Patterns, Votes, find_other_lfs, is_frame, to_votes
from hyperlabel.errors import ParameterError
from hyperlabel.lf._analysis import ResultTable
from hyperlabel.models import LabelModel, VoteProfile, count_votes

LEVEL = 0.001
"""A change is notable only if no change at all would show one as large in fewer than this share of sets."""
_LEAST_EFFECT = 0.2  # Cohen's h of a small effect: large sets make any change surprising
_MOST_SENTENCES = 10


class _Change(NamedTuple):
    lf: str
    share_of: str  # items, votes for a class, agreement; missing or new for the LF itself
    before: float
    share: float
    p: float  # of a change as large or larger if nothing had changed, for all comparisons together


def drift(model: LabelModel, votes: object) -> ResultTable:
    """Compare how LFs vote with the set that a fitted model learned from, most surprising changes first.

    Args:
        model: A fitted model.
        votes: Whatever `Votes` takes, or `Patterns`. LFs of the model may be missing and others may be new, if they
            have names.

    Returns:
        Columns: lf; share_of (`items`, `votes for <class>`, `agreement` with the other votes on the same items;
        `missing` or `new` for an LF that only one side has); before and share, in the state and now; change; p, how
        surprising: the probability of a change as large if nothing had changed, corrected for the number of
        comparisons; notable, whether it is surprising and not small. Of the classes of an LF, only the one that
        changed most is listed.

    >>> from hyperlabel import HyperLabelModel, Votes
    >>> rng = np.random.default_rng(0)
    >>> usual = Votes(rng.integers(0, 2, (500, 3)), lfs=["links", "offers", "short"])
    >>> silent = usual.to_numpy()
    >>> silent[:, 1] = -1
    >>> changes = drift(HyperLabelModel().fit(usual), Votes(silent, lfs=usual.lf_names))
    >>> next(changes.rows())["lf"], next(changes.rows())["share_of"], changes["change"][0].tolist()
    ('offers', 'items', -1.0)
    """
    names, new = model.lf_names_, []
    patterns = votes if isinstance(votes, Patterns) else Patterns.from_votes(_read(model, votes))
    if is_frame(votes) and names is not None:
        new = find_other_lfs(votes, names, tuple(model.classes_.tolist()), model.abstain_)
    missing: tuple[str, ...] = ()
    if names is not None and patterns.lf_names is not None:
        present, expected = set(patterns.lf_names), set(names)
        missing = tuple(name for name in names if name not in present)
        new += [name for name in patterns.lf_names if name not in expected and name not in new]
        patterns = patterns.add_lfs(names).keep_lfs(names)
    return compare_profiles(model, VoteProfile.of_sums(count_votes(model.read(patterns))), missing, new)


def _read(model: LabelModel, votes: object) -> Votes:
    """Read votes of the LFs that are there, in the classes of the model."""
    names = model.lf_names_
    if names is not None and is_frame(votes):
        present = [name for name in names if name in {str(column) for column in votes.columns}]  # type: ignore[attr-defined]
        return to_votes(votes, lfs=present, abstain=model.abstain_, classes=model.classes_.tolist())
    return to_votes(votes, classes=model.classes_.tolist())


def compare_profiles(
    model: LabelModel, profile: VoteProfile, missing: tuple[str, ...] = (), new: list[str] | None = None
) -> ResultTable:
    """Compare the profile of votes with that of the state; see `drift`."""
    old = model.profile_
    if old is None:
        raise ParameterError("this model was saved by an older version, without shares of its LFs; fit it again")
    names = model.lf_names_ or tuple(f"lf{j}" for j in range(model.n_features_in_))
    compared = [(j, name) for j, name in enumerate(names) if name not in missing]
    changes = [change for j, name in compared for change in _compare_lf(model, old, profile, j, name)]
    n = max(1, int((old.votes.any(0) | profile.votes.any(0)).sum() + 2) * len(compared))  # comparisons
    changes = [change._replace(p=min(1.0, change.p * n)) for change in changes]
    changes += [_Change(name, "missing", _coverage(old)[names.index(name)], 0.0, 0.0) for name in missing]
    changes += [_Change(name, "new", 0.0, np.nan, 0.0) for name in new or ()]
    changes.sort(key=lambda change: (change.p, -abs(change.share - change.before)))
    columns = {name: np.array([getattr(change, name) for change in changes]) for name in _Change._fields}
    p = columns.pop("p")
    change = columns["share"] - columns["before"]
    return ResultTable({**columns, "change": change, "p": p, "notable": np.array([*map(_is_notable, changes)], bool)})


def _compare_lf(model: LabelModel, old: VoteProfile, now: VoteProfile, j: int, name: str) -> list[_Change]:
    """Compare the shares of one LF; of its classes the one that changed most."""
    before, after = old.votes[j], now.votes[j]
    changes = [_compare(name, "items", before.sum(), old.n_items, after.sum(), now.n_items)]
    votes = [*model.classes_.tolist(), *(() if model.outcomes_ is None else model.outcomes_.names)]
    if before.any() and after.any():
        each = [
            _compare(name, f"votes for {votes[c]}", before[c], before.sum(), after[c], after.sum())
            for c in np.flatnonzero(before + after)
        ]
        changes.append(min(each, key=lambda change: (change.p, -abs(change.share - change.before))))
    if old.shared[j] and now.shared[j]:
        changes.append(_compare(name, "agreement", old.agreed[j], old.shared[j], now.agreed[j], now.shared[j]))
    return changes


def _compare(lf: str, share_of: str, a: float, n: float, b: float, m: float) -> _Change:
    """Compare a of n with b of m by the likelihood ratio, which is chi-square with one degree of freedom.

    Counts are moved by half an item towards what is expected, so that a few items are not taken for many.
    """
    pooled = (a + b) / (n + m)
    moved = max(0.0, abs(b - m * pooled) - 0.5) * np.sign(b - m * pooled)
    expected = np.array([n * pooled, n - n * pooled, m * pooled, m - m * pooled])
    counts = expected + moved * np.array([-1, 1, 1, -1])
    some = (counts > 0) & (expected > 0)
    gain = float((counts[some] * np.log(counts[some] / expected[some])).sum())
    return _Change(lf, share_of, float(a / n), float(b / m), erfc(sqrt(max(0.0, gain))))


def _is_notable(change: _Change) -> bool:
    if change.share_of in ("missing", "new"):
        return True
    effect = abs(2 * asin(sqrt(min(1.0, change.share))) - 2 * asin(sqrt(min(1.0, change.before))))
    return change.p < LEVEL and (effect >= _LEAST_EFFECT or change.share == 0)


def _coverage(profile: VoteProfile) -> Float64:
    return np.asarray(profile.votes.sum(1) / profile.n_items)


def describe_drift(changes: ResultTable) -> list[str]:
    """Word the notable changes, one sentence each; of many, the first ones."""
    rows = [row for row in changes.rows() if row["notable"]]
    shown = [_word(row) for row in rows[:_MOST_SENTENCES]]
    more = len(rows) - len(shown)
    return [*shown, f"{more:,} more changes since fit; hyperlabel.drift lists all"] if more else shown


def _word(row: dict[str, Any]) -> str:
    lf, share, before = row["lf"], f"{row['share']:.1%}", f"{row['before']:.1%}"
    if row["share_of"] == "missing":
        return f"LF {lf!r} of the model is missing and abstains; it voted on {before} of the items in fit"
    if row["share_of"] == "new":
        return f"column {lf!r} votes for the classes, but the model was not fitted on it; fit again to use it"
    chance = f"(was {before} in fit, p = {row['p']:.0e})"
    if row["share_of"] == "items":
        return f"LF {lf!r} votes on {share} of the items {chance}"
    if row["share_of"] == "agreement":
        return f"LF {lf!r} agrees with {share} of the other votes {chance}"
    return f"LF {lf!r} gives {share} of its {row['share_of']} {chance}"
