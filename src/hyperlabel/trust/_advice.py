"""`hl.advise`: advice on what to do next. Each finder looks for one problem and returns an `Advice` if it is there."""

import copy
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Float64, Metric, html_table, plot_bars, printable
from hyperlabel.data import Labels, Patterns, Votes, decode, is_frame, suggest_items, vote_weights
from hyperlabel.errors import ParameterError
from hyperlabel.lf import LFAnalysis, keep_lfs, sample_affordable
from hyperlabel.models import LabelModel, choose_model, label_model_class, label_models


class MeasuredGain(NamedTuple):
    """Gain of a kind of advice, measured on public sets (docs/trust.md).

    Attributes:
        gain: Mean gain in points where it was followed.
        hurt: Share of the sets with a loss of more than a tenth of a point.
        sets: The number of sets on which it was followed.
    """

    gain: float
    hurt: float
    sets: int

    def __str__(self) -> str:
        return f"about {self.gain:+.1f} points on {self.sets} public sets, a loss on {self.hurt:.0%} of them"


# From `python -m experiments advice`; a test compares its record. Unvoted and uncovered: per tenth of the items.
WORTH = {
    "unvoted": MeasuredGain(9.7, 0.00, 42),
    "uncovered": MeasuredGain(4.9, 0.00, 8),
    "copies, many": MeasuredGain(3.9, 0.05, 43),
    "copies, few": MeasuredGain(0.3, 0.00, 8),
    "balance": MeasuredGain(1.3, 0.11, 36),
    "label, rules": MeasuredGain(1.2, 0.21, 19),
    "label, people": MeasuredGain(0.5, 0.23, 22),
    "idle": MeasuredGain(0.0, 0.00, 18),
    # From `python -m experiments texts`: labels by votes and texts, with 30 gold items.
    "gold, texts": MeasuredGain(4.0, 0.25, 16),
}
_RANDOM = 30  # random labels that come first


@dataclass(frozen=True)
class Advice:
    """One thing to do next.

    Attributes:
        kind: Its subject: balance, copies, gold, idle, label, uncovered or unvoted.
        number: The number of labels, LFs or items that it is about.
        reason: The reason, in a sentence.
        call: The Python call that does it; `votes` are the votes.
        command: The command that does it.
        examples: Items or LFs that it is about, at most 20.
        like: What its worth depends on: votes by `rules` or by `people`, `few` copies or `many`, gold with `texts`.
        scale: How many tenths of the items it is about, if its worth is known per tenth.
    """

    kind: str
    number: int
    reason: str
    call: str
    command: str
    examples: tuple[Any, ...] = ()
    like: str | None = None
    scale: float = 1.0

    @property
    def worth(self) -> MeasuredGain:
        """Gain of this kind of advice on similar public sets."""
        worth = WORTH[self.kind if self.like is None else f"{self.kind}, {self.like}"]
        return worth._replace(gain=self.scale * worth.gain)

    def __str__(self) -> str:
        lines = f"{self.reason} ({self.worth})", f"   Python:  {self.call}", f"   command: {self.command}"
        return "\n".join(map(printable, lines))


@dataclass(frozen=True)
class AdviceList:
    """Advice, most valuable first; prints as a list.

    Attributes:
        items: The advice, as a tuple.
    """

    items: tuple[Advice, ...]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Advice]:
        return iter(self.items)

    def __getitem__(self, index: int) -> Advice:
        return self.items[index]

    def __str__(self) -> str:
        if not self.items:
            return "No advice: no known problem was found."
        return "\n".join(f"{i}. {each}" for i, each in enumerate(self.items, 1))

    __repr__ = __str__

    def to_dicts(self) -> list[dict[str, Any]]:
        """The advice, for programs."""
        return [{**vars(each), "worth": each.worth._asdict()} for each in self.items]

    def plot(self, ax: Any = None) -> Any:
        """Draw what each advice has been worth on public sets, into `ax` or new axes of matplotlib; return the axes."""
        axes = plot_bars([f"{a.kind} ({a.number:,})" for a in self.items], [a.worth.gain for a in self.items], ax)
        axes.set_xlabel("points gained on public sets")
        return axes

    def _repr_html_(self) -> str:
        """The advice as an HTML table."""
        rows = [[i, a.reason, str(a.worth), a.call, a.command] for i, a in enumerate(self.items, 1)]
        return html_table(["", "reason", "worth", "Python", "command"], rows, f"{len(self)} things to do next")


