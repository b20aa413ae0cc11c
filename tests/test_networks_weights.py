import numpy as np
import pytest
from numpy.testing import assert_array_equal

import hyperlabel as hl
from hyperlabel._core import write_tensors
from hyperlabel.errors import WeightsError
from hyperlabel.networks import BUNDLED, Weights, is_unrolled, load_weights, paper_shapes

WIDTHS = [4, 8]


@pytest.fixture
def weights(make_weights):
    return make_weights(WIDTHS)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "some.safetensors"


def write(path, arrays, header=None):
    """A whole file whose arrays and header need not fit together."""
    write_tensors(path, dict(arrays), {"widths": WIDTHS} if header is None else header, "weights")


def test_weights_saved_and_loaded_are_the_same(weights, path):
    weights.save(path)
    loaded = load_weights(path)
    assert loaded.header == weights.header
    assert loaded.arrays.keys() == weights.arrays.keys()
    for name, array in loaded.arrays.items():
        assert array.dtype == np.float32
        assert_array_equal(array, weights.arrays[name])


def test_weights_by_path_as_text_are_those_of_the_path(weights, path):
    weights.save(str(path))
    assert load_weights(str(path)).header == load_weights(path).header


def test_weights_copy_when_changed_leaves_the_original(weights):
    copy = weights.copy()
    copy.arrays["layer0.bias"][:] = 0
    copy.header["model"] = "other"
    assert weights.arrays["layer0.bias"].all()
    assert weights.header["model"] == "random"


def test_weights_saved_over_an_old_file_replace_it_and_leave_nothing_else(weights, path):
    path.write_text("old")
    weights.save(path)
    assert load_weights(path).header == weights.header
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("where", ["missing/some.safetensors", "folder"])
def test_weights_saved_where_no_file_can_be_raise_and_leave_nothing(weights, tmp_path, where):
    (tmp_path / "folder").mkdir()
    with pytest.raises(WeightsError, match=rf"path is '.*{where}', but no file can be written there"):
        weights.save(tmp_path / where)
    assert [path.name for path in tmp_path.rglob("*")] == ["folder"]


def test_shapes_of_the_paper_follow_the_widths():
    assert paper_shapes([4, 8]) == {
        **{f"layer0.{term}": (4, 1) for term in ("self", "row", "column", "all")},
        "layer0.bias": (4,),
        **{f"layer1.{term}": (8, 4) for term in ("self", "row", "column", "all")},
        "layer1.bias": (8,),
        **{"head0.weight": (8, 8), "head0.bias": (8,), "head1.weight": (8, 8), "head1.bias": (8,)},
        **{"head2.weight": (1, 8), "head2.bias": (1,)},
    }


@pytest.mark.parametrize("name", ["hlm2.safetensors", "deafult", "", "."])
def test_load_weights_of_an_unknown_name_lists_the_known_ones(name):
    message = rf"weights is '{name}'; expected one of {', '.join(BUNDLED)} or the path of a weights file that exists"
    with pytest.raises(WeightsError, match=message):
        load_weights(name)


def test_load_weights_of_a_broken_file_raises(path):
    path.write_bytes(b"broken")
    with pytest.raises(WeightsError, match=r"some\.safetensors is not a complete safetensors file .*save it again"):
        load_weights(path)


@pytest.mark.parametrize("widths", [[], 4, [4, 0], [4, 8.0], [4, True], [1 << 20], [1] * 65, "44", None])
def test_load_weights_of_impossible_widths_raises(weights, path, widths):
    write(path, weights.arrays, {"widths": widths})
    with pytest.raises(WeightsError, match=r"has sizes .* in its header; expected widths, a list of positive integers"):
        load_weights(path)


def test_load_weights_of_a_header_without_sizes_raises(weights, path):
    write(path, weights.arrays, {})
    with pytest.raises(WeightsError, match="has sizes None in its header; expected widths"):
        load_weights(path)


@pytest.mark.parametrize(("widths", "name"), [([4, 16], "head0.bias"), ([4], "head0.bias"), ([4, 8, 8], "layer2.all")])
def test_load_weights_whose_header_states_other_widths_raises(weights, path, widths, name):
    write(path, weights.arrays, {"widths": widths})
    with pytest.raises(WeightsError, match=rf"array '{name}' is .*; expected .* The file does not match its header"):
        load_weights(path)


