"""Files of arrays and a header: whole or refused, of the kind that is asked for, never unpickled."""

import json
import pickle
import struct

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from safetensors.numpy import load_file, save_file

from hyperlabel._core import kind_of, plain_classes, read_tensors, write_tensors
from hyperlabel._core.tensors import FORMAT, KINDS
from hyperlabel.errors import WeightsError

ARRAYS = {
    "whole": np.arange(6).reshape(2, 3),
    "floats": np.array([0.1, 1e-300, -0.0]),
    "narrow": np.array([1.5], np.float32),
    "flags": np.array([True, False]),
    "none": np.zeros((0, 4)),
}
HEADER = {"model": "some", "names": ["a", "ü", "[[{"], "number": 0.1, "nothing": None}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "some.safetensors"


@pytest.fixture
def written(path):
    write_tensors(path, ARRAYS, HEADER, "model")
    return path


def rewrite(path, arrays=None, **metadata):
    """The same file with other arrays or metadata, its checksum as it was."""
    content = path.read_bytes()
    head = json.loads(content[8 : 8 + struct.unpack("<Q", content[:8])[0]])
    save_file(arrays or load_file(path), path, {**head["__metadata__"], **metadata})


def test_arrays_and_header_are_read_as_they_were_written(written):
    arrays, header = read_tensors(written, "model")
    assert header == HEADER
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert_array_equal(arrays[name], array)


def test_arrays_that_are_not_contiguous_are_written_as_they_look(path):
    array = np.arange(12).reshape(3, 4)
    write_tensors(path, {"turned": array.T, "strided": array[:, ::2]}, {}, "model")
    arrays, _ = read_tensors(path, "model")
    assert_array_equal(arrays["turned"], array.T)
    assert_array_equal(arrays["strided"], array[:, ::2])


def test_file_written_over_an_old_one_replaces_it_and_leaves_nothing_else(path):
    path.write_text("old")
    write_tensors(path, ARRAYS, HEADER, "model")
    assert read_tensors(path, "model")[1] == HEADER
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("value", [object(), {1, 2}, float("nan"), float("inf")])
def test_header_that_json_does_not_know_is_refused_and_nothing_is_written(path, value):
    with pytest.raises(WeightsError, match=r"path is '.*', but not everything can be saved"):
        write_tensors(path, ARRAYS, {"value": value}, "model")
    assert not path.exists()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("asked", KINDS)
def test_file_of_another_kind_says_what_it_is_good_for(path, kind, asked):
    write_tensors(path, ARRAYS, HEADER, kind)
    assert kind_of(path) == kind
    if kind == asked:
        read_tensors(path, asked)
        return
    with pytest.raises(WeightsError) as caught:
        read_tensors(path, asked)
    assert str(caught.value) == f"{path} holds {KINDS[kind]}"


@pytest.mark.parametrize("metadata", [None, {"format": "pt"}, {"format": FORMAT + "other"}])
def test_foreign_safetensors_file_is_refused(path, metadata):
    save_file({"embedding": np.zeros((2, 2), np.float32)}, path, metadata)
    assert kind_of(path) is None
    with pytest.raises(WeightsError, match=r"safetensors file of another kind \(format .*\); expected hyperlabel-"):
        read_tensors(path, "weights")


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.999])
def test_truncated_file_is_refused(written, share):
    content = written.read_bytes()
    written.write_bytes(content[: int(share * len(content))])
    assert kind_of(written) is None
    with pytest.raises(WeightsError, match=r"some\.safetensors is not a complete safetensors file .*save it again"):
        read_tensors(written, "model")


def test_random_bytes_and_missing_files_are_refused(path):
    with pytest.raises(WeightsError, match=r"^there is no file '.*'; check the path$"):
        read_tensors(path, "model")
    path.write_bytes(np.random.default_rng(0).bytes(4096))
    with pytest.raises(WeightsError, match="is not a complete safetensors file"):
        read_tensors(path, "model")


class Tripwire:
    def __reduce__(self):
        return (pytest.fail, ("a file was unpickled",))


def test_pickle_is_refused_and_unpickles_nothing(path):
    path.write_bytes(pickle.dumps({"layer0.self": Tripwire()}))
    with pytest.raises(WeightsError, match="is not a complete safetensors file"):
        read_tensors(path, "model")


def test_every_byte_of_the_arrays_is_covered_by_the_checksum(written):
    content = written.read_bytes()
    begin = 8 + struct.unpack("<Q", content[:8])[0]
    for at in range(begin, len(content)):
        written.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        with pytest.raises(WeightsError, match="is damaged: its checksum does not match what it holds; download or"):
            read_tensors(written, "model")


@pytest.mark.parametrize(
    "change",
    [
        {"header": json.dumps({**HEADER, "number": 0.2})},
        {"checksum": "0" * 64},
        {"arrays": {**ARRAYS, "more": np.zeros(1)}},
        {"arrays": {**ARRAYS, "whole": ARRAYS["whole"].reshape(3, 2)}},
        {"arrays": {**ARRAYS, "narrow": np.array([1.5], np.float32).view(np.int32)}},
        {"arrays": {**ARRAYS, "whole": ARRAYS["floats"], "floats": ARRAYS["whole"]}},
    ],
    ids=["header", "checksum", "an array more", "a shape", "a type", "names exchanged"],
)
def test_changed_names_types_shapes_and_headers_are_noticed(written, change):
    rewrite(written, **change)
    with pytest.raises(WeightsError, match="is damaged: its checksum does not match"):
        read_tensors(written, "model")


def test_rewritten_file_without_a_change_is_read(written):
    rewrite(written)
    assert read_tensors(written, "model")[1] == HEADER


@pytest.mark.parametrize("header", ["", "not json", "[4, 8]", "7"])
def test_header_that_is_no_object_is_refused(written, header):
    rewrite(written, header=header)
    with pytest.raises(WeightsError, match="has a header that is not a JSON object; download or save it again"):
        read_tensors(written, "model")


def test_very_deep_header_is_refused(written):
    rewrite(written, header="[" * 200_000)
    with pytest.raises(WeightsError, match="has a header that is not a JSON object"):
        read_tensors(written, "model")


@pytest.mark.parametrize("where", ["missing/some.safetensors", "folder"])
def test_file_that_cannot_be_written_raises_and_leaves_nothing(tmp_path, where):
    (tmp_path / "folder").mkdir()
    with pytest.raises(WeightsError, match=rf"path is '.*{where}', but no file can be written there"):
        write_tensors(tmp_path / where, ARRAYS, HEADER, "model")
    assert [path.name for path in tmp_path.rglob("*")] == ["folder"]


@pytest.mark.parametrize("name", [("a", 1), None, b"ham"])
def test_classes_that_a_header_cannot_keep_are_refused(name):
    with pytest.raises(WeightsError, match=r"classes holds .*; only strings and numbers can be saved"):
        plain_classes(["ham", name])


def test_equal_contents_are_equal_files(path):
    contents = set()
    for _ in range(8):
        write_tensors(path, ARRAYS, HEADER, "model")
        contents.add(path.read_bytes())
    assert len(contents) == 1
    assert read_tensors(path, "model")[1] == HEADER