@dataclass(frozen=True, eq=False)
class AdviceContext:
    """Votes, gold, a model, and the analysis of its labels, which advice is based on."""

    data: object  # the votes as they were given
    votes: Votes
    gold: NDArray[np.int64]  # (n,) class numbers, -1 for unknown
    model: LabelModel  # the label model, as it was given
    analysis: LFAnalysis  # by the model, or by a copy that has read these votes and learned from the gold
    table: tuple[str, ...] = ("VOTES",)  # the words for the table of votes in commands: its name, options to read it

    @classmethod
    def read(
        cls,
        votes: object,
        gold: object,
        model: LabelModel,
        metric: Metric = "accuracy",
        table: str | Sequence[str] = "VOTES",
        truth: object = None,
    ) -> "AdviceContext":
        """Read votes, gold and truth, and let a model that is not fitted learn from votes and gold."""
        read, fitted = model.read_votes(votes), model
        if truth is not None:
            read, _ = read.with_labels(truth, "truth")  # may add classes
        classes = np.full(read.n_items, -1, np.int64)
        if gold is not None:
            read, classes = read.with_labels(gold, "gold")
            fitted = model if model.is_fitted else copy.copy(model).fit(read, gold)
        analysis = LFAnalysis(read, truth, model=fitted, metric=metric)
        return cls(votes, read, classes, model, analysis, (table,) if isinstance(table, str) else tuple(table))

    @property
    def n_gold(self) -> int:
        """Number of items with gold."""
        return int((self.gold >= 0).sum())

    def label_unfitted(self, patterns: Patterns, gold: NDArray[np.int64] | None, **params: Any) -> Labels:
        """Label patterns by a copy of the model that learns from them alone, with other parameters.

        `gold` are (p, k) gold items of each pattern and class.
        """
        params = {"classes": list(self.votes.classes), "n_classes": None, **params}
        model = type(self.model)(**{**self.model.get_params(), **params})
        return model.fit_label_patterns(replace(patterns, inverse=None), gold, self.analysis.metric)

    def count_gold(self) -> NDArray[np.int64] | None:
        """Gold items of each pattern and class; None without gold. -> (p, k)."""
        return self.analysis.patterns.count_labels(self.gold) if self.n_gold else None

    def first_items(self, patterns: NDArray[np.bool_]) -> tuple[Any, ...]:
        """The first items of some of the patterns."""
        return self.identify(np.flatnonzero(self.analysis.patterns.expand(patterns))[:_EXAMPLES])

    def identify(self, index: NDArray[np.intp]) -> tuple[Any, ...]:
        """Some items, by identifier if there are any."""
        return tuple((index if self.votes.items is None else self.votes.items[index]).tolist())

    def make_call(self, arguments: str = "") -> str:
        """The call that makes the model."""
        if self._short_name == "hlm3":
            return f"hl.HyperLabelModel({arguments})"
        return f"hl.label_model({self._short_name!r}{', ' + arguments if arguments else ''})"

    def command(self, verb: str, options: str) -> str:
        """A command of this model on the table of votes."""
        model = "" if self._short_name == "hlm3" else f" --model {self._short_name}"
        metric = " --metric f1" if self.analysis.metric == "f1" else ""
        return f"hyperlabel {verb} {shlex.join(self.table)} {options}{model}{metric}"

    @property
    def _short_name(self) -> str:
        names = [name for name in label_models() if label_model_class(name) is type(self.model)]
        weights = getattr(self.model, "weights", None)
        return weights if isinstance(weights, str) and weights in names else names[0]

    def advise_to_drop(self, lfs: NDArray[np.intp], kind: str, reason: str, like: str | None = None) -> Advice:
        """Advice to drop LFs; the call is for votes in the form in which they were given."""
        names = [self.votes.lf_names[j] for j in lfs]
        if isinstance(self.data, Votes):
            call = f"votes = votes.drop({names!r})"
        elif is_frame(self.data) and self.votes.named:
            library = type(self.data).__module__.partition(".")[0]
            call = f"votes = votes.drop({'columns=' if library == 'pandas' else ''}{names!r})"
        else:
            call = f"votes = np.delete(votes, {lfs.tolist()!r}, axis=1)"
        lists = names if any("," in name for name in names) else [",".join(names)]
        command = self.command("label", " ".join(f"--drop {shlex.quote(each)}" for each in lists))
        return Advice(kind, len(lfs), reason, call, command, tuple(names[:_EXAMPLES]), like)


