"""Does following the advice of `hl.advise` help? Every kind of it, followed on real sets.

    pip download vaderSentiment==0.5 --no-deps --no-binary :all: -d FOLDER
    python -m experiments advice --data DATA --vader FOLDER/vaderSentiment-0.5.zip --out experiments/results/advice.md

A gain is the points by which a set's score (accuracy, or F1 where the set is scored by that) rises when the advice is
followed. Where gold is used, items with gold are not scored. Three situations are made, since sets come without them:
six copies of one LF; a class without votes; items that lost the votes of an LF. There the advice undoes what was made.
Items without votes are also labeled by their texts, on the sets of `experiments texts`, where every item is scored and
one without a label is wrong. For classes and items without votes the gain is given for each tenth of the items that it
is about.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

import hyperlabel as hl
from experiments.datasets import DataSet, load_datasets
from experiments.markdown import table
from experiments.texts import TextSet, read_sets
from hyperlabel import trust
from hyperlabel._core import score
from hyperlabel.trust import Advice, AdviceContext, Sample, most_wrong

SLOW = ("crowd_adult",)  # half a minute for each of many passes, and truth for 3 % of its items
GOLD, DRAWS = 100, 3
HURT = 0.1  # points by which a score must fall to count
COPIES = 6
LABELS = 20
ALIKE = 0.7

Ints = NDArray[np.int64]
S = TypeVar("S", DataSet, TextSet)


@dataclass
class Record:
    """Gains by set, of one kind of advice."""

    kind: str
    what: str
    gains: dict[str, float] = field(default_factory=dict)


def model(each: DataSet, **params: Any) -> hl.HyperLabelModel:
    """The default model with a set's number of classes."""
    return hl.HyperLabelModel(n_classes=each.k, **params)


def look(each: DataSet, votes: Ints, find: Callable[[AdviceContext], Advice | None]) -> Advice | None:
    """The advice that one finder gives."""
    metric = each.metric if find is trust.find_balance else "accuracy"
    return find(AdviceContext.read(votes, None, model(each), metric=metric))


def points(each: DataSet, labels: NDArray[np.integer], without: Ints | None = None) -> float:
    """The score of labels, over items that are not left out."""
    truth = each.truth.copy()
    if without is not None:
        truth[without] = -1
    return 100 * score(each.metric, truth, np.asarray(labels), each.k)


def gold_of(each: DataSet, places: Ints) -> Ints:
    """The truth of some items, -1 elsewhere."""
    gold = np.full(len(each.truth), -1)
    gold[places] = each.truth[places]
    return gold


def drop(votes: Ints, advice: Advice) -> Ints:
    """The votes without the LFs that advice names."""
    gone = [int(name.removeprefix("lf")) for name in advice.examples]
    return np.delete(votes, gone, axis=1)


def follow_balance(each: DataSet) -> float | None:
    """State the true class balance, with labels for F1 where a set is scored by that."""
    if look(each, each.votes, trust.find_balance) is None:
        return None
    shares = np.bincount(each.truth[each.truth >= 0], minlength=each.k) / (each.truth >= 0).sum()
    stated = model(each, class_balance=shares.tolist()).predict(each.votes, each.metric)
    return points(each, stated) - points(each, model(each).predict(each.votes))


def follow_label(each: DataSet, like: str) -> float | None:
    """Label the items suggested, on sets of rules or of people."""
    advice = look(each, each.votes, trust.find_labels_worth_giving)
    if advice is None or advice.like != like or len(each.truth) < 100 or (each.truth < 0).any():
        return None
    return _gain_of_gold(each, np.array(advice.examples))


def follow_own_copies(each: DataSet) -> float | None:
    """Drop the copies that a set has."""
    advice = look(each, each.votes, trust.find_copies)
    if advice is None:
        return None
    return _gain_of_dropping(each, each.votes, advice)


