import json
from dataclasses import replace

import numpy as np
import pytest

from experiments.datasets import FAMILIES, by_family, load_datasets
from hyperlabel import ParameterError, VotesError
from tests.conftest import DATA

VOTES = [[0, 1, -1], [-1, -1, -1], [1, 1, -1], [0, -1, -1]]
TRUTH = [0, 1, 1, -1]


@pytest.fixture
def arrays(tmp_path):
    """A folder with one npz set that has everything, and one that has votes and truth only."""
    np.savez(tmp_path / "full.npz", L=VOTES, y=TRUTH, split=[0, 0, 1, 2], hlm_idx=[3, 2])
    np.savez(tmp_path / "bare.npz", L=VOTES, y=TRUTH)
    (tmp_path / "anchors.json").write_text(json.dumps({"full": {"family": "crowd", "metric": "f1", "k": 4}}))
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "full.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in "abcd"))
    return tmp_path


def write_wrench(folder, **splits):
    """One WRENCH set; each split is a mapping of id to (votes, label)."""
    folder.mkdir(parents=True)
    for split, items in splits.items():
        entries = {
            name: {"label": label, "weak_labels": list(votes), "data": {"text": f"{split} {name}"}}
            for name, (votes, label) in items.items()
        }
        (folder / f"{split}.json").write_text(json.dumps(entries))


def test_load_datasets_drops_items_and_lfs_without_votes(arrays):
    full, bare = load_datasets(arrays)
    assert full.votes.tolist() == bare.votes.tolist() == [[0, 1], [1, 1], [0, -1]]
    assert full.truth.tolist() == [0, 1, -1]
    assert full.rows.tolist() == [0, 2, 3]
    assert full.split.tolist() == ["train", "valid", "test"]


def test_load_datasets_takes_family_metric_and_classes_from_anchors(arrays):
    full, bare = load_datasets(arrays)
    assert (full.family, full.metric, full.k) == ("crowd", "f1", 4)
    assert (bare.family, bare.metric, bare.k, bare.split) == ("other", "accuracy", 2, None)


def test_load_datasets_as_released_keeps_the_rows_of_the_authors_loader(arrays):
    full, bare = load_datasets(arrays, as_released=True)
    assert full.rows.tolist() == [3, 2]
    assert full.truth.tolist() == [-1, 1]
    assert bare.rows.tolist() == [0, 2, 3]


def test_read_raw_gives_one_record_an_item_that_is_kept(arrays):
    [full] = load_datasets(arrays, ["full"])
    assert [record["text"] for record in full.read_raw()] == ["a", "c", "d"]


def test_read_raw_without_raw_data_is_refused(arrays):
    [bare] = load_datasets(arrays, ["bare"])
    with pytest.raises(VotesError, match="'bare' has votes and truth only"):
        bare.read_raw()


def test_load_datasets_of_wrench_folders_merges_the_splits(tmp_path):
    write_wrench(tmp_path / "sms", train={"0": ([1, -1], 1), "1": ([-1, -1], 0)}, test={"0": ([0, 0], 0)})
    [sms] = load_datasets(tmp_path)
    assert (sms.name, sms.family, sms.metric, sms.k) == ("sms", "wrench", "f1", 2)
    assert sms.votes.tolist() == [[1, -1], [0, 0]]
    assert sms.split.tolist() == ["train", "test"]
    assert [record["text"] for record in sms.read_raw()] == ["train 0", "test 0"]


def test_load_datasets_of_one_wrench_folder_reads_it(tmp_path):
    write_wrench(tmp_path / "trec", train={"0": ([2, -1], 1)})
    [trec] = load_datasets(tmp_path / "trec")
    assert (trec.name, trec.k, trec.metric) == ("trec", 3, "accuracy")


def test_load_datasets_of_wrench_folders_as_released_lets_later_splits_overwrite(tmp_path):
    split = {"0": ([1, -1], 1), "1": ([0, -1], 0)}
    write_wrench(tmp_path / "sms", train=split, valid={"0": ([0, 0], 0)}, test={"2": ([1, 1], 1)})
    [sms] = load_datasets(tmp_path, as_released=True)
    assert sms.rows.tolist() == [2, 1, 3]
    assert sms.votes.tolist() == [[0, 0], [0, -1], [1, 1]]


@pytest.mark.parametrize("name", ["youtube", "sms"])
def test_load_datasets_as_released_of_wrench_folders_agrees_with_the_authors_rows(tmp_path, real_votes, name):
    votes = real_votes(name)
    with np.load(DATA / f"{name}.npz") as data:
        truth, numbers = data["y"], data["split"]
    splits = {}
    for number, split in enumerate(("train", "valid", "test")):
        rows = np.flatnonzero(numbers == number)
        splits[split] = {str(i): (votes[row].tolist(), int(truth[row])) for i, row in enumerate(rows)}
    write_wrench(tmp_path / name, **splits)
    [ours] = load_datasets(tmp_path, as_released=True)
    [theirs] = load_datasets(DATA, [name], as_released=True)
    np.testing.assert_array_equal(ours.rows, theirs.rows)
    np.testing.assert_array_equal(ours.votes, theirs.votes)


def test_load_datasets_by_name_keeps_the_order(arrays):
    assert [data.name for data in load_datasets(arrays, ["bare", "full"])] == ["bare", "full"]


def test_load_datasets_of_an_unknown_name_lists_the_known_ones(arrays):
    with pytest.raises(ParameterError, match="no data set 'imdb'; it has full, bare"):
        load_datasets(arrays, ["imdb"])


def test_load_datasets_of_an_empty_folder_says_what_was_expected(tmp_path):
    with pytest.raises(ParameterError, match="has no data sets; expected npz files"):
        load_datasets(tmp_path)


def test_load_datasets_of_an_npz_without_truth_names_its_arrays(tmp_path):
    np.savez(tmp_path / "odd.npz", L=VOTES)
    with pytest.raises(VotesError, match="holds L; expected the votes 'L' and the truth 'y'"):
        load_datasets(tmp_path)


def test_by_family_averages_the_sets_of_each_family_and_all_sets(arrays):
    full, bare = load_datasets(arrays)
    sets = [full, bare, replace(bare, family="panel")]
    found = dict(zip((*FAMILIES, "all"), by_family(sets, [1.0, 2.0, 6.0]), strict=True))
    assert np.isnan(found.pop("wrench"))
    assert found == {"crowd": 1.0, "panel": 6.0, "other": 2.0, "all": 3.0}


@pytest.mark.skipif(not DATA.is_dir(), reason="the real sets are not beside the repository")
def test_every_real_set_is_of_a_known_family():
    anchors = json.loads((DATA / "anchors.json").read_text(encoding="utf-8"))
    assert {anchor["family"] for anchor in anchors.values()} == set(FAMILIES)