TILT = 0.3
"""The log-odds by which the share of a class may well differ from the model's estimate."""

_LEAST_SHARE = 0.05  # a finding must be about at least this share of the items
_SUGGESTED = 20
_EXAMPLES = 20  # the most items or LFs that an advice names
_TILTED_CLASSES = 5  # the number of largest classes to try
_MOST_WORK = 3_000_000  # one tilt looks at no more votes times classes than this
_ALIKE = 0.98  # Jaccard index of LFs that copy each other
_FEW = 5  # votes
_MANY = 4  # copies of one LF
_UNIT = 0.1  # the worth of votes is known per this share of the items


def find_balance(context: AdviceContext) -> Advice | None:
    """Labels that depend on the class balance, if it can be stated but is not."""
    if context.model.get_params().get("class_balance", 0) is not None or context.model.is_fitted:
        return None
    patterns, n = sample_affordable(context.analysis.patterns, 1, _MOST_WORK), context.votes.n_items
    try:
        shares, changed = _tilt_classes(context, patterns)
    except ParameterError:  # the paper's network cannot be told a balance
        return None
    number = round(float(patterns.counts @ changed) / patterns.n_items * n)
    if number < _LEAST_SHARE * n:
        return None
    largest = int(np.argmax(shares))
    low, high = _tilted(shares, largest)
    depend, change = ("label", "depends"), "it changes"
    if number != 1:
        depend, change = ("labels", "depend"), "they change"
    balance = ", ".join(f"{c!r}: ..." for c in context.votes.classes)  # what the model estimates is no fact to state
    option = ",".join(f"{c}=?" for c in context.votes.classes)
    for_f1 = ", metric='f1'" if context.analysis.metric == "f1" else ""
    return Advice(
        "balance",
        number,
        f"{number:,} {depend[0]} ({number / n:.0%}) {depend[1]} on the class balance: {change} if, say, the share of "
        f"{context.votes.classes[largest]} is {low:.2f} or {high:.2f}, not {shares[largest]:.2f} as the model "
        "estimates. State the balance if you know it",
        f"{context.make_call(f'class_balance={{{balance}}}')}.fit_predict(votes{for_f1})",
        context.command("label", f"--class-balance {shlex.quote(option)}"),
        context.first_items(changed) if patterns is context.analysis.patterns else (),
    )


def _tilt_classes(context: AdviceContext, patterns: Patterns) -> tuple[Float64, NDArray[np.bool_]]:
    """The model's shares of the classes, and which patterns change their label with other shares. (k,), (p,)."""
    if patterns is context.analysis.patterns:
        gold, labels = context.count_gold(), context.analysis.pattern_labels
    else:
        gold, labels = None, context.label_unfitted(patterns, None)
    weights = patterns.counts * patterns.has_votes
    shares = weights @ labels.probabilities / weights.sum()
    own = np.where(shares > 0, np.maximum(shares, 1e-6), 0)  # classes without votes and gold stay out: they take time
    changed = np.zeros(patterns.n_patterns, bool)
    for number in np.argsort(-own)[: 1 if len(own) == 2 else _TILTED_CLASSES].tolist():
        for tilted in _tilted(own, number):
            balance = own * (1 - tilted) / (1 - own[number])
            balance[number] = tilted
            stated = (balance / balance.sum()).tolist()
            changed |= context.label_unfitted(patterns, gold, class_balance=stated).best != labels.best
    return own / own.sum(), changed


