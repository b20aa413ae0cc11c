"""Exports of annotation tools, in files of their own format, and Hugging Face datasets in and out."""

import json

import numpy as np
import pytest

import hyperlabel as hl
from hyperlabel.compat.annotations import (
    argilla_judgments,
    label_studio_judgments,
    potato_judgments,
    prodigy_judgments,
    to_dataset,
)
from hyperlabel.errors import VotesError

NAMES = {"item": "item", "judge": "judge", "vote": "value"}
PEOPLE = ("ann", "bob", "cem")


@pytest.fixture
def answers():
    """(item, person) -> answer, None for a skipped one."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 40)
    said = {
        (i, who): ("good", "bad")[truth[i] if rng.random() < 0.9 else 1 - truth[i]] for i in range(40) for who in PEOPLE
    }
    said[3, "bob"] = None
    return said


def check(records, answers):
    """All answers arrive, and the panel labels them as it labels the answers themselves."""
    assert {(int(str(r["item"]).lstrip("t")), r["judge"]): r["value"] for r in records} == answers
    verdicts = hl.jury(records, **NAMES)
    rows = [{"item": i, "judge": who, "value": value} for (i, who), value in answers.items()]
    want = hl.jury(rows, **NAMES).to_pandas().set_index("item")["label"]
    got = verdicts.to_pandas().set_index("item")["label"]
    assert got.tolist() == want.tolist()
    assert verdicts.judges["failed"].sum() == 1


def test_label_studio(answers, tmp_path):
    def annotation(number, who, value):
        result = [{"from_name": "mood", "to_name": "text", "type": "choices", "value": {"choices": [value]}}]
        result.append({"from_name": "sure", "to_name": "text", "type": "rating", "value": {"rating": 4}})
        skipped = value is None
        person = {"id": number, "email": who, "first_name": ""}
        return {"id": number, "completed_by": person, "was_cancelled": skipped, "result": [] if skipped else result}

    tasks = [
        {
            "id": i,
            "data": {"text": f"text {i}"},
            "annotations": [annotation(n, who, answers[i, who]) for n, who in enumerate(PEOPLE)],
            "predictions": [],
        }
        for i in range(40)
    ]
    path = tmp_path / "export.json"
    path.write_text(json.dumps(tasks), encoding="utf-8")
    check(label_studio_judgments(path, "mood"), answers)
    assert {row["value"] for row in label_studio_judgments(path, "sure")} == {4, None}
    with pytest.raises(VotesError, match=r"item 0 has several values, \['.*', 4\]; expected one: name one question"):
        label_studio_judgments(path)
    with pytest.raises(VotesError, match="export of Label Studio has no annotation about 'other'"):
        label_studio_judgments(path, "other")


def test_argilla(answers, tmp_path):
    def response(who, value):
        return {"value": value or "good", "user_id": who, "status": "submitted" if value else "discarded"}

    records = [
        {
            "id": str(i),
            "fields": {"text": f"text {i}"},
            "metadata": {},
            "suggestions": {},
            "responses": {"mood": [response(who, answers[i, who]) for who in PEOPLE]},
        }
        for i in range(40)
    ]
    path = tmp_path / "records.json"
    path.write_text(json.dumps(records), encoding="utf-8")
    check(argilla_judgments(path, "mood"), answers)
    with pytest.raises(VotesError, match="export of Argilla has no annotation about 'other'"):
        argilla_judgments(path, "other")


@pytest.mark.parametrize("kind", ["choice", "binary"])
def test_prodigy(answers, tmp_path, kind):
    lines = []
    for (i, who), value in answers.items():
        line = {"text": f"text {i}", "_input_hash": i, "_task_hash": i, "_annotator_id": who, "_session_id": f"s-{who}"}
        if kind == "choice":
            options = [{"id": c, "text": c} for c in ("good", "bad")]
            said = {"options": options, "accept": [value] if value else [], "answer": "accept" if value else "ignore"}
        else:
            said = {"label": "GOOD", "answer": {"good": "accept", "bad": "reject", None: "ignore"}[value]}
        lines.append(json.dumps(line | said))
    path = tmp_path / "annotations.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    names = {None: None, "good": "accept", "bad": "reject"}
    wanted = answers if kind == "choice" else {key: names[value] for key, value in answers.items()}
    check(prodigy_judgments(path), wanted)


def test_potato(answers, tmp_path):
    for who in PEOPLE:
        (tmp_path / who).mkdir()
        lines = [
            {
                "id": f"t{i}",
                "displayed_text": f"text {i}",
                "label_annotations": {"mood": {answers[i, who]: "true"} if answers[i, who] else {}},
                "span_annotations": {},
                "behavioral_data": {"time_string": "Time spent: 0d 0h 0m 3s "},
            }
            for i in range(40)
        ]
        path = tmp_path / who / "annotated_instances.jsonl"
        path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    check(potato_judgments(tmp_path, "mood"), answers)


def test_a_file_that_is_no_export_is_refused(tmp_path):
    path = tmp_path / "export.json"
    path.write_text("item,judge\n", encoding="utf-8")
    with pytest.raises(VotesError, match="is neither JSON nor JSON lines .*; export it again"):
        prodigy_judgments(path)


def test_hugging_face_datasets_go_in_and_come_out(answers, tmp_path):
    datasets = pytest.importorskip("datasets")
    rows = [{"item": i, "judge": who, "value": value} for (i, who), value in answers.items()]
    datasets.Dataset.from_list(rows).save_to_disk(tmp_path / "judgments")
    verdicts = hl.jury(datasets.load_from_disk(str(tmp_path / "judgments")), **NAMES)
    want = hl.jury(rows, **NAMES).to_pandas()
    to_dataset(verdicts).save_to_disk(tmp_path / "verdicts")
    back = datasets.load_from_disk(str(tmp_path / "verdicts"))
    assert back.features["label"].names == ["bad", "good"]
    assert [back.features["label"].int2str(c) for c in back["label"]] == want["label"].tolist()
    np.testing.assert_allclose(back["p_good"], want["p_good"])
    assert back["dissenters"][:] == want["dissenters"].tolist()


def test_a_dataset_keeps_items_without_a_label_and_numbers():
    pytest.importorskip("datasets")
    rows = [{"item": i, "judge": j, "value": "a" if i else None} for i in range(5) for j in "xy"]
    rows[2]["value"] = "b"
    assert to_dataset(hl.jury(rows, **NAMES))["label"][0] is None
    stars = [{"item": i, "judge": j, "value": 1 + i} for i in range(5) for j in "xy"]
    dataset = to_dataset(hl.jury(stars, **NAMES))
    assert dataset["label"][:] == [1, 2, 3, 4, 5]
    assert "string" in str(dataset.features["dissenters"])  # although nobody dissents
