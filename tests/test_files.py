"""Files that appear whole or not at all."""

import os

import pytest

import hyperlabel as hl
from hyperlabel.files import replacing


def test_new_file_takes_the_place_of_the_old_one(tmp_path):
    (tmp_path / "a").write_text("old")
    with replacing(tmp_path / "a") as part:
        part.write_text("new")
        assert (tmp_path / "a").read_text() == "old"
    assert (tmp_path / "a").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def write_half(path):
    with replacing(path) as part:
        part.write_text("ne")
        raise RuntimeError("the other half is missing")


@pytest.mark.parametrize("there", [False, True])
def test_writing_that_fails_leaves_what_was_there(tmp_path, there):
    if there:
        (tmp_path / "a").write_text("old")
    with pytest.raises(RuntimeError, match="half"):
        write_half(tmp_path / "a")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"] * there


@pytest.mark.skipif(os.name == "nt", reason="Windows has no umask")
def test_saved_model_may_be_read_by_whom_new_files_may_be(tmp_path):
    old = os.umask(0o027)
    try:
        hl.HyperLabelModel().save(tmp_path / "model.safetensors")
    finally:
        os.umask(old)
    assert (tmp_path / "model.safetensors").stat().st_mode & 0o777 == 0o640
