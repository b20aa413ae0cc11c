"""The choice of hyper-parameters of end models on generated labels."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from hyperlabel.errors import ParameterError

pytest.importorskip("torch", reason="torch is not installed (extra `text`)")
pytestmark = pytest.mark.torch

from hyperlabel.classify import GRIDS, BaseClassifier, Linear, Search

INPUTS = np.zeros((4, 1))
GENERATED = np.array([[0.9, 0.1], [0.8, 0.2], [0.4, 0.6], [0.3, 0.7]])


@dataclass
class Fixed(BaseClassifier):
    """Says the same whatever it sees; remembers who was fitted on what."""

    answer: str = "right"
    sure: float = 0.7
    fitted: list = field(default_factory=list)

    def _fit(self, examples, validation):
        self.fitted.append((self.answer, len(examples), len(validation)))

    def _probabilities(self, inputs):
        labels = {"right": [0, 0, 1, 1], "wrong": [1, 1, 0, 0], "zero": [0, 0, 0, 0], "one": [1, 1, 1, 1]}
        labels = {**labels, "three": [0, 0, 0, 1]}[self.answer]
        return np.where(np.eye(2, dtype=bool)[labels][: len(inputs)], self.sure, 1 - self.sure)


def search(grid, metric="accuracy"):
    return Search(Fixed(), grid, metric).fit(INPUTS, GENERATED, (INPUTS, GENERATED))


def test_search_keeps_the_model_that_agrees_most_with_generated_labels():
    found = search({"answer": ("wrong", "right", "zero")})
    assert (found.best_params_, found.best_score_) == ({"answer": "right"}, 1.0)
    assert_array_equal(found.predict(INPUTS), [0, 0, 1, 1])
    assert [entry[0] for entry in found.model.fitted] == ["wrong", "right", "zero"]


def test_search_by_f1_may_prefer_another_model_than_by_accuracy():
    grid = {"answer": ("zero", "one")}
    assert search(grid, "accuracy").best_params_ == {"answer": "zero"}  # equally right, and the lower cross-entropy
    assert search(grid, "f1").best_params_ == {"answer": "one"}


def test_search_among_equal_scores_keeps_the_lowest_cross_entropy():
    assert search({"sure": (0.99, 0.75, 0.51)}).best_params_ == {"sure": 0.75}


def test_search_tries_every_combination():
    found = search({"answer": ("wrong", "right"), "sure": (0.6, 0.7, 0.8)})
    assert len(found.model.fitted) == 6
    assert found.best_params_ == {"answer": "right", "sure": 0.7}


def test_search_without_validation_keeps_a_quarter_aside():
    found = Search(Fixed(), {"sure": (0.6, 0.7)}).fit(INPUTS, GENERATED)
    assert found.model.fitted == [("right", 3, 1)] * 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"metric": "auc"}, "metric is 'auc'; expected 'accuracy' or 'f1'"),
        ({"grid": {"depth": (1,)}}, "grid has 'depth'; expected hyper-parameters of Linear"),
        ({"grid": {"l2": ()}}, r"grid\['l2'\] is empty; expected at least one value"),
    ],
)
def test_search_with_an_unusable_argument_says_what_is_wrong(changes, message):
    with pytest.raises(ParameterError, match=message):
        Search(**{"model": Linear(), "grid": {}, **changes})


def test_grid_of_the_paper_has_the_sizes_of_its_table():
    sizes = {kind: int(np.prod([len(values) for values in grid.values()])) for kind, grid in GRIDS["paper"].items()}
    assert sizes == {"mlp": 75, "transformer": 6, "linear": 4}
    for kind, grid in GRIDS["small"].items():
        assert all(set(values) <= set(GRIDS["paper"][kind][name]) for name, values in grid.items())
