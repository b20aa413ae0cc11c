"""What a model knows about the set that it has read, and how it reads other votes: by the names of LFs and classes."""

from collections.abc import Hashable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hyperlabel.checks import check_flag
from hyperlabel.columns.frames import is_frame
from hyperlabel.columns.sources import exact_array, holds_columns
from hyperlabel.errors import NotFittedError, ParameterError
from hyperlabel.models.seen import Seen, check_gold_counts
from hyperlabel.patterns import Patterns, to_patterns
from hyperlabel.shown import show_names, show_some
from hyperlabel.votes import Votes, check_no_other_lf, to_votes
from hyperlabel.votes.outcomes import Outcomes


class Fitted:
    """The part of a label model that is about what `fit` saw."""

    n_classes: int | None
    classes: Sequence[Hashable] | None
    _seen: Seen

    needs_gold: ClassVar[bool] = False  # whether the model learns from gold alone

    @property
    def is_fitted(self) -> bool:
        """Whether the model has read a set."""
        return hasattr(self, "_seen")

    def _describe_state(self) -> str:
        if not self.is_fitted:
            return "not fitted"
        return f"fitted: {self.n_features_in_:,} LFs, classes {show_names(list(map(str, self._seen.classes)))}"

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, in the order of their probabilities; known after `fit`."""
        return exact_array(list(self._fitted().classes))

    @property
    def n_features_in_(self) -> int:
        """The number of LFs that `fit` saw."""
        return self._fitted().n_lfs

    @property
    def n_gold_(self) -> int:
        """The number of gold items that `fit` learned from; these must not certify what it learned."""
        return self._fitted().n_gold

    @property
    def lf_names_(self) -> tuple[str, ...] | None:
        """The names of the LFs that `fit` saw; None if they have none."""
        return self._fitted().lf_names

    @property
    def outcomes_(self) -> Outcomes | None:
        """Outcomes that `fit` saw and that are not one class; None if all votes are classes."""
        return self._fitted().outcomes

    def read(self, votes: object) -> Patterns:
        """Patterns of votes with the classes and the order of LFs that `fit` saw, if there was one."""
        if isinstance(votes, Patterns):
            patterns = to_patterns(votes, **self.stated_classes)
            return patterns.with_lfs(self._seen.lf_names) if self.is_fitted else patterns
        return Patterns.from_votes(self.read_votes(votes))

    def read_votes(self, votes: object) -> Votes:
        """Votes with the LFs, classes and cuts of scores that `fit` saw, if there was one; other columns are left."""
        if isinstance(votes, Patterns) and votes.inverse is None:
            raise ParameterError(
                "votes is Patterns that were only counted and know no items; give the votes themselves"
            )
        names = self._seen.lf_names if self.is_fitted else None
        outcomes = self._seen.outcomes if self.is_fitted else None
        if names is not None and outcomes is not None and outcomes.cuts and holds_columns(votes):
            return Votes.read_like(votes, names, self._seen.classes, outcomes)
        read = to_votes(votes, lfs=names, **self.stated_classes)
        if names is None or not read.named:
            return read
        if is_frame(votes):
            check_no_other_lf(votes, names, self._seen.classes)
        return read.with_lfs(names)

    @property
    def stated_classes(self) -> dict[str, Any]:
        """What is known about the classes of votes before they are read, as `to_votes` takes it."""
        if self.is_fitted:
            return {"classes": self._seen.classes}
        return {"n_classes": self.n_classes, "classes": self.classes}

    def _read_set(
        self, votes: object, gold: object
    ) -> tuple[Patterns, NDArray[np.int64] | None, NDArray[np.int64] | None]:
        """Patterns to learn from, (p, k) gold items of each, and the (n,) gold classes of the items."""
        stated: dict[str, Any] = {"n_classes": self.n_classes, "classes": self.classes}
        if isinstance(votes, Patterns):
            patterns = to_patterns(votes, **stated)
            return patterns, None if gold is None else check_gold_counts(gold, patterns), None
        read, known = to_votes(votes, **stated), None
        self._check_order(read)
        if gold is not None:
            read, known = read.with_labels(gold, "gold")
        patterns = Patterns.from_votes(read)
        return patterns, None if known is None else patterns.count_labels(known), known

    def _check_order(self, votes: Votes) -> None:
        """Refuse an order of classes that nobody stated."""
        ordinal = check_flag(getattr(self, "ordinal", False), "ordinal")
        if ordinal and not votes.stated and isinstance(votes.classes[0], str):
            raise ParameterError(
                f"ordinal is True, but the order of the classes {show_some(votes.classes)} is only that of the "
                "alphabet; state them from low to high with classes"
            )

    def _fitted(self) -> Seen:
        if not self.is_fitted:
            arguments = "votes, gold" if self.needs_gold else "votes"
            raise NotFittedError(f"this {type(self).__name__} is not fitted; call fit({arguments}) first")
        return self._seen
