"""`advise`: what to do next. Each other function looks for one thing and gives an `Advice` if it finds it."""

import shlex
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hyperlabel.checks import check_text
from hyperlabel.columns.arrays import as_list
from hyperlabel.errors import ParameterError
from hyperlabel.kernels import Float64
from hyperlabel.labels import Labels
from hyperlabel.lf.leave_one_out import sample_affordable
from hyperlabel.metrics import Metric
from hyperlabel.models import LabelModel, choose_model
from hyperlabel.patterns import Patterns
from hyperlabel.trust.advice import Advice, AdviceList
from hyperlabel.trust.situation import Situation
from hyperlabel.votes.classes import decode
from hyperlabel.votes.outcomes import speak

TILT = 0.3
"""The log-odds by which the share of a class may well differ from the model's estimate."""

_LEAST_SHARE = 0.05  # a finding must be about at least this share of the items
_SUGGESTED = 20
_TILTED_CLASSES = 5  # the number of largest classes to try
_MOST_WORK = 3_000_000  # one tilt looks at no more votes times classes than this
_ALIKE = 0.98  # Jaccard index of LFs that copy each other
_FEW = 5  # votes
_MANY = 4  # copies of one LF
_UNIT = 0.1  # the worth of votes is known per this share of the items


def find_balance(at: Situation) -> Advice | None:
    """Labels that depend on the class balance, if it can be stated but is not."""
    if at.model.get_params().get("class_balance", 0) is not None or at.model.is_fitted:
        return None
    patterns = sample_affordable(at.patterns, 1, _MOST_WORK)
    try:
        own, changed = _tilt_classes(at, patterns)
    except ParameterError:  # the paper's network cannot be told a balance
        return None
    number = round(float(patterns.counts @ changed) / patterns.n_items * at.votes.n_items)
    if number < _LEAST_SHARE * at.votes.n_items:
        return None
    shares = {c: round(float(share), 2) for c, share in zip(at.votes.classes, own, strict=True)}
    largest = int(np.argmax(own))
    name, low, high = at.votes.classes[largest], *_tilted(own, largest)
    share = f"({number / at.votes.n_items:.0%})"
    depend = f"1 label {share} depends" if number == 1 else f"{number:,} labels {share} depend"
    reason = (
        f"{depend} on the class balance: {'it changes' if number == 1 else 'they change'} if, say, "
        f"the share of {name} is {low:.2f} or {high:.2f}, not {own[largest]:.2f} as the model estimates. State it"
    )
    for_f1 = ", metric='f1'" if at.metric == "f1" else ""
    return Advice(
        "balance",
        number,
        reason,
        f"{at.make_call(f'class_balance={shares!r}')}.fit_predict(votes{for_f1})",
        at.command("label", "--class-balance " + shlex.quote(",".join(f"{c}={share}" for c, share in shares.items()))),
        at.identify(at.items_of(changed)) if patterns is at.patterns else (),
    )


def _tilt_classes(at: Situation, patterns: Patterns) -> tuple[Float64, NDArray[np.bool_]]:
    """The model's shares of the classes, and which patterns change their label with other shares. (k,), (p,)."""
    gold = at.gold_counts if patterns is at.patterns else None

    def label(**stated: object) -> Labels:
        counted = replace(patterns, inverse=None)
        return at.unfitted(**stated).fit_patterns(counted, gold).label_patterns(counted, at.metric)

    labels = label()
    weights = patterns.counts * patterns.has_votes
    shares = weights @ labels.probabilities / weights.sum()
    own = np.where(shares > 0, np.maximum(shares, 1e-6), 0)  # classes without votes and gold stay out: they take time
    changed = np.zeros(patterns.n_patterns, bool)
    classes = np.argsort(-own)[: 1 if len(own) == 2 else _TILTED_CLASSES]
    for number in classes.tolist():
        for tilted in _tilted(own, number):
            balance = own * (1 - tilted) / (1 - own[number])
            balance[number] = tilted
            changed |= label(class_balance=(balance / balance.sum()).tolist()).best != labels.best
    return own / own.sum(), changed


