"""LFs on documents, and applying them."""

import re
from pathlib import Path

import pytest

import hyperlabel as hl
from hyperlabel.errors import ParameterError, VotesError, VotesWarning

TOKENS = {"tokens": ["Mrs.", "Ada", "Lovelace", "in", "New", "York"]}
TEXT = {"text": "Mrs. Ada Lovelace in New York"}


@hl.span_lf
def capitals(x):
    return [(i, i + 1, "NAME") for i, token in enumerate(x.tokens) if token.istitle()]


@hl.span_lf(type="PER")
def after_title(x):
    return re.finditer(r"(?<=Mrs\. )\w+ \w+", x.text)


@hl.span_lf(type="X")
def counted(x):
    with open("calls.txt", "a") as file:  # a global list would be a part of the LF, which changes
        file.write(f"{x.text}\n")
    return [(0, 1)]


def test_functions_return_spans_pairs_or_matches():
    assert hl.apply_span_lfs([capitals], [TOKENS])[0]["votes"]["capitals"][0] == [0, 1, "NAME"]
    assert hl.apply_span_lfs([after_title], [TEXT])[0]["votes"] == {"after_title": [[5, 17, "PER"]]}


def test_gazetteers_find_the_longest_phrase_in_tokens_and_texts():
    lf = hl.gazetteer_lf({"New York": "LOC", "York": "LOC", "ada lovelace": "PER"}, name="known")
    assert lf(TOKENS) == [[1, 3, "PER"], [4, 6, "LOC"]]
    assert lf(TEXT) == [[5, 17, "PER"], [21, 29, "LOC"]]
    assert hl.gazetteer_lf(["new york"], "LOC", case=True)(TOKENS) == []


def test_gazetteers_find_phrases_with_signs_inside_tokens():
    lf = hl.gazetteer_lf(["beta-catenin"], "GENE")
    assert lf({"tokens": ["a", "beta-catenin"]}) == lf({"tokens": ["a", "Beta-Catenin"]}) == [[1, 2, "GENE"]]


def test_regular_expressions_mark_matches_or_a_group():
    lf = hl.regex_span_lf(r"Mrs\. (?P<span>\w+ \w+)", "PER")
    assert lf(TOKENS) == [[1, 3, "PER"]]
    assert lf(TEXT) == [[5, 17, "PER"]]
    assert hl.regex_span_lf("new", "LOC", flags=re.IGNORECASE)(TEXT) == [[21, 24, "LOC"]]
    assert hl.regex_span_lf("x*", "LOC")(TEXT) == []


def test_votes_of_documents_stay_and_labels_follow():
    documents = [{**TOKENS, "votes": {"person": [[1, 3, "PER"]]}, "id": 3}]
    applied = hl.apply_span_lfs([hl.gazetteer_lf(["New York"], "LOC")], documents)
    assert applied[0]["id"] == 3
    assert applied[0]["votes"] == {"person": [[1, 3, "PER"]], "gazetteer_LOC": [[4, 6, "LOC"]]}
    assert [span[:3] for span in hl.label_spans(applied).spans[0]] == [(1, 3, "PER"), (4, 6, "LOC")]


def test_cache_keeps_spans(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        applied = hl.apply_span_lfs([counted], ["one", "two"], cache="cache")
    assert [each["votes"]["counted"] for each in applied] == [[[0, 1, "X"]]] * 2
    hl.apply_span_lfs([counted], ["one", "three"], cache="cache")
    assert Path("calls.txt").read_text().split() == ["one", "two", "three"]


@pytest.mark.parametrize("parallel", [{"jobs": 2}, {"threads": 2}])
def test_processes_and_threads_give_the_same(parallel):
    lfs = [hl.gazetteer_lf(["New York"], "LOC"), hl.regex_span_lf("[A-Z]", "UP")]
    documents = [TEXT, "nothing", "New York"]
    assert hl.apply_span_lfs(lfs, documents, **parallel) == hl.apply_span_lfs(lfs, documents)


def test_failures_name_the_lf_and_the_row_or_abstain():
    with pytest.raises(hl.LFError, match="LF 'capitals' failed on row 1"):
        hl.apply_span_lfs([capitals], [TOKENS, TEXT])
    with pytest.warns(VotesWarning, match="LF 'capitals' failed on 1 of 2 items"):
        applied = hl.apply_span_lfs([capitals], [TOKENS, TEXT], on_error="abstain")
    assert applied[1]["votes"]["capitals"] == []
    odd = hl.span_lf("odd")(lambda x: [(0, 1)])
    with pytest.raises(hl.LFError, match=r"it returned the span \(0, 1\); expected \(start, end, type\)"):
        hl.apply_span_lfs([odd], [TEXT])


def test_mistakes_are_said():
    with pytest.raises(ParameterError, match="LF 'keyword_a' votes on items, not on spans"):
        hl.apply_span_lfs([hl.keyword_lf("a", "x")], [TEXT])
    with pytest.raises(VotesError, match=r"documents\[0\] is 3"):
        hl.apply_span_lfs([capitals], [3])
    with pytest.raises(ParameterError, match="entries has 'Oslo'; expected phrases with a type"):
        hl.gazetteer_lf(["Oslo"])
    with pytest.raises(ParameterError, match=r"pattern is '\('; expected a regular expression"):
        hl.regex_span_lf("(", "X")