def _tilted(shares: Float64, number: int) -> tuple[float, float]:
    """The share of a class when its log-odds are lower and higher."""
    share = min(float(shares[number]), 1 - 1e-6)
    odds = share / (1 - share) * np.exp([-TILT, TILT])
    low, high = (odds / (1 + odds)).tolist()
    return low, high


def find_gold(context: AdviceContext) -> Advice | None:
    """Random labels by hand, before anything else."""
    missing = min(_RANDOM - context.n_gold, context.votes.n_items - context.n_gold)
    if missing <= 0:
        return None
    return Advice(
        "gold",
        missing,
        f"label {missing} random items by hand: with texts and votes, nothing else is worth as much",
        f"hl.audit_sample(votes, {missing}), then hl.label(votes, texts, gold=gold)",
        context.command("audit", f"-n {missing}"),
        like="texts",
    )


def find_labels_worth_giving(context: AdviceContext) -> Advice | None:
    """The items to label by hand next."""
    besides = gold_argument = gold_option = ""
    if context.n_gold:
        gold = decode(context.gold, context.votes.classes)
        items = tuple(context.analysis.model.suggest(context.votes, _SUGGESTED, gold).tolist())
        besides, gold_argument, gold_option = f", besides the {context.n_gold:,} with gold", ", gold", " --gold GOLD"
    else:
        without = np.zeros(context.votes.n_items, bool)
        items = context.identify(
            suggest_items(context.analysis.pattern_labels.probabilities, context.analysis.patterns, without, _SUGGESTED)
        )
    if not items:
        return None
    names = ", ".join(map(str, items[:3])) + (", ..." if len(items) > 3 else "")
    return Advice(
        "label",
        len(items),
        f"label these {len(items)} items next{besides}: {names}",
        f"{context.make_call()}.suggest(votes, {_SUGGESTED}{gold_argument})",
        context.command("suggest", f"-n {_SUGGESTED}{gold_option}"),
        items,
        "rules" if _are_rules(context.analysis.patterns) else "people",
    )


def _are_rules(patterns: Patterns) -> bool:
    """Return whether at least half of the LFs that vote do so for one class only, as rules do."""
    k = patterns.n_codes
    cast = np.bincount(patterns.lf * k + patterns.vote, minlength=patterns.n_lfs * k).reshape(-1, k) > 0
    classes = cast.sum(1)[cast.any(1)]
    return bool((classes == 1).mean() >= 0.5) if len(classes) else True


def find_copies(context: AdviceContext) -> Advice | None:
    """LFs that copy another one; the first of each group is kept."""
    alike = np.triu((context.analysis.similarity >= _ALIKE) & (context.analysis.agreements >= _FEW), 1)
    copies: list[int] = []
    for j in range(context.votes.n_lfs):
        originals = np.flatnonzero(alike[:, j]).tolist()
        if any(i not in copies for i in originals):
            copies.append(j)
    if not copies:
        return None
    lfs, names = np.array(copies, np.intp), context.votes.lf_names
    example = f"{names[lfs[0]]} copies {names[alike[:, lfs[0]].argmax()]}"
    reason = (
        f"1 LF copies another ({example}): drop it"
        if len(lfs) == 1
        else f"{len(lfs):,} LFs copy others ({example}, ...): drop them"
    )
    return context.advise_to_drop(lfs, "copies", reason, "many" if alike.sum(1).max() >= _MANY else "few")


