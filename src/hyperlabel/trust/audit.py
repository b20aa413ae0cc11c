"""`audit_sample`: which items to label by hand to judge labels, drawn at random."""

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel.checks import check_count, check_seed
from hyperlabel.errors import ParameterError, require
from hyperlabel.kernels import Float64
from hyperlabel.models import LabelModel, choose_model
from hyperlabel.shown import html_table
from hyperlabel.trust.strata import check_strata, share_out, strata_of

_SHOWN_ROWS = 10


@dataclass(frozen=True, eq=False)
class AuditSample:
    """Items that were drawn at random, in random order.

    Attributes:
        items: (s,) their identifiers, or else places.
        places: (s,) their places among the items of the votes.
        stratum: (s,) the stratum of each, see `hyperlabel.trust.strata`.
        inclusion: (s,) the probability that each was drawn.
        strata: How many strata were asked for; `certify` and `estimate` must be told.
    """

    items: NDArray[Any]
    places: NDArray[np.intp]
    stratum: NDArray[np.int64]
    inclusion: Float64
    strata: int = 1

    def __len__(self) -> int:
        return len(self.items)

    def to_pandas(self) -> Any:
        """A pandas frame: item, stratum and inclusion, one row per item."""
        require("pandas", extra="pandas")
        import pandas as pd

        return pd.DataFrame({"item": self.items, "stratum": self.stratum, "inclusion": self.inclusion})

    def __repr__(self) -> str:
        strata = "" if self.strata == 1 else f", {self.strata} strata"
        return f"AuditSample({len(self):,} items{strata})"

    def _repr_html_(self) -> str:
        """The first items as an HTML table."""
        rows = zip(self.items.tolist(), self.stratum.tolist(), self.inclusion.round(4).tolist(), strict=True)
        return html_table(["item", "stratum", "inclusion"], list(rows)[:_SHOWN_ROWS], repr(self))


def audit_sample(
    votes: object,
    n: int,
    *,
    gold: object = None,
    strata: int = 1,
    model: LabelModel | str | None = None,
    seed: int = 0,
) -> AuditSample:
    """Items to label by hand for `certify` and `estimate`, drawn at random without replacement.

    These judge labels; no model may learn from them. Items that teach come from `suggest`, and must not
    judge. A longer sample with the same seed starts with the shorter one, if there is one stratum.

    Args:
        votes: The votes.
        n: How many items.
        gold: What the model learns from, as for `LabelModel.fit`; these items are not drawn.
        strata: The number of strata of confidence. One draws every item with the same probability, and is
            usually best (docs/trust.md). More strata draw more of the surest items.
        model: The label model for the strata, or its short name; the hyper label model if not given. `certify` must
            use the same.
        seed: Another seed draws other items.

    >>> sample = audit_sample([[0, 1], [1, 1], [0, 0], [0, -1]], 2)
    >>> len(sample), sample.inclusion.tolist()
    (2, [0.5, 0.5])
    """
    check_count(n, "n")
    check_strata(strata)
    own = choose_model(model)
    read = own.read_votes(votes)
    free = np.ones(read.n_items, bool) if gold is None else read.with_labels(gold, "gold")[1] < 0
    if n > free.sum():
        raise ParameterError(f"n is {n}; expected at most {free.sum()}, the number of items without gold")
    stratum = np.zeros(read.n_items, np.int64) if strata == 1 else _find_strata(own, votes, gold, strata)
    rng = np.random.default_rng(check_seed(seed))
    sizes = np.bincount(stratum[free])
    takes = share_out(n, sizes)
    drawn = [rng.permutation(np.flatnonzero(free & (stratum == h)))[:take] for h, take in enumerate(takes)]
    places = np.concatenate(drawn)
    if strata > 1:
        places = rng.permutation(places)
    inclusion = (takes / np.maximum(sizes, 1))[stratum[places]]
    items = places if read.items is None else read.items[places]
    return AuditSample(items, places, stratum[places], inclusion, strata)


def _find_strata(model: LabelModel, votes: object, gold: object, strata: int) -> NDArray[np.int64]:
    """Strata of the labels that the model gives with this gold. -> (n,)."""
    if not model.is_fitted and gold is not None:
        model = copy.copy(model).fit(votes, gold)
    return strata_of(model.label(votes), strata)