def test_load_weights_with_a_wrong_shape_names_the_array(weights, path):
    write(path, weights.arrays | {"layer1.row": np.zeros((4, 8), np.float32)})
    with pytest.raises(WeightsError, match=r"array 'layer1\.row' is float32 \(4, 8\); expected float32 \(8, 4\)"):
        load_weights(path)


@pytest.mark.parametrize("dtype", ["float16", "float64", "int32"])
def test_load_weights_with_a_wrong_type_names_the_array(weights, path, dtype):
    write(path, weights.arrays | {"layer0.bias": np.zeros(4, dtype)})
    with pytest.raises(WeightsError, match=rf"array 'layer0\.bias' is {dtype} \(4,\); expected float32 \(4,\)"):
        load_weights(path)


def test_load_weights_with_a_missing_array_names_it(weights, path):
    write(path, {name: array for name, array in weights.arrays.items() if name != "head1.weight"})
    with pytest.raises(WeightsError, match=r"array 'head1\.weight' is missing; expected float32 \(8, 8\)"):
        load_weights(path)


def test_load_weights_with_an_array_too_many_names_it(weights, path):
    write(path, weights.arrays | {"layer2.self": np.zeros((8, 8), np.float32)})
    with pytest.raises(WeightsError, match=r"array 'layer2\.self' is float32 \(8, 8\); expected no such array"):
        load_weights(path)


@pytest.mark.parametrize("value", [np.nan, np.inf, -1e7])
def test_load_weights_with_numbers_that_are_too_large_raises(weights, path, value):
    weights.arrays["head0.bias"][2] = value
    weights.save(path)
    with pytest.raises(WeightsError, match=r"holds a weight of .*; expected numbers below 1e\+06"):
        load_weights(path)


def test_model_with_a_broken_weights_file_raises_when_it_predicts(path):
    path.write_text("broken")
    with pytest.raises(WeightsError, match="is not a complete safetensors file"):
        hl.HyperLabelModel(weights=path).predict([[0, 1]])


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_weights_are_read_only_and_read_once(name):
    bundled = load_weights(name)
    assert load_weights(name) is bundled
    for array in bundled.arrays.values():
        with pytest.raises(ValueError, match="read-only"):
            array += 1


def test_bundled_weights_copy_can_be_changed():
    copy = load_weights("hlm").copy()
    copy.arrays["head2.bias"] += 1
    assert copy.arrays["head2.bias"] != load_weights("hlm").arrays["head2.bias"]


def test_bundled_weights_say_what_they_are():
    header = load_weights("hlm").header
    assert header["model"] == "hlm"
    assert "Hyper label model" in header["description"]
    assert "synthetic" in header["description"]
    assert header["recipe"]["prior"] == "uniform"
    assert header["recipe"]["widths"] == header["widths"]
    assert header["run"]["iterations"] > 0
    assert header["selected"].startswith("of 10 runs")


def test_default_weights_are_bundled():
    assert isinstance(load_weights("default"), Weights)
    assert load_weights("default").header["model"] in BUNDLED


def test_unrolled_weights_saved_and_loaded_are_the_same(make_unrolled_weights, path):
    made = make_unrolled_weights(width=4, steps=2)
    made.save(path)
    loaded = load_weights(path)
    assert is_unrolled(loaded)
    assert loaded.header == made.header
    for name, array in made.arrays.items():
        assert_array_equal(loaded.arrays[name], array)


def test_weights_of_the_paper_are_not_unrolled(weights):
    assert not is_unrolled(weights)


@pytest.mark.parametrize(
    "header",
    [{"steps": 2}, {"steps": 0, "width": 4}, {"steps": 2, "width": 4.0}, {"steps": [2]}, {"steps": 10**9, "width": 4}],
)
def test_load_unrolled_weights_of_impossible_sizes_raises(make_unrolled_weights, path, header):
    write(path, make_unrolled_weights(width=4, steps=2).arrays, header)
    with pytest.raises(WeightsError, match=r"has sizes \[.*; expected width and steps, two positive integers"):
        load_weights(path)


@pytest.mark.parametrize(
    ("header", "name"), [({"steps": 3, "width": 4}, r"step2\."), ({"steps": 2, "width": 8}, r"step0\.")]
)
def test_load_unrolled_weights_whose_header_states_other_sizes_raises(make_unrolled_weights, path, header, name):
    write(path, make_unrolled_weights(width=4, steps=2).arrays, header)
    with pytest.raises(WeightsError, match=rf"array '{name}.* does not match its header; export it again"):
        load_weights(path)
