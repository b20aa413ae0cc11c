"""The context in which a fitted model judges."""

import numpy as np
import pytest

import hyperlabel as hl


@pytest.mark.parametrize("name", ["mv", "hlm3"])
def test_rows_without_votes_beside_votes_for_unseen_classes_are_uniform(name):
    model = hl.label_model(name, classes=[0, 1, 2]).fit([[0, 1, 1], [1, 1, 0]])
    found = model.predict_proba([[2, 1, 1], [-1, -1, -1]])
    np.testing.assert_allclose(found[1], 1 / 3)
    np.testing.assert_allclose(found[0, 2], 1 / 3)
