"""The studio's experiments on a few texts: the person follows, the stopwatch counts."""

import json

import pytest

from experiments import studio_person, studio_speed
from hyperlabel.errors import ParameterError

TEXTS = [
    "free money here",
    "win free prizes",
    "free gift card",
    "love this song",
    "great song here",
    "song of the year",
]


@pytest.fixture
def data(tmp_path):
    rows = [{"text": f"{TEXTS[i % 6]} {i}", "truth": int(i % 6 < 3)} for i in range(48)]
    (tmp_path / "items").mkdir()
    (tmp_path / "items" / "few.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return tmp_path


def test_a_person_who_follows_the_studio_gets_a_share_of_right_labels_after_each_interaction(data):
    texts = studio_person.Texts.read(data, "few")
    shares = studio_person.follow(texts, last=12)
    assert len(shares) == 12
    assert shares[-1] > shares[0]
    assert shares[-1] > 0.8


def test_texts_that_are_not_there_are_refused(tmp_path):
    with pytest.raises(ParameterError, match=r"there are no texts at .*; name the folder with --data"):
        studio_person.Texts.read(tmp_path, "nothing")


def test_the_speed_of_few_texts_has_a_line_for_every_kind_of_work(monkeypatch):
    monkeypatch.setattr(studio_speed, "LFS", 2)
    table = studio_speed.run(500, 1000)
    for what in (*studio_speed.WANTED, studio_speed.LEARN, "open 500 rows", "write labels of 1,000 rows"):
        assert f"| {what} |" in table
