"""Random forest on the votes: a classifier whose features are the LFs and whose examples are the gold items.

R. Wu et al., "Learning Hyper Label Model for Programmatic Weak Supervision", ICLR 2023, section 6.2 and
appendix G; L. Breiman, "Random Forests", Machine Learning 45, 2001. A vote is a number, its class number, and an
abstention the number -1, so trees split by order of classes and are not indifferent to how classes are numbered.
Classes are weighted so that each has the same total weight. Depth and split size are chosen by cross-validation.

The forest learns only from gold items; votes without gold are not used.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import Arrays, Float64, check_count
from hyperlabel.data import Patterns
from hyperlabel.errors import ParameterError, require
from hyperlabel.models._base import LabelModel
from hyperlabel.models._parameters import number, several

Cells = NDArray[np.int64]

_WALKS = 1 << 18  # walks of rows down trees at a time


@dataclass(kw_only=True, eq=False, repr=False)
class RandomForest(LabelModel):
    """Random forest on the votes, trained on gold. Needs scikit-learn (extra `sklearn`).

    Gold items are taken in an order that depends on their votes and the seed, not on their index. A class without gold
    gets probability 0. An LF that was silent on all gold items is in no split: its votes change nothing.

    Args:
        n_trees: Trees of the forest, and of each forest of the grid search.
        max_depth: Depths that the grid search tries; None does not limit the depth.
        min_samples_split: Fewest gold items of a node to split; values that the grid search tries.
        n_folds: Folds of the cross-validation. If no class has that many gold items there is none, and the
            forest has unlimited depth and splits down to 2.

    Attributes:
        trees_: The grown trees.
        importances_: (m,) how much each LF contributed to the splits; they sum to 1.

    >>> votes = [[0, 0], [1, 1], [0, 1], [0, 0]]
    >>> RandomForest(n_trees=10).fit(votes, gold=[0, 1, 1, -1]).predict(votes).tolist()
    [0, 1, 1, 0]
    """

    n_trees: int = 500
    max_depth: Sequence[int | None] = (2, 4, 8, 16, 32, None)
    min_samples_split: Sequence[int] = (2, 5)
    n_folds: int = 5

    learns_from_gold = True
    needs_gold = True
    short_names = ("rf",)
    _constraints = LabelModel._constraints | {
        "n_trees": check_count,
        "max_depth": several(number(1, whole=True, other=None)),
        "min_samples_split": several(number(2, whole=True)),
        "n_folds": number(2, whole=True),
    }

    def _fit(self, patterns: Patterns, gold: NDArray[np.int64] | None) -> None:
        require("sklearn", extra="sklearn")
        rows, labels = _shuffle(*gold_rows(patterns, usable_gold(self, patterns, gold)), self._seed)
        forest = grow_forest(
            rows,
            labels,
            n_trees=self.n_trees,
            max_depth=self.max_depth,
            min_samples_split=self.min_samples_split,
            n_folds=self.n_folds,
            seed=self._seed,
        )
        self.trees_, self.importances_ = Trees.of(forest), np.asarray(forest.feature_importances_)

    def _probabilities(self, patterns: Patterns) -> Float64:
        probabilities = np.zeros((patterns.n_patterns, patterns.n_classes))
        probabilities[:, self.trees_.classes] = self.trees_.predict_proba(patterns.to_array())
        return probabilities

    def _to_state(self) -> tuple[Arrays, dict[str, Any]]:
        learned = {"n_iter_": self.n_iter_, "converged_": self.converged_}
        return {"importances_": self.importances_} | self.trees_.to_arrays(), learned

    def _from_state(self, arrays: Arrays, learned: dict[str, Any]) -> None:
        super()._from_state({"importances_": arrays["importances_"]}, learned)
        self.trees_ = Trees.from_arrays(arrays)


@dataclass(frozen=True, eq=False)
class Trees:
    """The trees of a forest as arrays, their nodes one after another."""

    roots: NDArray[np.int64]  # (t,) the first node of each tree
    # (s, 2) the next node where the vote is at most the threshold, and where it is above; a leaf is its own child.
    children: NDArray[np.int64]
    feature: NDArray[np.int64]  # (s,) the LF that a node looks at
    threshold: Float64  # (s,) what its vote is compared with; abstaining is -1
    value: Float64  # (s, c) shares of the classes at a node
    classes: NDArray[np.int64]  # (c,) class numbers

    @classmethod
    def of(cls, forest: Any) -> "Trees":
        """The trees of a scikit-learn forest."""
        trees = [grown.tree_ for grown in forest.estimators_]
        roots = np.cumsum([0, *(tree.node_count for tree in trees[:-1])])
        pairs = [np.stack([tree.children_left, tree.children_right], axis=1) for tree in trees]
        children = [np.where(pair < 0, np.arange(len(pair))[:, None], pair) for pair in pairs]
        value = np.concatenate([tree.value[:, 0] for tree in trees])
        return cls(
            roots=roots.astype(np.int64),
            children=np.concatenate([pair + root for pair, root in zip(children, roots, strict=True)]).astype(np.int64),
            feature=np.maximum(np.concatenate([tree.feature for tree in trees]), 0).astype(np.int64),
            threshold=np.concatenate([tree.threshold for tree in trees]),
            value=value / value.sum(1, keepdims=True),
            classes=np.asarray(forest.classes_, np.int64),
        )

    def predict_proba(self, cells: Cells) -> Float64:
        """The mean over trees of the shares at the leaf that a row reaches. (p, m) votes -> (p, c)."""
        rows = max(1, _WALKS // len(self.roots))
        parts = [self._walk(cells[start : start + rows]) for start in range(0, len(cells), rows)]
        return np.concatenate(parts)

    def _walk(self, cells: Cells) -> Float64:
        node = np.repeat(self.roots[None], len(cells), axis=0)  # (p, t)
        row = np.arange(len(cells))[:, None]
        while True:
            above = cells[row, self.feature[node]] > self.threshold[node]
            reached = self.children[node, above.astype(np.intp)]
            if np.array_equal(reached, node):
                return np.asarray(self.value[node].mean(1))
            node = reached

    def to_arrays(self) -> Arrays:
        """By the names of the attributes."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> "Trees":
        """The inverse of `to_arrays`; a ValueError if a node leads back to an earlier one, or outside."""
        trees = cls(**{field.name: arrays[field.name] for field in fields(cls)})
        s, c = len(trees.children), len(trees.classes)
        shapes = trees.children.shape, trees.feature.shape, trees.threshold.shape, trees.value.shape
        if shapes != ((s, 2), (s,), (s,), (s, c)) or trees.roots.ndim != 1 or not len(trees.roots):
            raise ValueError("the parts of its trees do not fit together")
        nodes = np.arange(s)[:, None]
        if (trees.children < nodes).any() or (trees.children >= len(nodes)).any() or (trees.feature < 0).any():
            raise ValueError("its trees are broken")
        return trees