def follow_copies(each: DataSet) -> float | None:
    """Drop copies of an LF that is less precise than three quarters of those that often vote."""
    cast = (each.votes >= 0) & (each.truth >= 0)[:, None]
    often = np.flatnonzero(cast.sum(0) >= 0.02 * len(each.truth))
    precision = ((each.votes == each.truth[:, None]) & cast).sum(0)[often] / cast.sum(0)[often]
    if not len(often):
        return None
    poor = often[np.argsort(precision)[len(often) // 4]]
    votes = np.concatenate([each.votes, np.repeat(each.votes[:, [poor]], COPIES, axis=1)], axis=1)
    advice = look(each, votes, trust.find_copies)
    return None if advice is None else _gain_of_dropping(each, votes, advice)


def _gain_of_dropping(each: DataSet, votes: Ints, advice: Advice) -> float:
    after = model(each).predict(drop(votes, advice))
    return points(each, after) - points(each, model(each).predict(votes))


def follow_idle(each: DataSet) -> float | None:
    """Drop LFs that decide nothing."""
    advice = look(each, each.votes, trust.find_idle)
    return None if advice is None else _gain_of_dropping(each, each.votes, advice)


def follow_unvoted(each: DataSet) -> float | None:
    """Vote for a class that nobody voted for: of those that 5 % of the items have, the one with the fewest votes."""
    shares = np.bincount(each.truth[each.truth >= 0], minlength=each.k) / (each.truth >= 0).sum()
    cast = np.array([(each.votes == c).sum() for c in range(each.k)])
    common = np.flatnonzero((shares >= 0.05) & (cast > 0))
    if len(common) < 2:
        return None
    silent = common[np.argmin(cast[common])]
    votes = np.where(each.votes == silent, -1, each.votes)
    if look(each, votes, trust.find_unvoted) is None:
        return None
    gain = points(each, model(each).predict(each.votes)) - points(each, model(each).predict(votes))
    return float(gain / (10 * shares[silent]))


def follow_uncovered(each: TextSet) -> float | None:
    """Label items that nobody votes on by their texts."""
    own = hl.HyperLabelModel(n_classes=each.k)
    if trust.find_uncovered(AdviceContext.read(each.votes, None, own)) is None:
        return None
    before, after = own.predict(each.votes), hl.fill_labels(own, each.votes, each.texts).best
    gain = 100 * (score(each.metric, each.truth, after, each.k) - score(each.metric, each.truth, before, each.k))
    return float(gain / (10 * (~each.voted).mean()))


def follow_uncovered_by_votes(each: DataSet) -> float | None:
    """Vote on items that nobody voted on: the LF that is most often the only one to vote comes back."""
    alone = ((each.votes >= 0) & ((each.votes >= 0).sum(1) == 1)[:, None]).sum(0)
    votes = each.votes.copy()
    votes[:, np.argmax(alone)] = -1
    if look(each, votes, trust.find_uncovered) is None:
        return None
    gain = points(each, model(each).predict(each.votes)) - points(each, model(each).predict(votes))
    return float(gain / (10 * (votes < 0).all(1).mean()))


def try_hurting(each: DataSet) -> float | None:
    """Drop LFs that random gold shows to be worse than chance (exact, 95 % sure), beside learning from that gold."""
    known = np.flatnonzero(each.truth >= 0)
    gains = []
    for seed in range(DRAWS if len(known) >= 3 * GOLD else 0):
        places = np.random.default_rng(seed).choice(known, GOLD, replace=False)
        gold, worse = gold_of(each, places), find_worse(each, places)
        if 0 < len(worse) < each.votes.shape[1]:
            after = model(each).fit_predict(np.delete(each.votes, worse, axis=1), gold)
            gains.append(points(each, after, places) - points(each, model(each).fit_predict(each.votes, gold), places))
    return float(np.mean(gains)) if gains else None


def find_worse(each: DataSet, places: Ints) -> list[int]:
    """LFs that are worse than chance by gold, of which they vote on five items or more."""
    cast, own, truth = (each.votes >= 0).sum(0), each.votes[places], each.truth[places, None]
    known, wrong = (own >= 0).sum(0), ((own >= 0) & (own != truth)).sum(0)
    right = [Sample(*map(int, counts)) for counts in zip(cast, known, known - wrong, strict=True)]
    least = [sample.items - most_wrong([sample], 0.05) for sample in right]  # wrong votes, from a bound on right ones
    return [j for j in np.flatnonzero(known >= 5).tolist() if least[j] > (1 - 1 / each.k) * cast[j]]


def try_doubted(each: DataSet) -> float | None:
    """Drop LFs that the model holds to be worse than chance, where others vote too."""
    analysis = hl.LFAnalysis(each.votes, model=model(each))
    patterns = analysis.patterns
    weights = analysis.overlapping[patterns.row] * patterns.counts[patterns.row]
    right = np.bincount(patterns.lf, weights * analysis.posterior[patterns.row, patterns.vote], analysis.n_lfs)
    shared = np.bincount(patterns.lf, weights, analysis.n_lfs)
    return _gain_without(each, np.flatnonzero((right < shared / each.k) & (shared >= 10)))


def try_alike(each: DataSet) -> float | None:
    """Drop LFs that vote much as an earlier one does."""
    analysis = hl.LFAnalysis(each.votes, model=model(each))
    alike = np.triu((analysis.similarity >= ALIKE) & (analysis.agreements >= 5), 1)
    return _gain_without(each, np.flatnonzero(alike.any(0)))


def _gain_without(each: DataSet, gone: NDArray[np.intp]) -> float | None:
    if not 0 < len(gone) < each.votes.shape[1]:
        return None
    after = model(each).predict(np.delete(each.votes, gone, axis=1))
    return points(each, after) - points(each, model(each).predict(each.votes))


def try_alone(each: DataSet) -> float | None:
    """Label items on which an LF votes alone, of LFs that mostly do so and on 3 % of the items or more."""
    cast = each.votes >= 0
    single = cast & (cast.sum(1) == 1)[:, None]
    lfs = np.flatnonzero((single.sum(0) > cast.sum(0) / 2) & (single.sum(0) >= 0.03 * len(cast)))
    if not len(lfs) or (each.truth < 0).any():
        return None
    rng, most = np.random.default_rng(0), max(3, LABELS // len(lfs))
    places = np.concatenate([rng.permutation(np.flatnonzero(single[:, j]))[:most] for j in lfs])[:LABELS]
    return _gain_of_gold(each, places)


def try_random(each: DataSet) -> float | None:
    """Label random items."""
    if len(each.truth) < 100 or (each.truth < 0).any():
        return None
    seeds = range(DRAWS)
    drawn = [np.random.default_rng(seed).choice(len(each.truth), LABELS, replace=False) for seed in seeds]
    return float(np.mean([_gain_of_gold(each, places) for places in drawn]))


def _gain_of_gold(each: DataSet, places: Ints) -> float:
    taught = model(each).fit_predict(each.votes, gold_of(each, places))
    return points(each, taught, places) - points(each, model(each).predict(each.votes), places)


Follow = Callable[[DataSet], float | None]
FOLLOWED: dict[str, tuple[str, Follow]] = {  # kind: what is done, and how
    "balance": ("state the true balance", follow_balance),
    "label, rules": ("label the 20 items suggested, votes of rules", partial(follow_label, like="rules")),
    "label, people": ("the same, votes of people or judges", partial(follow_label, like="people")),
    "copies, many": (f"drop {COPIES} copies that were added", follow_copies),
    "copies, few": ("drop the set's own copies", follow_own_copies),
    "idle": ("drop LFs that decide nothing", follow_idle),
    "unvoted": ("vote for a class that had no votes", follow_unvoted),
    "uncovered, LF": ("vote on items that had no votes", follow_uncovered_by_votes),
}
TRIED: dict[str, tuple[str, Follow]] = {  # what is not advised
    "hurting": (f"drop LFs that {GOLD} random gold labels show to be worse than chance", try_hurting),
    "doubted": ("drop LFs that the model holds to be worse than chance", try_doubted),
    "alike": (f"drop LFs whose votes have a Jaccard index of {ALIKE} or more", try_alike),
    "alone": (f"label {LABELS} items on which an LF votes alone", try_alone),
    "random": (f"label {LABELS} random items", try_random),
}


def records(sets: list[DataSet], texts: list[TextSet]) -> Iterator[Record]:
    """The gains of each kind of advice, by set, and of what else was tried."""
    yield _record("uncovered", "label items that had no votes by their texts", texts, follow_uncovered)
    for kind, (what, follow) in {**FOLLOWED, **TRIED}.items():
        yield _record(kind, what, sets, follow)


def _record(kind: str, what: str, sets: Sequence[S], follow: Callable[[S], float | None]) -> Record:
    return Record(kind, what, {each.name: gain for each in sets if (gain := follow(each)) is not None})


def run(data: Path, vader: Path | None) -> str:
    """What each kind of advice was worth, and the gains by set."""
    sets = [each for each in load_datasets(data) if each.name not in SLOW]
    found = list(records(sets, list(read_sets(data, vader))))
    head = ["kind", "what was done", "sets", "mean gain", "median", "worst", "best", "hurt"]
    return table(head, [_row(record) for record in found], align="l") + "\n\n" + "\n".join(map(_by_set, found))


def _row(record: Record) -> list[str]:
    gains = np.array(list(record.gains.values()))
    if not len(gains):
        return [record.kind, record.what, "0", *[""] * 5]
    figures = [f"{value:+.2f}" for value in (gains.mean(), np.median(gains), gains.min(), gains.max())]
    return [record.kind, record.what, str(len(gains)), *figures, f"{(gains < -HURT).mean():.0%}"]


def _by_set(record: Record) -> str:
    return f"- {record.kind}: " + ", ".join(f"{name} {gain:+.1f}" for name, gain in record.gains.items())