def _tilted(shares: Float64, number: int) -> tuple[float, float]:
    """The share of a class when its log-odds are lower and higher."""
    share = min(float(shares[number]), 1 - 1e-6)
    odds = share / (1 - share) * np.exp([-TILT, TILT])
    low, high = (odds / (1 + odds)).tolist()
    return low, high


def find_labels_worth_giving(at: Situation) -> Advice | None:
    """The items to label by hand next."""
    gold = decode(at.gold, at.votes.classes) if (at.gold >= 0).any() else None
    items = tuple(at.fitted.suggest(at.votes, _SUGGESTED, gold).tolist())
    if not items:
        return None
    known = "" if gold is None else f" in addition to the {int((at.gold >= 0).sum()):,} known"
    named = ", ".join(map(str, items[:3])) + (", ..." if len(items) > 3 else "")
    return Advice(
        "label",
        len(items),
        f"{len(items)} labels by hand{known} would teach the model most: items {named}",
        f"{at.make_call()}.suggest(votes, {_SUGGESTED}{'' if gold is None else ', gold'})",
        at.command("suggest", f"-n {_SUGGESTED}{'' if gold is None else ' --gold GOLD'}"),
        items,
        "rules" if of_rules(at.patterns) else "people",
    )


def of_rules(patterns: Patterns) -> bool:
    """Whether votes are like those of rules: at least half of the LFs that vote do so for one class only."""
    k = patterns.n_codes
    cast = np.bincount(patterns.lf * k + patterns.vote, minlength=patterns.n_lfs * k).reshape(-1, k) > 0
    classes = cast.sum(1)[cast.any(1)]
    return bool((classes == 1).mean() >= 0.5) if len(classes) else True


def find_copies(at: Situation) -> Advice | None:
    """LFs that copy another one; the first of each group is kept."""
    alike = np.triu((at.analysis.similarity >= _ALIKE) & (at.analysis.agreements >= _FEW), 1)
    copies: list[int] = []
    for j in range(at.votes.n_lfs):
        originals = np.flatnonzero(alike[:, j]).tolist()
        if any(i not in copies for i in originals):
            copies.append(j)
    if not copies:
        return None
    lfs = np.array(copies, np.intp)
    first = int(np.flatnonzero(alike[:, lfs[0]])[0])
    names, more = at.votes.lf_names, "" if len(lfs) == 1 else ", ..."
    return Advice(
        "copies",
        len(lfs),
        f"{_lfs(lfs, 'copies another', 'copy others')} ({names[lfs[0]]} copies {names[first]}{more}): "
        f"drop {_them(lfs)}",
        at.drop_call(lfs),
        at.command("label", at.drop_option(lfs)),
        tuple(names[j] for j in lfs[:20]),
        "many" if alike.sum(1).max() >= _MANY else "few",
    )