def find_idle(context: AdviceContext) -> Advice | None:
    """LFs that can be dropped together without changing a label."""
    left_out = context.analysis.leave_one_out()
    idle = np.flatnonzero((left_out.label_changes == 0) & (context.analysis.votes > 0))
    idle = idle[np.argsort(context.analysis.votes[idle], kind="stable")]
    while len(idle) and _changes_labels(context, idle):
        idle = idle[: len(idle) // 2]  # those with few votes stay
    if not len(idle) or left_out.n_items < context.votes.n_items:
        return None
    lfs, them = ("1 LF changes", "it") if len(idle) == 1 else (f"{len(idle):,} LFs change", "them")
    return context.advise_to_drop(np.sort(idle), "idle", f"{lfs} nothing: without {them} every item keeps its label")


def _changes_labels(context: AdviceContext, lfs: NDArray[np.intp]) -> bool:
    """Return whether any label changes without some LFs."""
    kept = ~np.isin(np.arange(context.votes.n_lfs), lfs)
    if not kept.any():
        return True
    rest, index = keep_lfs(context.analysis.patterns, kept)
    gold, counts = context.count_gold(), None
    if gold is not None:
        counts = np.zeros((rest.n_patterns, rest.n_classes), np.int64)
        np.add.at(counts, index, gold)
    return bool((context.label_unfitted(rest, counts).best[index] != context.analysis.labels).any())


def find_unvoted(context: AdviceContext) -> Advice | None:
    """Classes without votes."""
    votes, classes = context.votes, context.votes.classes
    weights = vote_weights(votes.outcomes, votes.n_classes)
    cast = np.bincount(context.analysis.patterns.vote, minlength=votes.n_codes) @ weights
    unvoted = np.flatnonzero(cast == 0)
    n_gold = int(np.isin(context.gold, unvoted).sum())
    if not len(unvoted) or not (votes.stated or n_gold):
        return None
    names = ", ".join(str(classes[c]) for c in unvoted[:5])
    gold = f", though {n_gold:,} gold items belong to it" if n_gold else ""
    return Advice(
        "unvoted",
        len(unvoted),
        f"nobody votes for {names}{gold}: no item can get this label. Write an LF for it",
        f"hl.apply_lfs([hl.keyword_lf(['...'], {classes[unvoted[0]]!r})], texts)",
        context.command("analyze", "--classes " + shlex.quote(",".join(map(str, classes)))),
        tuple(classes[c] for c in unvoted[:_EXAMPLES]),
        scale=n_gold / context.n_gold / _UNIT if n_gold else 1.0,
    )


def find_uncovered(context: AdviceContext) -> Advice | None:
    """Items without votes."""
    empty = ~context.analysis.patterns.has_votes
    number = int(context.analysis.patterns.counts @ empty)
    share = number / context.votes.n_items
    if number < _LEAST_SHARE * context.votes.n_items:
        return None
    items, them = ("1 item", "it") if number == 1 else (f"{number:,} items", "them")
    return Advice(
        "uncovered",
        number,
        f"{items} ({share:.0%}) got no votes: add a rule that covers {them}, or label {them} by text",
        f"hl.label(votes, texts, model={context.make_call()})",
        context.command("label", "--text text"),
        context.first_items(empty),
        scale=share / _UNIT,
    )


def advise(
    votes: object,
    gold: object = None,
    *,
    model: LabelModel | str | None = None,
    metric: Metric = "accuracy",
    table: str | Sequence[str] = "VOTES",
) -> AdviceList:
    """Advise what to do next to get better labels, most valuable first.

    Every kind of advice was tested on public sets, and is given because it helped there (docs/trust.md).

    Args:
        votes: The votes.
        gold: Known classes, as for `LabelModel.fit`; the model learns from them.
        model: The label model, or its short name; the hyper label model if not given. One that is not fitted reads
            these votes, as a copy.
        metric: Metric to optimize the labels for, as for `predict`.
        table: The name of the table of votes in commands, or several words: its name, and options that say how it is
            read.

    >>> import numpy as np
    >>> truth = np.arange(40) % 2
    >>> votes = np.stack([truth, 1 - truth[::-1], truth], axis=1)
    >>> [copies] = [advice for advice in advise(votes) if advice.kind == "copies"]
    >>> copies.number, copies.call
    (2, 'votes = np.delete(votes, [1, 2], axis=1)')
    """
    return find_advice(AdviceContext.read(votes, gold, choose_model(model), metric, table))


def find_advice(context: AdviceContext) -> AdviceList:
    """Run all finders; random labels first, since all else can be judged by them, then most valuable advice."""
    finders = find_gold, find_balance, find_labels_worth_giving, find_copies, find_idle, find_unvoted, find_uncovered
    advice = [each for find in finders if (each := find(context)) is not None]
    return AdviceList(tuple(sorted(advice, key=lambda each: (each.kind != "gold", -each.worth.gain))))
