"""The studio's experiments on a few texts: the person follows, the stopwatch counts."""

import json

import pytest

from experiments import studio_person, studio_speed
from hyperlabel.errors import ParameterError
from hyperlabel.studio import Project

TEXTS = [
    "free money here",
    "win free prizes",
    "free gift card",
    "love this song",
    "great song here",
    "song of the year",
]


@pytest.fixture
def texts(tmp_path):
    rows = [{"id": f"t{i}", "text": f"{TEXTS[i % 6]} {i}", "label": int(i % 6 < 3)} for i in range(48)]
    path = tmp_path / "texts.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def test_a_person_who_follows_the_studio_gives_the_gold_and_writes_the_rules_asked_for(texts, tmp_path):
    table = studio_person.read_texts(texts, tmp_path)
    points = studio_person.follow(table, tmp_path / "project", n_gold=4, rules=3)
    assert [point.rules for point in points] == [1, 2, 3]
    with Project(folder=tmp_path / "project") as project:
        assert len(project.state.gold) == 4
        assert len(project.source.lfs) == 3
        assert points[-1] == studio_person.measure(project, 4, 3)
        assert points[-1].accuracy == pytest.approx(points[-1].covered * points[-1].accuracy_of_labeled)
        assert project.stats.truth.value == pytest.approx(points[-1].accuracy)


def test_texts_that_are_not_there_are_refused(tmp_path):
    with pytest.raises(ParameterError, match=r"there are no texts at .*; name a file of JSON lines"):
        studio_person.read_texts(tmp_path / "nothing.jsonl", tmp_path)


def test_the_speed_of_few_texts_has_a_line_for_every_kind_of_work(monkeypatch):
    monkeypatch.setattr(studio_speed, "LFS", 2)
    table = studio_speed.run(500, 1000)
    for what in (*studio_speed.WANTED, "open 500 rows", "write labels of 1,000 rows"):
        assert f"| {what} |" in table
