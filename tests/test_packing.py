"""Files of models that somebody forged: the checksum fits, what they hold does not."""

import warnings

import numpy as np
import pytest

import hyperlabel as hl
from hyperlabel import ParameterError, WeightsError
from hyperlabel._core import read_tensors, write_tensors

VOTES = [[0, 1, 1], [1, 1, 0], [0, 0, -1], [1, -1, 1]]
PARAMS = {"rf": {"n_trees": 3, "max_depth": (2,)}, "ebcc": {"restarts": 2}}
MODELS = [name for name in hl.label_models() if name != "amcl"]  # whose game is solved at leisure


def make_file(name, path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        hl.label_model(name, **PARAMS.get(name, {})).fit(VOTES, gold=[0, 1, -1, -1]).save(path)
    return read_tensors(path, "model")


def load_forged(path, arrays, header):
    write_tensors(path, arrays, header, "model")
    return hl.load(path)


WRONG_ARRAYS = {
    "zero": lambda a: a * 0,
    "huge": lambda a: np.full_like(a, 3e38 if a.dtype.kind == "f" else 2**62 if a.dtype.kind == "i" else 1),
    "negative": lambda a: a if a.dtype.kind == "b" else np.full_like(a, -1),
    "short": lambda a: a[:-1],
    "deep": lambda a: a[None],
    "halves": lambda a: a.astype(np.float32),
}


@pytest.mark.parametrize("name", MODELS)
def test_forged_arrays_are_refused_or_give_probabilities(name, tmp_path):
    path = tmp_path / "m.safetensors"
    arrays, header = make_file(name, path)
    state = [key for key in arrays if not key.startswith("weights/")]
    refused = 0
    for key in state:
        for change in (None, *WRONG_ARRAYS.values()):
            others = {k: a for k, a in arrays.items() if k != key}
            forged = others if change is None else others | {key: change(arrays[key])}
            try:
                model = load_forged(path, forged, header)
                with np.errstate(all="ignore"):
                    shares = model.predict_proba([[0, 1, 1], [1, 1, 1], [-1, 0, -1]])
                np.testing.assert_allclose(shares.sum(1), 1)
                assert (shares >= 0).all()
            except (WeightsError, ParameterError):
                refused += 1
    assert refused >= len(state)


@pytest.mark.parametrize(
    ("name", "key", "change", "message"),
    [
        ("rf", "state/threshold", lambda a: a[:, None], "the parts of its trees do not fit together"),
        ("rf", "state/roots", lambda a: a[:0], "the parts of its trees do not fit together"),
        ("hlm3", "state/gold_worth", lambda a: np.append(a, a), "gold_worth has shape .4,.; expected one number for"),
    ],
)
def test_forged_shape_that_fits_by_accident_is_refused(tmp_path, name, key, change, message):
    path = tmp_path / "m.safetensors"
    arrays, header = make_file(name, path)
    with pytest.raises(WeightsError, match=message):
        load_forged(path, arrays | {key: change(arrays[key])}, header)


@pytest.mark.parametrize("name", ["hlm3", "hlm", "rf"])
def test_file_that_could_not_be_saved_again_is_refused(tmp_path, name):
    path = tmp_path / "m.safetensors"
    arrays, header = make_file(name, path)
    with pytest.raises(WeightsError, match="does not hold a complete label model"):
        load_forged(path, arrays, header | {"learned": {}})


WRONG_VALUES = (None, 5, "x", [], {}, [[]], 10**12, -1, 3.5, [1, 2, 3], {"a": 1}, ["a", "a", "a"])
PLACES = ("params", "seen", "learned", "model", "seen/classes", "seen/lf_names", "seen/n_lfs", "params/seed")


@pytest.mark.parametrize("name", ["hlm3", "hlm", "mv", "ds"])
def test_forged_headers_are_refused_or_give_probabilities(name, tmp_path):
    path = tmp_path / "m.safetensors"
    arrays, header = make_file(name, path)
    for place in (*PLACES, *(("weights", "own_weights") if "weights" in header else ())):
        first, _, second = place.partition("/")
        for value in WRONG_VALUES:
            forged = header | {first: {**header[first], second: value} if second else value}
            try:
                shares = load_forged(path, arrays, forged).predict_proba(VOTES)
                np.testing.assert_allclose(shares.sum(1), 1)
            except (WeightsError, ParameterError):
                continue


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("n_lfs", 10**12, "does not hold a complete label model .n_lfs is 1000000000000.; save it again"),
        ("n_lfs", "3", "n_lfs is '3'"),
        ("lf_names", ["a", "a", "b"], "lf_names must be 3 different strings"),
        ("lf_names", "abc", "lf_names must be 3 different strings"),
        ("classes", [1, "a"], "all whole numbers, all strings or all booleans"),
        ("classes", None, "classes are missing"),
    ],
)
def test_forged_header_names_what_is_wrong(tmp_path, place, value, message):
    path = tmp_path / "m.safetensors"
    arrays, header = make_file("mv", path)
    with pytest.raises(WeightsError, match=message):
        load_forged(path, arrays, header | {"seen": header["seen"] | {place: value}})


@pytest.mark.parametrize("name", ["predict", "_context", "classes_", "__class__"])
def test_file_cannot_replace_what_is_not_learned(tmp_path, name):
    path = tmp_path / "m.safetensors"
    arrays, header = make_file("mv", path)
    with pytest.raises(WeightsError, match="is not a learned attribute"):
        load_forged(path, arrays, header | {"learned": header["learned"] | {name: 1}})


def test_numbers_that_leave_their_range_are_an_error_and_no_labels(tmp_path):
    model = hl.label_model("fs").fit([[0, 1, 1], [1, 1, 0], [0, 0, 0]])
    model.evidence_[0] = np.nan
    with np.errstate(all="ignore"), pytest.raises(ParameterError, match="its numbers are out of range"):
        model.predict([[0, 1, 1]])
