"""`label_spans`: votes on spans in, spans with probabilities out."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

import hyperlabel as hl
from hyperlabel.errors import ParameterError, VotesError, VotesWarning
from hyperlabel.spans import read_documents

DATA = Path(os.environ.get("HYPERLABEL_DATA", Path(__file__).parents[2] / "shared" / "data"), "spans")


def document(tokens, gold=None, **votes):
    return {"tokens": tokens.split(), "votes": votes, **({} if gold is None else {"gold": gold})}


def plain(labels):
    return [[tuple(span[:3]) for span in spans] for spans in labels.spans]


@pytest.fixture
def documents():
    return [
        document("Ada Lovelace in London", a=[[0, 2, "PER"]], b=[[0, 2, "PER"], [3, 4, "LOC"]]),
        document("nothing here", a=[]),
        document("London calls Ada", a=[[0, 1, "LOC"]], b=[[0, 1, "PER"], [2, 3, "PER"]], c=[[0, 1, "LOC"]]),
    ]


def test_every_document_has_its_list_of_spans(documents):
    labels = hl.label_spans(documents)
    assert plain(labels) == [[(0, 2, "PER"), (3, 4, "LOC")], [], [(0, 1, "LOC"), (2, 3, "PER")]]
    assert len(labels) == 3
    assert labels.spans[0][0].lfs == ("a", "b")
    assert all(0 < span.probability <= 1 for spans in labels for span in spans)


def test_lfs_and_types_are_found_in_all_documents(documents):
    labels = hl.label_spans(documents)
    assert labels.documents.lf_names == ("a", "b", "c")
    assert labels.documents.types == ("LOC", "PER")


@pytest.mark.parametrize("model", ["mv", "hlm2", "ds"])
def test_any_label_model_judges_the_tokens(documents, model):
    labels = hl.label_spans(documents, model=model)
    assert plain(labels)[0][0] == (0, 2, "PER")
    assert labels.model.is_fitted


def test_a_fitted_model_judges_other_documents_in_its_state(documents):
    model = hl.label_spans(documents, model="hlm2").model
    alone = hl.label_spans(documents[2:], model=model, types=["LOC", "PER"])
    assert alone.model is model
    assert plain(alone) == [[(0, 1, "LOC"), (2, 3, "PER")]]
    with pytest.raises(ParameterError, match="State the types that it was fitted with"):
        hl.label_spans(documents[2:], model=model, types=["PER", "LOC"])


def test_spans_never_cross_documents_and_neighbors_stay_apart():
    documents = [document("a b", x=[[1, 2, "T"]], y=[[1, 2, "T"]]), document("c d", x=[[0, 1, "T"], [1, 2, "T"]])]
    assert plain(hl.label_spans(documents)) == [[(1, 2, "T")], [(0, 1, "T"), (1, 2, "T")]]


def test_labels_do_not_depend_on_the_order_of_documents(documents):
    assert plain(hl.label_spans(documents[::-1])) == plain(hl.label_spans(documents))[::-1]


def test_blocks_give_the_labels_of_one_pass(documents, monkeypatch):
    expected = hl.label_spans(documents * 5)
    monkeypatch.setattr("hyperlabel.spans._chain._CELLS", 2 * 25)
    labels = hl.label_spans(documents * 5)
    assert plain(labels) == plain(expected)
    assert labels.probabilities == pytest.approx(expected.probabilities)


def many_votes(n=60):
    """Documents of five good LFs, and of one that marks the second token although no other does."""
    rng = np.random.default_rng(0)
    documents = []
    for _ in range(n):
        votes = {f"good_{j}": [[0, 1, "T"]] for j in range(5) if rng.random() < 0.9}
        if rng.random() < 0.3:
            votes["bad"] = [[3, 4, "T"]]
        documents.append({"tokens": ["yes", "no", "no", "no", "no"], "votes": votes})
    return documents


def test_where_lfs_overlap_silence_counts_against_a_lone_vote():
    labels = hl.label_spans(many_votes())
    assert {span[:3] for spans in labels for span in spans} == {(0, 1, "T")}


@pytest.mark.parametrize("copies", [1, 3])
def test_where_they_do_not_overlap_every_vote_counts_and_copies_outvote_nobody(copies):
    documents = []
    for each in many_votes():
        few = {lf: spans for lf, spans in each["votes"].items() if lf in ("good_0", "bad")}
        documents.append({**each, "votes": {f"{lf}_{copy}": few[lf] for lf in few for copy in range(copies)}})
    labels = hl.label_spans(documents)
    assert {span[:3] for spans in labels for span in spans} == {(0, 1, "T"), (3, 4, "T")}


def test_gold_documents_keep_their_spans_and_teach(documents):
    gold = {0: [[0, 1, "PER"]], 1: [[0, 2, "LOC"]]}
    labels = hl.label_spans(documents, gold=gold)
    assert plain(labels)[:2] == [[(0, 1, "PER")], [(0, 2, "LOC")]]
    assert labels.spans[1][0].probability == pytest.approx(1, abs=1e-6)
    assert plain(hl.label_spans(documents, gold=gold, model="hlm2"))[1] == [(0, 2, "LOC")]


def lone_and_shared(n=200):
    """Documents with one span that two LFs find, always right, and one that only one of them finds, always wrong."""
    each = document("a b c d", gold=[[0, 1, "T"]], x=[[0, 1, "T"], [2, 3, "T"]], y=[[0, 1, "T"]])
    return [each] * n


def test_a_vote_that_is_usually_confirmed_and_here_is_not_lowers_the_probability():
    shared, lone = (span.probability for span in hl.label_spans(lone_and_shared()).spans[0])
    assert shared == pytest.approx(9 / 10, abs=1e-3)
    assert lone == pytest.approx(1 / 2, abs=0.15)


def test_an_lf_that_is_always_alone_is_neither_confirmed_nor_believed():
    labels = hl.label_spans([document("a b", x=[[0, 1, "T"]])] * 50 + [document("a b", y=[[1, 2, "T"]])] * 50)
    assert labels.probabilities == pytest.approx(0.75, abs=1e-3)


def test_lfs_that_agree_on_a_few_spans_are_no_copies_yet():
    labels = hl.label_spans([document("a b", x=[[0, 1, "T"]], y=[[0, 1, "T"]]), document("a", z=[[0, 1, "T"]])])
    assert labels.spans[0][0].probability > 0.8


def test_copies_of_an_lf_confirm_nothing():
    one = [document("a b", x=[[0, 1, "T"]]), document("a b", y=[[0, 1, "T"]]), document("a b c", x=[[2, 3, "T"]])] * 30
    two = [{**each, "votes": {**each["votes"], **{f"{lf}2": v for lf, v in each["votes"].items()}}} for each in one]
    assert hl.label_spans(two).probabilities == pytest.approx(hl.label_spans(one).probabilities, abs=0.02)


@pytest.mark.parametrize("model", [None, "mv"])
def test_gold_corrects_probabilities_and_removes_unlikely_spans(model):
    labels = hl.label_spans(lone_and_shared(), gold={i: [[0, 1, "T"]] for i in range(100)}, model=model)
    assert plain(labels) == [[(0, 1, "T")]] * 200
    assert labels.spans[0][0].probability == 1
    assert labels.spans[150][0].probability > 0.92


def test_gold_of_a_few_tokens_does_not_decide_their_pattern():
    documents = [document("a b", x=[[0, 1, "T"]], y=[])] * 60 + [document("a b", y=[[0, 1, "U"]])] * 60
    labels = hl.label_spans(
        documents, gold={**dict.fromkeys(range(6), []), **dict.fromkeys(range(6, 9), [[0, 1, "U"]])}
    )
    assert plain(labels)[20] == [(0, 1, "T")]
    assert labels.spans[20][0].probability < 0.5


def test_gold_may_be_a_key_or_a_list(documents):
    by_key = [{**documents[0], "gold": [[0, 1, "PER"]]}, *documents[1:]]
    assert plain(hl.label_spans(by_key, gold="gold"))[0] == [(0, 1, "PER")]
    assert plain(hl.label_spans(documents, gold=[[[0, 1, "PER"]], None, None]))[0] == [(0, 1, "PER")]
    assert plain(hl.label_spans(by_key))[0] == [(0, 2, "PER"), (3, 4, "LOC")]  # not asked for, not used


def test_types_that_are_not_stated_are_left_out_and_said(documents):
    with pytest.warns(VotesWarning, match=r"2 votes are for the types 'LOC'|3 votes are for the types .*LOC"):
        labels = hl.label_spans(documents, types=["PER"])
    assert labels.documents.types == ("PER",)
    assert {span.type for spans in labels for span in spans} == {"PER"}


def test_overlapping_votes_of_one_lf_are_said():
    with pytest.warns(VotesWarning, match="1 votes overlap another span of the same LF, such as of 'x'"):
        labels = hl.label_spans([document("a b c", x=[[0, 2, "T"], [1, 3, "T"]])])
    assert plain(labels) == [[(0, 2, "T")]]


def test_a_vote_that_is_there_twice_is_one_vote():
    labels = hl.label_spans([document("a b c", x=[[0, 2, "T"], [0, 2, "T"]])])
    assert plain(labels) == [[(0, 2, "T")]]


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ([], "documents is empty"),
        (["text"], r"documents\[0\] is 'text'; expected a mapping"),
        ([{"votes": {"a": []}}], "no list of tokens and no text"),
        ([document("a b", x=[[0, 3, "T"]])], r"documents\[0\], LF 'x': the vote \[0, 3\] is not a span of 2 tokens"),
        ([document("a b", x=[[1, 1, "T"]])], "is not a span"),
        ([document("a b", x=[["0", 1, "T"]])], "is not a span; expected"),
        ([document("a b", x=[[0, 1]])], "is not a span; expected"),
        ([document("a b", x=[[0, 1, 7]])], "the type 7; expected a name"),
        ([document("a b", x=None)], "the vote None is not a span"),
        ([{"tokens": ["a"], "votes": {7: []}}], "votes of the LF 7; expected its name"),
        ([{"text": "a", "votes": {"x": None}}], "the vote None is not a span"),
        ([document("a b")], "no document names an LF"),
    ],
)
def test_documents_that_cannot_be_read_say_where(documents, message):
    with pytest.raises(VotesError, match=message):
        hl.label_spans(documents)


def test_arguments_that_cannot_be_used_say_so(documents):
    with pytest.raises(ParameterError, match="types is 'PER'"):
        hl.label_spans(documents, types="PER")
    with pytest.raises(ParameterError, match="gold is 3; expected a key"):
        hl.label_spans(documents, gold=3)
    with pytest.raises(VotesError, match="gold has the document 9"):
        hl.label_spans(documents, gold={9: []})
    with pytest.raises(VotesError, match="gold has the type 'ORG'"):
        hl.label_spans(documents, gold={0: [[0, 1, "ORG"]]})


def test_documents_without_a_single_vote_have_no_spans():
    labels = hl.label_spans([document("a b", x=[]), document("", x=[])])
    assert plain(labels) == [[], []]
    assert labels.to_pandas().empty
    assert len(labels.analysis) == 1


def test_characters_are_aligned_to_tokens_and_mismatches_are_said():
    documents = [{"text": "Dr. Ada Lovelace, London", "votes": {"a": [[4, 16, "PER"]], "b": [[4, 12, "PER"]]}}]
    with pytest.warns(VotesWarning, match=r"1 spans start or end inside a token .* LF 'b'.*: \[4, 12, 'PER'\]"):
        labels = hl.label_spans(documents)
    frame = labels.to_pandas()
    assert frame[["from", "to", "text"]].to_numpy().tolist() == [[4, 16, "Ada Lovelace"]]
    with pytest.warns(
        VotesWarning, match=r"1 spans start or end inside a token .*: documents\[0\], truth: \[4, 13, 'PER'\]"
    ):
        assert hl.label_spans([{**documents[0], "votes": {"a": [[4, 16, "PER"]]}}]).score({0: [[4, 13, "PER"]]})["f1"][
            0
        ]
    for span in ([1, 2, "PER"], [3, 9, "PER"]):
        with pytest.raises(VotesError, match="is not a span of a text of 4 characters"):
            hl.label_spans([{"text": "a  b", "votes": {"a": [span]}}])


def test_score_is_strict_and_by_type(documents):
    truth = [[[0, 2, "PER"], [3, 4, "LOC"]], [[0, 1, "PER"]], None]
    scores = hl.label_spans(documents).score(truth)
    assert scores["type"].tolist() == ["all", "LOC", "PER"]
    assert scores["precision"].tolist() == [1, 1, 1]
    assert scores["recall"] == pytest.approx([2 / 3, 1, 1 / 2])
    assert scores["f1"][0] == pytest.approx(0.8)


def test_analysis_compares_lfs_with_the_result_and_each_other(documents):
    rows = {row["lf"]: row for row in hl.label_spans(documents).analysis.rows()}
    assert rows["b"]["spans"] == 4
    assert rows["b"]["precision"] == pytest.approx(3 / 4)
    assert rows["b"]["conflicts"] == pytest.approx(1 / 4)
    assert rows["b"]["overlaps"] == pytest.approx(2 / 4)
    assert rows["a"]["recall"] == pytest.approx(2 / 4)
    assert rows["a"]["documents"] == 2


def test_explain_lists_the_votes_that_touch_a_span(documents):
    labels = hl.label_spans(documents)
    table = labels.explain(2, 0)
    assert list(zip(table["lf"], table["agreement"], strict=True)) == [("a", "exact"), ("b", "type"), ("c", "exact")]
    assert labels.explain(0, (1, 2))["agreement"].tolist() == ["bounds", "bounds"]
    with pytest.raises(ParameterError, match="document is 7"):
        labels.explain(7, 0)
    for span in (9, "0:1", (1,)):
        with pytest.raises(ParameterError, match=r"span is .*; expected \(start, end\), or a number below 2"):
            labels.explain(0, span)


def test_spans_as_labels_can_be_certified(documents):
    labels = hl.label_spans(documents * 40)
    spans = labels.to_labels()
    assert spans.classes == ("LOC", "PER", "no span")
    assert spans.items[0] == "0:0-2"
    right = {item: span for item, span in zip(spans.items[:100], spans.labels[:100], strict=True)}
    assert hl.certify(spans, None, right, error=0.1).accepted.any()
    wrong = dict.fromkeys(right, "no span")
    assert not hl.certify(spans, None, wrong, error=0.1).accepted.any()


def test_page_shows_documents_and_escapes_them(documents):
    documents[0]["tokens"][0] = "<i>Ada</i>"
    page = hl.label_spans(documents).report(title="Names")
    assert "4 spans in 3 documents" in str(page)
    assert "&lt;i&gt;Ada&lt;/i&gt; Lovelace" in page.html
    assert "<i>Ada</i>" not in page.html


def test_locations_of_tokens_skip_empty_documents():
    read = read_documents([document("a", x=[[0, 1, "T"]]), document("", x=[]), document("b", x=[[0, 1, "T"]])])
    assert [part.tolist() for part in read.locate(read.votes.start)] == [[0, 2], [0, 0]]


@pytest.mark.skipif(not DATA.is_dir(), reason="the public span sets are not there")
@pytest.mark.parametrize(("name", "least"), [("ncbi", 0.775), ("laptop", 0.725), ("conll", 0.615)])
def test_public_sets_reach_the_best_known_votes(name, least):
    head = json.loads((DATA / f"{name}.json").read_text())
    rows = [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text().splitlines()]
    documents = [
        {"tokens": row["tokens"], "votes": {lf: row["votes"].get(lf, []) for lf in head["recommended"]}} for row in rows
    ]
    truth = [row["gold"] if row["split"] == "test" else None for row in rows]
    assert hl.label_spans(documents).score(truth)["f1"][0] >= least