def usable_gold(model: LabelModel, patterns: Patterns, gold: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Gold of items with votes, for a model that needs it. (p, k) -> (p, k)."""
    usable = None if gold is None else gold * patterns.has_votes[:, None]
    if usable is None or not usable.any():
        given = "no gold" if gold is None else "no gold for an item with votes"
        raise ParameterError(
            f"{type(model).__name__} learns from gold and was given {given}; "
            "call fit(votes, gold) with the true classes of some items, or use a model that needs none"
        )
    return usable


def gold_rows(patterns: Patterns, gold: NDArray[np.int64]) -> tuple[Cells, Cells]:
    """Return one vote row and class for each gold item, sorted, so that the order of items does not matter.

    (p, k) gold items -> (g, m) votes, -1 abstains, and (g,) class numbers.
    """
    index, label = np.nonzero(gold)
    counts, rows = gold[index, label], patterns.take(index).to_array()
    order = np.lexsort((label, *rows.T[::-1]))
    repeated = np.repeat(order, counts[order])
    return rows[repeated], label[repeated]


def _shuffle(rows: Cells, labels: Cells, seed: int) -> tuple[Cells, Cells]:
    """Folds are runs of rows, so rows that are alike must not be next to each other."""
    order = np.random.default_rng(seed).permutation(len(rows))
    return rows[order], labels[order]


def grow_forest(
    rows: Cells,
    labels: Cells,
    *,
    n_trees: int,
    max_depth: Sequence[int | None],
    min_samples_split: Sequence[int],
    n_folds: int,
    seed: int,
) -> Any:
    """A scikit-learn forest with the depth and split size of the best cross-validated accuracy.

    The first of equally good ones wins, depths before split sizes, as in scikit-learn's grid search. The folds are
    stratified runs of the (g, m) rows.
    """
    from sklearn.ensemble import RandomForestClassifier

    def forest(**shape: int | None) -> Any:
        return RandomForestClassifier(n_trees, random_state=seed, class_weight="balanced", **shape)

    grid = [{"max_depth": depth, "min_samples_split": split} for depth in max_depth for split in min_samples_split]
    if len(grid) == 1:
        return forest(**grid[0]).fit(rows, labels)
    if np.bincount(labels).max() < n_folds:
        return forest().fit(rows, labels)
    scores = _grid_scores(forest, grid, rows, labels, n_folds)
    return forest(**grid[int(np.argmax(scores))]).fit(rows, labels)


def _grid_scores(forest: Any, grid: list[dict[str, Any]], rows: Cells, labels: Cells, n_folds: int) -> list[float]:
    """Cross-validated accuracy of each point of the grid.

    A forest whose trees all end above a limit is the same forest under any larger limit. So limits are tried
    from the largest down, and one that earlier trees did not reach is not tried again.
    """
    folds = _folds(rows, labels, n_folds)
    scores, grown = [0.0] * len(grid), dict[int, tuple[int, float]]()  # split size -> depth reached, score
    for i in sorted(range(len(grid)), key=lambda i: -_limit(grid[i])):
        split = grid[i]["min_samples_split"]
        if split not in grown or grown[split][0] > _limit(grid[i]):
            forests = [forest(**grid[i]).fit(rows[train], labels[train]) for train, _ in folds]
            depth = max(tree.get_depth() for fitted in forests for tree in fitted.estimators_)
            right = [fitted.score(rows[test], labels[test]) for fitted, (_, test) in zip(forests, folds, strict=True)]
            grown[split] = depth, float(np.mean(right))
        scores[i] = grown[split][1]
    return scores


def _limit(point: dict[str, Any]) -> float:
    return np.inf if point["max_depth"] is None else float(point["max_depth"])


def _folds(rows: Cells, labels: Cells, n_folds: int) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    from sklearn.model_selection import StratifiedKFold

    with warnings.catch_warnings():
        # Rare classes are missing from some folds; scikit-learn warns of it, but it does no harm here.
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        return list(StratifiedKFold(n_folds).split(rows, labels))
