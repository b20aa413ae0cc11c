"""Documents from files and spaCy, and back; the command."""

import json

import polars as pl
import pytest

import hyperlabel as hl
from hyperlabel.errors import ParameterError, VotesError
from hyperlabel.spans import read_spans

DOCUMENTS = [
    {"tokens": ["Ada", "Lovelace", "in", "London"], "votes": {"a": [[0, 2, "PER"]], "b": [[3, 4, "LOC"]]}, "id": 7},
    {"tokens": ["Oslo"], "votes": {"a": [[0, 1, "LOC"]]}, "gold": [[0, 1, "LOC"]]},
]
CONLL = """# global.columns = token a b gold
-DOCSTART- O O O

Ada B-PER B-PER O
Lovelace I-PER I-PER O
in O _ O

London O S-LOC B-LOC
"""
WRENCH = {
    "0": {
        "data": {"text": ["Ada", "in", "Oslo"]},
        "label": ["B-PER", "O", "B-LOC"],
        "weak_labels": [["B-PER", "O"], ["O", "O"], ["B-LOC", "B-LOC"]],
    }
}


@pytest.fixture
def jsonl(tmp_path):
    path = tmp_path / "documents.jsonl"
    path.write_text("\n".join(map(json.dumps, DOCUMENTS)) + "\n")
    return path


def test_json_lines_are_documents(jsonl):
    assert read_spans(jsonl) == DOCUMENTS


def test_conll_has_one_column_per_lf(tmp_path):
    path = tmp_path / "a.conll"
    path.write_text(CONLL)
    assert list(read_spans(str(path))) == [
        {"tokens": ["Ada", "Lovelace", "in"], "votes": {"a": [[0, 2, "PER"]], "b": [[0, 2, "PER"]]}, "gold": []},
        {"tokens": ["London"], "votes": {"a": [], "b": [[0, 1, "LOC"]]}, "gold": [[0, 1, "LOC"]]},
    ]


def test_conll_without_names_counts_the_lfs(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("Ada\tB-PER\tO\n# 1\tO\tB-NUM\n")
    assert list(read_spans(path)) == [
        {"tokens": ["Ada", "# 1"], "votes": {"lf_1": [[0, 1, "PER"]], "lf_2": [[1, 2, "NUM"]]}}
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Ada B-PER\nin\n", "a.conll, line 2 has 1 columns; expected 2: token, lf_1"),
        ("Ada PER\n", "column 'lf_1': the tag 'PER' of token 0 is not O, B-TYPE"),
        ("Ada X-PER\n", "the tag 'X-PER'"),
    ],
)
def test_conll_that_is_broken_names_the_line(tmp_path, text, message):
    path = tmp_path / "a.conll"
    path.write_text(text)
    with pytest.raises(VotesError, match=message):
        list(read_spans(path))


def test_wrench_and_chmm_json_has_names_in_meta(tmp_path):
    (tmp_path / "train.json").write_text(json.dumps(WRENCH))
    (tmp_path / "meta.json").write_text(json.dumps({"lf": ["a", "b"], "entity_types": ["PER", "LOC"]}))
    expected = [[0, 1, "PER"], [2, 3, "LOC"]]
    votes = {"a": expected, "b": [[2, 3, "LOC"]]}
    assert read_spans(tmp_path / "train.json") == [{"tokens": ["Ada", "in", "Oslo"], "votes": votes, "gold": expected}]


def test_wrench_json_without_meta_or_of_another_kind(tmp_path):
    path = tmp_path / "train.json"
    path.write_text(json.dumps(WRENCH))
    assert list(read_spans(path)[0]["votes"]) == ["lf_0", "lf_1"]
    path.write_text(json.dumps({"0": {"data": {"text": "a text"}, "weak_labels": [0, 1]}}))
    with pytest.raises(VotesError, match=r"train.json, document 0 has no data.text with a list of tokens"):
        read_spans(path)
    path.write_text("[")
    with pytest.raises(VotesError, match="train.json is not JSON"):
        read_spans(path)
    with pytest.raises(VotesError, match="'nothing.jsonl' cannot be read"):
        read_spans("nothing.jsonl")


def test_jsonl_out_keeps_the_documents_and_adds_spans(jsonl, tmp_path):
    hl.label_spans(jsonl).save(tmp_path / "out.jsonl")
    written = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [{key: value for key, value in each.items() if key != "spans"} for each in written] == DOCUMENTS
    assert [span[:3] for span in written[0]["spans"]] == [[0, 2, "PER"], [3, 4, "LOC"]]


