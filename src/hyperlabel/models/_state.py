"""Parameters and state of a model: what it learned, how it reads votes by the names of LFs and classes, its file."""

import inspect
import logging
from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Arrays, Metric, html_table, plain_classes, show, show_names, write_tensors
from hyperlabel.data import (
    Labels,
    Outcomes,
    Patterns,
    Rows,
    Votes,
    by_name,
    exact_array,
    find_other_lfs,
    holds_columns,
    is_empty,
    is_frame,
    name_lfs,
    to_patterns,
    to_votes,
)
from hyperlabel.errors import NotFittedError, ParameterError, VotesError, WeightsError
from hyperlabel.models._context import FitContext, pack_context, unpack_context
from hyperlabel.models._parameters import Constraint
from hyperlabel.models._profile import VoteProfile

_log = logging.getLogger(__name__)

_MOST_PROBED = 1000  # LFs at each end


class FittedState:
    """The part of a label model that is about its parameters, as scikit-learn reads and changes them, and its state."""

    n_classes: int | None
    classes: Sequence[Hashable] | None
    _context: FitContext

    needs_gold: ClassVar[bool] = False  # whether the model learns from gold alone
    _constraints: ClassVar[Mapping[str, Constraint]] = {}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the arguments this model was created with."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params: Any) -> Self:
        """Change arguments by name."""
        current = self.get_params()
        for name, value in params.items():
            if name not in current:
                raise ParameterError(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(current)}")
            setattr(self, name, value)
        return self

    def changed_params(self) -> dict[str, Any]:
        """Return the arguments that differ from their defaults."""
        defaults = inspect.signature(type(self)).parameters
        return {n: v for n, v in self.get_params().items() if repr(v) != repr(defaults[n].default)}

    def __repr__(self) -> str:
        changed = ", ".join(f"{name}={value!r}" for name, value in self.changed_params().items())
        return f"{type(self).__name__}({changed})"

    def _repr_html_(self) -> str:
        """Return the parameters as an HTML table; those that were changed are marked."""
        changed, state = self.changed_params(), "not fitted"
        if self.is_fitted:
            state = f"fitted: {self.n_features_in_:,} LFs, classes {show_names(list(map(str, self._context.classes)))}"
        rows = [[name, f"{v!r:.80}", "changed" if name in changed else ""] for name, v in self.get_params().items()]
        return html_table(["parameter", "value", ""], rows, f"{type(self).__name__}, {state}")

    @abstractmethod
    def label_patterns(self, patterns: Patterns, metric: Metric = "accuracy") -> Labels:
        """Return labels of patterns, judged in the state of `fit`."""

    @property
    def is_fitted(self) -> bool:
        """True if the model has read a set."""
        return hasattr(self, "_context")

    def _check_fitted(self) -> FitContext:
        """Return the context of `fit`."""
        if not self.is_fitted:
            arguments = "votes, gold" if self.needs_gold else "votes"
            raise NotFittedError(f"this {type(self).__name__} is not fitted; call fit({arguments}) first")
        return self._context

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, in the order of their probabilities; known after `fit`."""
        return exact_array(list(self._check_fitted().classes))

    @property
    def n_features_in_(self) -> int:
        """Number of LFs in `fit`."""
        return self._check_fitted().n_lfs

    @property
    def n_gold_(self) -> int:
        """Number of gold items that `fit` learned from; these must not certify what it learned."""
        return self._check_fitted().n_gold

    @property
    def lf_names_(self) -> tuple[str, ...] | None:
        """Names of the LFs in `fit`; None if they have none."""
        return self._check_fitted().lf_names

    @property
    def outcomes_(self) -> Outcomes | None:
        """Outcomes in `fit` that are not one class; None if all votes are classes."""
        return self._check_fitted().outcomes

    @property
    def abstain_(self) -> tuple[Any, ...] | None:
        """Values that abstained in `fit`, if they were stated; None for the usual ones."""
        return self._check_fitted().abstain

    @property
    def source_(self) -> str | None:
        """The name of the table that `fit` read; None if it has none."""
        return self._check_fitted().source

    @property
    def fitted_at_(self) -> str | None:
        """The time of `fit`, in UTC; None if an older version saved the model."""
        return self._check_fitted().fitted_at

    @property
    def profile_(self) -> VoteProfile | None:
        """Vote counts of the LFs in `fit`; None if an older version saved the model."""
        return self._check_fitted().profile

    def note_source(self, source: str | None = None, abstain: Sequence[Any] | None = None) -> Self:
        """Keep in the state the name of the table that was read, and which of its values abstain, if stated."""
        abstains = None if abstain is None else tuple(abstain)
        self._context = replace(self._check_fitted(), source=source, abstain=abstains)
        return self

    @property
    def stated_classes(self) -> dict[str, Any]:
        """Classes of votes that are known before they are read, as arguments of `to_votes`."""
        if self.is_fitted:
            return {"classes": self._context.classes}
        return {"n_classes": self.n_classes, "classes": self.classes}

    def read(self, votes: object) -> Patterns:
        """Return patterns of votes, with the LFs, classes and outcomes of `fit` in their order, if there was one."""
        counted = isinstance(votes, Patterns)
        patterns = to_patterns(votes, **self.stated_classes) if counted else Patterns.from_votes(self.read_votes(votes))
        if not self.is_fitted:
            return patterns
        return self._context.match(patterns.with_lfs(self._context.lf_names), type(self).__name__)

    def read_votes(self, votes: object) -> Votes:
        """Return votes with the LFs, classes and cuts of scores of `fit`, if there was one; other columns are left."""
        if isinstance(votes, Patterns) and votes.inverse is None:
            raise ParameterError(
                "votes is Patterns that were only counted and know no items; give the votes themselves"
            )
        names = self._context.lf_names if self.is_fitted else None
        outcomes = self._context.outcomes if self.is_fitted else None
        abstain = self._context.abstain if self.is_fitted else None
        if names is not None and outcomes is not None and outcomes.cuts and holds_columns(votes):
            return Votes.read_like(votes, names, self._context.classes, outcomes)
        read = to_votes(votes, lfs=names, abstain=abstain, **self.stated_classes)
        if names is None or not read.named:
            return read
        others = find_other_lfs(votes, names, self._context.classes, abstain) if is_frame(votes) else []
        if others:
            raise VotesError(
                f"votes has the LF {others[0]!r}, which the model was not fitted on; "
                "give only the LFs of fit, frame[list(model.lf_names_)], or fit again"
            )
        return read.with_lfs(names)

    def _accept_empty(self, votes: object) -> object:
        """Give a batch without items the LFs and classes of the fitted model; other votes stay as they are."""
        if not self.is_fitted or not is_empty(votes):
            return votes
        context = self._context
        names, cells = name_lfs(context.lf_names, context.n_lfs), np.empty((0, context.n_lfs), np.int8)
        named = context.lf_names is not None
        return Votes.from_parts(context.classes, names, cells, stated=True, named=named, outcomes=context.outcomes)

    def save(self, path: str | Path) -> None:
        """Write the model, fitted or not, to a safetensors file; `hyperlabel.load` reads it. Nothing is pickled."""
        arrays, header = self.to_arrays()
        write_tensors(path, arrays, header, "model")
        _log.info("saved %s to %s", self, path)

    def to_arrays(self) -> tuple[Arrays, dict[str, Any]]:
        """Return the model, fitted or not, as named arrays and a header that JSON knows."""
        header: dict[str, Any] = {"model": type(self).__name__, "params": pack_params(self)}
        if not self.is_fitted:
            return {}, header
        context, header["seen"] = pack_context(self._context)
        state, header["learned"] = self._to_state()
        return with_prefix(context, "seen") | with_prefix(state, "state"), header

    def restore(self, arrays: Arrays, header: dict[str, Any]) -> None:
        """Restore what `to_arrays` returned, without parameters.

        A state that cannot judge or be saved again raises an error at once.
        """
        if "seen" in header:
            self._context = unpack_context(strip_prefix(arrays, "seen"), header["seen"])
            self._from_state(strip_prefix(arrays, "state"), header["learned"])
            with np.errstate(all="ignore"):
                for patterns in make_probes(self._context):
                    self.label_patterns(patterns, "accuracy" if self._context.f1 is None else "f1")
            self.to_arrays()

    def _to_state(self) -> tuple[Arrays, dict[str, Any]]:
        """Return what was learned, the attributes that end in an underscore: arrays, and values that JSON knows."""
        learned = {name: value for name, value in vars(self).items() if name.endswith("_")}
        arrays = {name: value for name, value in learned.items() if isinstance(value, np.ndarray)}
        return arrays, {name: to_json(value, name) for name, value in learned.items() if name not in arrays}

    def _from_state(self, arrays: Arrays, learned: dict[str, Any]) -> None:
        """Invert `_to_state`."""
        for name, value in (*arrays.items(), *learned.items()):
            if not name.endswith("_") or name.startswith("_") or isinstance(getattr(type(self), name, None), property):
                raise ValueError(f"{show(name)} is not a learned attribute")
            setattr(self, name, value)


def pack_params(model: Any) -> dict[str, Any]:
    """Return the parameters of a model that differ from their defaults, as JSON values."""
    changed = model.changed_params()
    return {n: plain_classes(_to_list(v)) if n == "classes" else to_json(v, n) for n, v in changed.items()}


def _to_list(values: Any) -> Any:
    return values.tolist() if hasattr(values, "tolist") else values


def to_json(value: Any, name: str) -> Any:
    """Return a JSON value: NaN is null, a label model is its class and parameters."""
    if hasattr(value, "changed_params"):
        return {"model": type(value).__name__, "params": pack_params(value)}
    value = value if isinstance(value, Mapping) else by_name(value) or value
    if isinstance(value, Mapping):
        return {str(key): to_json(each, name) for key, each in value.items()}
    value = str(value) if isinstance(value, Path) else _to_list(value)
    if isinstance(value, list | tuple):
        return [to_json(each, name) for each in value]
    if isinstance(value, float) and value != value:
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise WeightsError(f"{name} holds {show(value)} ({type(value).__name__}); only strings and numbers can be saved")


def make_probes(context: FitContext) -> tuple[Patterns, Patterns]:
    """Return patterns on which all LFs have each vote in turn: every number of a state is looked at once.

    There is one more pattern than votes, and the first one alone, so that no wrong shape fits by accident.
    """
    m, k = min(context.n_lfs, _MOST_PROBED), len(context.classes)
    codes = k + (0 if context.outcomes is None else len(context.outcomes))
    lf = np.unique(np.concatenate([np.arange(m), np.arange(context.n_lfs - m, context.n_lfs)]))
    vote = np.append(np.arange(codes), 0)
    rows = Rows(np.arange(codes + 2) * len(lf), np.tile(lf, codes + 1), np.repeat(vote, len(lf)))
    counts = np.ones(codes + 1, np.int64)
    patterns = Patterns(rows, counts, context.n_lfs, k, None, None, context.classes, context.outcomes)
    return patterns, patterns.take(np.array([0]))


def with_prefix(arrays: Arrays, prefix: str) -> Arrays:
    """Return the same arrays, with a prefix before their names."""
    return {f"{prefix}/{name}": array for name, array in arrays.items()}


def strip_prefix(arrays: Arrays, prefix: str) -> Arrays:
    """Return the arrays whose names have a prefix, without it."""
    start = f"{prefix}/"
    return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}
