import numpy as np
import pytest

from experiments import sharpness
from hyperlabel.networks import load_weights


def test_loss_of_sharpened_probabilities_is_least_where_they_are_the_shares():
    raw = np.array([[0.52, 0.48]])
    even = 0.52**10 / (0.52**10 + 0.48**10)
    judged = raw, np.array([[round(1000 * even), 1000 - round(1000 * even)]])
    losses = [sharpness.loss(judged, power) for power in (1, 5, 10, 20, 80)]
    assert np.argmin(losses) == 2


def test_fitted_power_is_written_to_the_header_and_sharpens(tmp_path, capsys):
    path = tmp_path / "weights.safetensors"
    load_weights("hlm").save(path)
    power = sharpness.run(path, sets=4)
    assert load_weights(path).header["sharpness"] == power
    assert power in sharpness.POWERS
    assert power > 4
    assert f"{power:.2f}" in capsys.readouterr().out


def test_bundled_weights_have_a_sharpness():
    assert load_weights("hlm").header["sharpness"] == pytest.approx(26.91, abs=0.01)