def test_jsonl_out_counts_characters_of_texts(tmp_path):
    hl.label_spans([{"text": "in Oslo.", "votes": {"a": [[3, 7, "LOC"]]}}]).save(tmp_path / "out.jsonl")
    assert json.loads((tmp_path / "out.jsonl").read_text())["spans"][0][:3] == [3, 7, "LOC"]


def test_conll_out_is_read_again(jsonl, tmp_path):
    hl.label_spans(jsonl).save(tmp_path / "out.conll")
    assert (tmp_path / "out.conll").read_text().startswith("Ada\tB-PER\nLovelace\tI-PER\nin\tO\n")
    votes = [each["votes"]["lf_1"] for each in read_spans(tmp_path / "out.conll")]
    assert votes == [[[0, 2, "PER"], [3, 4, "LOC"]], [[0, 1, "LOC"]]]


def test_other_endings_are_refused(jsonl, tmp_path):
    with pytest.raises(ParameterError, match=r"path is '.*out.csv'; expected a name that ends in .jsonl"):
        hl.label_spans(jsonl).save(tmp_path / "out.csv")


def test_spacy_docs_with_span_groups_come_in_and_docbins_go_out(tmp_path):
    pytest.importorskip("spacy", reason="needs spaCy (extra `spacy`)")
    from spacy.tokens import Doc, DocBin, Span
    from spacy.vocab import Vocab

    vocab = Vocab()
    doc = Doc(vocab, ["Ada", "Lovelace", "in", "London"])
    doc.spans["names"] = [Span(doc, 0, 2, label="PER")]
    doc.spans["places"] = [Span(doc, 3, 4, label="LOC")]
    doc.spans["hmm"] = [Span(doc, 0, 4, label="PER")]
    doc.spans["hmm"].attrs["aggregated"] = True  # as skweak marks the result of its models
    labels = hl.label_spans([doc])
    assert labels.documents.lf_names == ("names", "places")
    labels.save(tmp_path / "out.spacy")
    (read,) = DocBin().from_disk(tmp_path / "out.spacy").get_docs(vocab)
    assert [(span.text, span.label_) for span in read.ents] == [("Ada Lovelace", "PER"), ("London", "LOC")]
    assert hl.label_spans(tmp_path / "out.spacy").spans == labels.spans  # a DocBin keeps the span groups
    with pytest.raises(VotesError, match="cannot be read as a DocBin"):
        read_spans("nothing.spacy")
    hl.label_spans([{"text": "in Oslo.", "votes": {"a": [[3, 7, "LOC"]]}}]).save(tmp_path / "text.spacy")
    (read,) = DocBin().from_disk(tmp_path / "text.spacy").get_docs(vocab)
    assert (read.text, [span.text for span in read.ents]) == ("in Oslo.", ["Oslo"])


def test_frames_have_one_row_per_span(jsonl):
    labels = hl.label_spans(jsonl)
    frame = labels.to_pandas()
    assert frame.columns.tolist() == ["document", "start", "end", "type", "probability", "text", "lfs"]
    assert frame["text"].tolist() == ["Ada Lovelace", "London", "Oslo"]
    assert labels.to_polars().schema["lfs"] == pl.List(pl.String)


def test_command_writes_spans_scores_and_a_page(jsonl, tmp_path, hyperlabel):
    out, page = tmp_path / "out.jsonl", tmp_path / "page.html"
    done = hyperlabel("spans", str(jsonl), "-o", str(out), "--truth", "gold", "--report", str(page))
    assert done.code == 0
    assert "SpanLabels(3 spans in 2 documents: LOC 2, PER 1)" in done.err
    assert done.out.splitlines()[1].split()[:4] == ["all", "1.000", "1.000", "1.000"]
    assert len(out.read_text().splitlines()) == 2
    assert "Lovelace" in page.read_text()


def test_command_writes_json_lines_and_a_summary(jsonl, hyperlabel):
    done = hyperlabel("spans", str(jsonl), "--json")
    assert [span[2] for span in json.loads(done.out.splitlines()[0])["spans"]] == ["PER", "LOC"]
    assert json.loads(done.err.splitlines()[-1])["spans"] == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "out.csv"], "--out is 'out.csv'; expected a name that ends in .jsonl"),
        (["--report", "page.txt"], "--report is 'page.txt'; expected a name that ends in .html"),
        (["--truth", "nothing"], "truth is 'nothing'; expected the true spans of at least one document"),
        (["--model", "nothing"], "nothing"),
    ],
)
def test_command_says_one_line_for_a_mistake(jsonl, hyperlabel, arguments, message):
    done = hyperlabel("spans", str(jsonl), *arguments)
    assert done.code == 2
    assert len(done.err.splitlines()) == 1
    assert message in done.err