def find_idle(at: Situation) -> Advice | None:
    """LFs that can be dropped together without changing a label."""
    left_out = at.analysis.leave_one_out()
    idle = np.flatnonzero((left_out.label_changes == 0) & (at.analysis.votes > 0))
    idle = idle[np.argsort(at.analysis.votes[idle], kind="stable")]
    while len(idle) and _labels_that_change(at, idle) > 0:
        idle = idle[: len(idle) // 2]  # those with few votes stay
    if not len(idle) or left_out.n_items < at.votes.n_items:
        return None
    lfs = np.sort(idle)
    return Advice(
        "idle",
        len(lfs),
        f"{_lfs(lfs, 'changes', 'change')} nothing: without {_them(lfs)} every item keeps its label",
        at.drop_call(lfs),
        at.command("label", at.drop_option(lfs)),
        tuple(at.votes.lf_names[j] for j in lfs[:20]),
    )


def _labels_that_change(at: Situation, lfs: NDArray[np.intp]) -> int:
    """Items whose label changes without some LFs."""
    names = [name for j, name in enumerate(at.votes.lf_names) if j not in set(lfs.tolist())]
    if not names:
        return at.votes.n_items
    rest = Patterns.from_votes(at.votes[names].with_classes(at.votes.classes))
    gold = rest.count_labels(at.gold) if (at.gold >= 0).any() else None
    after = at.unfitted().fit_patterns(rest, gold).label_patterns(rest, at.metric).best
    return int((rest.expand(after) != at.patterns.expand(at.labels.best)).sum())


def find_unvoted(at: Situation) -> Advice | None:
    """Classes without votes."""
    votes, classes = at.votes, at.votes.classes
    cast = np.bincount(votes.rows.vote, minlength=votes.n_codes) @ speak(votes.outcomes, votes.n_classes)
    known = np.bincount(at.gold[at.gold >= 0], minlength=votes.n_classes)
    unvoted = np.flatnonzero(cast == 0)
    if not len(unvoted) or not (votes.stated or known[unvoted].any()):
        return None
    named = ", ".join(str(classes[c]) for c in unvoted[:5])
    gold = f", though {int(known[unvoted].sum()):,} gold items are of it" if known[unvoted].any() else ""
    return Advice(
        "unvoted",
        len(unvoted),
        f"nobody votes for {named}{gold}: no item can get this label. Write an LF for it",
        f"hl.apply_lfs([hl.keyword_lf(['...'], {classes[unvoted[0]]!r})], texts)",
        at.command("analyze", "--classes " + shlex.quote(",".join(map(str, classes)))),
        tuple(classes[c] for c in unvoted[:20]),
        scale=float(known[unvoted].sum() / known.sum() / _UNIT) if known[unvoted].any() else 1.0,
    )


def find_uncovered(at: Situation) -> Advice | None:
    """Items without votes."""
    empty = at.items_of(~at.patterns.has_votes)
    if len(empty) < _LEAST_SHARE * at.votes.n_items:
        return None
    share = len(empty) / at.votes.n_items
    n_empty, has, them = ("1 item", "has", "it") if len(empty) == 1 else (f"{len(empty):,} items", "have", "them")
    return Advice(
        "uncovered",
        len(empty),
        f"{n_empty} ({share:.0%}) {has} no vote, and so no label: write an LF, or label {them} by text",
        f"hl.fill_labels({at.make_call()}, votes, texts)",
        at.command("label", "--text text"),
        at.identify(empty),
        scale=share / _UNIT,
    )


def _lfs(lfs: NDArray[np.intp], one: str, several: str) -> str:
    """How many LFs, and what one or several of them do."""
    return f"1 LF {one}" if len(lfs) == 1 else f"{len(lfs):,} LFs {several}"


def _them(lfs: NDArray[np.intp]) -> str:
    return "it" if len(lfs) == 1 else "them"


FINDERS = (
    find_balance,
    find_labels_worth_giving,
    find_copies,
    find_idle,
    find_unvoted,
    find_uncovered,
)


def advise(
    votes: object,
    gold: object = None,
    *,
    model: LabelModel | str | None = None,
    metric: Metric = "accuracy",
    table: str | Sequence[str] = "VOTES",
) -> AdviceList:
    """What to do next to get better labels, most valuable first.

    Every kind of advice was tested on public sets, and is given because it helped there (docs/trust.md).

    Args:
        votes: The votes.
        gold: What is known, as for `LabelModel.fit`; the model learns from it.
        model: The label model, or its short name; the hyper label model if not given. One that is not fitted reads
            these votes, as a copy.
        metric: What the labels should be good at, as for `predict`.
        table: The name of the table of votes in commands, or several words: its name, and options that say how it is
            read.

    >>> import numpy as np
    >>> truth = np.arange(40) % 2
    >>> votes = np.stack([truth, 1 - truth[::-1], truth], axis=1)
    >>> [copies] = [advice for advice in advise(votes) if advice.kind == "copies"]
    >>> copies.number, copies.call
    (2, 'votes = np.delete(votes, [1, 2], axis=1)')
    """
    at = Situation.read(votes, gold, choose_model(model), _check_words(table), metric)
    found = [advice for find in FINDERS if (advice := find(at)) is not None]
    return AdviceList(tuple(sorted(found, key=lambda advice: -advice.worth.gain)))


def _check_words(table: object) -> list[str]:
    """The words that name a table in commands."""
    expected = "the name of a table, or a list of words"
    words = [table] if isinstance(table, str) else as_list(table, "table", expected)
    return [check_text(word, "table", expected) for word in words]
