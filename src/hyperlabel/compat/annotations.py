"""Exports of annotation tools as judgments, and labels as a Hugging Face dataset.

Each function reads an export with several annotators into records with `item`, `judge` and `value`, for
`hyperlabel.jury(records, item="item", judge="judge", vote="value")`. What an annotator skipped has no value and counts
as failed. A Hugging Face dataset of judgments goes into `hyperlabel.jury` as it is.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hyperlabel._core import show
from hyperlabel.errors import VotesError, require
from hyperlabel.panel import Jury

Records = list[dict[str, Any]]


def label_studio_judgments(export: object, name: str | None = None) -> Records:
    """Read an export of Label Studio, format JSON: a file, or its list of tasks. A rejected task has no value.

    Args:
        export: The file or the tasks.
        name: The control (`from_name`) whose answer is the vote; may be left out if there is only one.

    >>> answer = {"from_name": "mood", "type": "choices", "value": {"choices": ["good"]}}
    >>> label_studio_judgments([{"id": 7, "annotations": [{"completed_by": 1, "result": [answer]}]}])
    [{'item': 7, 'judge': '1', 'value': 'good'}]
    """
    records = []
    for task in _read(export):
        for each in task.get("annotations") or ():
            who = each.get("completed_by")
            judge = str(who.get("email", who.get("id")) if isinstance(who, Mapping) else who)
            answers = [r for r in each.get("result") or () if name is None or r.get("from_name") == name]
            values = [value for answer in answers for value in _answers(answer)]
            skipped = each.get("was_cancelled") or not values
            records.append({"item": task["id"], "judge": judge, "value": None if skipped else _one(values, task["id"])})
    return _check(records, "Label Studio", name)


def _answers(answer: Mapping[str, Any]) -> list[Any]:
    """The values of one control: choices, a rating or a number."""
    value = answer["value"].get(answer["type"])
    return value if isinstance(value, list) else [] if value is None else [value]


def argilla_judgments(export: object, question: str) -> Records:
    """Read records of Argilla: the file of `dataset.records.to_json`, or its list. Discarded responses have no value.

    Args:
        export: The file or the records.
        question: The question whose responses are the votes.

    >>> responses = {"label": [{"value": "good", "user_id": "ann"}]}
    >>> argilla_judgments([{"id": "r1", "responses": responses}], "label")
    [{'item': 'r1', 'judge': 'ann', 'value': 'good'}]
    """
    records = []
    for row in _read(export):
        for response in (row.get("responses") or {}).get(question) or ():
            kept = response.get("status", "submitted") == "submitted"
            value = response["value"] if kept else None
            records.append({"item": row["id"], "judge": str(response["user_id"]), "value": value})
    return _check(records, "Argilla", question)


def prodigy_judgments(export: object) -> Records:
    """Read annotations of Prodigy: the JSON lines of `prodigy db-out`, or their list. Ignored ones have no value.

    The vote is the option that was chosen; in binary tasks it is `accept` or `reject`, and each label of a text is an
    item of its own.

    >>> line = {"_input_hash": 5, "_task_hash": 6, "_annotator_id": "ann", "answer": "accept"}
    >>> prodigy_judgments([line | {"accept": ["good"]}, line | {"label": "SPAM"}])
    [{'item': 5, 'judge': 'ann', 'value': 'good'}, {'item': 6, 'judge': 'ann', 'value': 'accept'}]
    """
    records = []
    for row in _read(export):
        choice = "accept" in row
        item, answer = row["_input_hash" if choice else "_task_hash"], row["answer"]
        value = _one(row["accept"], item) if choice and row["accept"] else answer
        skipped = answer == "ignore" or (choice and (answer != "accept" or not row["accept"]))
        judge = row.get("_annotator_id") or row.get("_session_id")
        records.append({"item": item, "judge": str(judge), "value": None if skipped else value})
    return _check(records, "Prodigy", None)


def potato_judgments(folder: str | Path, schema: str) -> Records:
    """Read annotations of Potato: its output folder, which has a folder with `annotated_instances.jsonl` per annotator.

    Args:
        folder: The folder.
        schema: The annotation scheme whose label is the vote.
    """
    records = []
    for path in sorted(Path(folder).glob("*/annotated_instances.jsonl")):
        for row in _read(path):
            chosen = [label for label, value in row["label_annotations"].get(schema, {}).items() if value]
            value = _one(chosen, row["id"]) if chosen else None
            records.append({"item": row["id"], "judge": path.parent.name, "value": value})
    return _check(records, "Potato", schema)


def _read(export: object) -> Iterable[dict[str, Any]]:
    """Rows of a file, JSON or JSON lines, or rows as they are."""
    if not isinstance(export, str | Path):
        return export  # type: ignore[return-value]
    text = Path(export).read_text(encoding="utf-8")
    try:
        if text.lstrip().startswith("["):
            return json.loads(text)  # type: ignore[no-any-return]
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError as error:
        raise VotesError(f"'{export}' is neither JSON nor JSON lines ({error}); export it again") from error


def _one(values: list[Any], item: object) -> Any:
    """The only value; several are no vote for one class."""
    if len(values) > 1:
        raise VotesError(f"item {show(item)} has several values, {show(values)}; expected one: name one question")
    return values[0]


def _check(records: Records, tool: str, name: str | None) -> Records:
    """Refuse an export in which nobody says anything."""
    if all(record["value"] is None for record in records):
        about = "" if name is None else f" about {show(name)}"
        raise VotesError(f"the export of {tool} has no annotation{about}; expected the votes of annotators")
    return records


def to_dataset(verdicts: Jury) -> Any:
    """Return the verdicts of a panel as a Hugging Face `Dataset`, one row per item; text classes are a `ClassLabel`.

    >>> from hyperlabel import jury
    >>> rows = [{"item": i, "judge": j, "vote": "ab"[i % 2]} for i in range(4) for j in "xyz"]
    >>> dataset = to_dataset(jury(rows, item="item", judge="judge", vote="vote"))
    >>> dataset["label"][:2], dataset.features["label"].names
    ([0, 1], ['a', 'b'])
    """
    require("datasets", extra="datasets")
    from datasets import ClassLabel, Dataset

    dataset = Dataset.from_polars(verdicts.to_polars())
    classes = verdicts.labels.classes
    if not all(isinstance(c, str) for c in classes):
        return dataset
    return dataset.cast_column("label", ClassLabel(names=list(classes)))
