"""What advice is based on: votes, what is known, and the labels of a model that has read them."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.columns.frames import is_frame
from hyperlabel.labels import Labels
from hyperlabel.lf.analysis import LFAnalysis
from hyperlabel.metrics import Metric, check_metric
from hyperlabel.models import LabelModel, label_model_class, label_models
from hyperlabel.patterns import Patterns
from hyperlabel.votes import Votes


@dataclass(frozen=True, eq=False)
class Situation:
    """Votes, gold and a model."""

    data: object  # the votes as they were given
    votes: Votes
    gold: NDArray[np.int64]  # (n,) class numbers, -1 for unknown
    model: LabelModel  # the label model, as it was given
    table: tuple[str, ...]  # the table of votes in commands: its name, and options that say how it is read
    metric: Metric  # what the labels should be good at

    @classmethod
    def read(
        cls,
        votes: object,
        gold: object,
        model: LabelModel,
        table: Sequence[str] = ("VOTES",),
        metric: Metric = "accuracy",
    ) -> "Situation":
        """Read what was given."""
        read = model.read_votes(votes)
        known = np.full(read.n_items, -1, np.int64)
        if gold is not None:
            read, known = read.with_labels(gold, "gold")
        return cls(votes, read, known, model, tuple(table), check_metric(metric))

    @cached_property
    def fitted(self) -> LabelModel:
        """The model, or a copy that has read these votes and learned from the gold."""
        if self.model.is_fitted:
            return self.model
        return self.unfitted().fit_patterns(self.patterns, self.gold_counts)

    @cached_property
    def patterns(self) -> Patterns:
        """The distinct rows of votes, in the model's order of LFs."""
        return self.model.read(self.votes)

    @property
    def gold_counts(self) -> NDArray[np.int64] | None:
        """Gold items of each pattern and class; None without gold. (p, k)."""
        return self.patterns.count_labels(self.gold) if (self.gold >= 0).any() else None

    @cached_property
    def analysis(self) -> LFAnalysis:
        """What each LF is worth."""
        return LFAnalysis(self.patterns, model=self.fitted, lfs=self.votes.lf_names, metric=self.metric)

    @cached_property
    def labels(self) -> Labels:
        """The labels of the patterns."""
        return self.fitted.label_patterns(self.patterns, self.metric)

    def unfitted(self, **params: Any) -> LabelModel:
        """A copy of the model that has read nothing, with other parameters."""
        stated = {"classes": list(self.votes.classes), "n_classes": None, **params}
        return type(self.model)(**{**self.model.get_params(), **stated})

    def identify(self, places: NDArray[np.intp], most: int = 20) -> tuple[Any, ...]:
        """The first items of some places, by identifier if there are any."""
        some = places[:most]
        return tuple((some if self.votes.items is None else self.votes.items[some]).tolist())

    def items_of(self, patterns: NDArray[np.bool_]) -> NDArray[np.intp]:
        """The places of the items that have one of some patterns."""
        return np.flatnonzero(self.patterns.expand(patterns))

    def make_call(self, arguments: str = "") -> str:
        """The call that makes the model."""
        short = self._short_name
        if short == "hlm2":
            return f"hl.HyperLabelModel({arguments})"
        return f"hl.label_model({short!r}{', ' + arguments if arguments else ''})"

    def command(self, verb: str, options: str) -> str:
        """A command of this model on the table of votes."""
        short = self._short_name
        model = "" if short == "hlm2" else f" --model {short}"
        metric = " --metric f1" if self.metric == "f1" else ""
        return f"hyperlabel {verb} {shlex.join(self.table)} {options}{model}{metric}"

    @property
    def _short_name(self) -> str:
        names = [name for name in label_models() if label_model_class(name) is type(self.model)]
        return "hlm" if getattr(self.model, "weights", None) == "hlm" else names[0]

    def drop_call(self, lfs: NDArray[np.intp]) -> str:
        """The call that drops LFs from the votes, in the form in which they were given."""
        names = [self.votes.lf_names[j] for j in lfs]
        if isinstance(self.data, Votes):
            return f"votes = votes.drop({names!r})"
        if is_frame(self.data) and self.votes.named:
            library = type(self.data).__module__.partition(".")[0]
            return f"votes = votes.drop({'columns=' if library == 'pandas' else ''}{names!r})"
        return f"votes = np.delete(votes, {lfs.tolist()!r}, axis=1)"

    def drop_option(self, lfs: NDArray[np.intp]) -> str:
        """The option of commands that drops LFs."""
        names = [self.votes.lf_names[j] for j in lfs]
        if any("," in name for name in names):
            return " ".join(f"--drop {shlex.quote(name)}" for name in names)
        return f"--drop {shlex.quote(','.join(names))}"
