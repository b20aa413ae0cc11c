"""Arguments of the wrong kind, through the public door: one error of ours that names the argument."""

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

import hyperlabel as hl
from hyperlabel import HyperlabelError, ParameterError, export
from hyperlabel.checks import check_number, check_path, check_seed, check_share
from tests.campaign.hostile import endless

N = 40
TRUTH = np.arange(N) % 2
VOTES = np.stack([TRUTH, TRUTH, np.where(np.arange(N) % 7 == 0, 1 - TRUTH, TRUTH)], axis=1)
TEXTS = [f"word{truth} {i}" for i, truth in enumerate(TRUTH)]
FRAME = pl.DataFrame({f"lf{j}": VOTES[:, j] for j in range(3)})
MODEL = hl.HyperLabelModel().fit(VOTES)
SOFT = np.eye(2)[TRUTH]


def broken():
    matrix = sp.csr_array(VOTES + 1)
    matrix.indptr = np.array([0, 50_000_000, *matrix.indptr[2:]])
    return matrix


def short(x):
    return 1


CALLS = {
    "audit_sample: n": (lambda: hl.audit_sample(VOTES, "3"), "^n is '3'; expected a whole number"),
    "audit_sample: seed": (lambda: hl.audit_sample(VOTES, 3, seed=-1), "^seed is -1; expected a whole number, 0 or"),
    "audit_sample: strata": (lambda: hl.audit_sample(VOTES, 3, strata=FRAME), "^strata is shape"),
    "audit_sample: model": (lambda: hl.audit_sample(VOTES, 3, model=3), "^model is 3; expected a label model or its"),
    "certify: model": (lambda: hl.certify([], VOTES, TRUTH), r"^model is \[\]; expected a label model"),
    "certify: error": (lambda: hl.certify(MODEL, VOTES, TRUTH, 1j), "^error is 1j; expected a number between 0 and 1"),
    "certify: by_class": (lambda: hl.certify(MODEL, VOTES, TRUTH, by_class="no"), "^by_class is 'no'; expected True"),
    "estimate": (lambda: hl.estimate(MODEL, VOTES, TRUTH, "x"), "^confidence is 'x'; expected a number between"),
    "advise: table": (lambda: hl.advise(VOTES, table=VOTES), "^table is array"),
    "report: model": (lambda: hl.report(VOTES, model=1.5), "^model is 1.5; expected a label model"),
    "report: texts": (lambda: hl.report(VOTES, slice(3)), r"^texts is slice\(None, 3, None\); expected one text for"),
    "report: certificate": (lambda: hl.report(VOTES, certificate="x"), "^certificate is 'x'; expected what certify"),
    "LFAnalysis: model": (lambda: hl.LFAnalysis(VOTES, model=object), "^model is <class 'object'>; expected a label"),
    "LFAnalysis: lfs": (lambda: hl.LFAnalysis(VOTES, lfs=3), "^lfs is 3; expected a list with one name for each"),
    "fill_labels: model": (lambda: hl.fill_labels(0.5, VOTES, TEXTS), "^model is 0.5; expected a label model"),
    "fill_labels: inputs": (lambda: hl.fill_labels(MODEL, VOTES, 7), "^inputs is 7; expected texts, or an array"),
    "fill_labels: classifier": (lambda: hl.fill_labels(MODEL, VOTES, TEXTS, classifier=1), "^classifier is 1; exp"),
    "Classifier: l2": (lambda: hl.Classifier(l2=[1]), r"^l2 is \[1\]; expected a number, 0 or more"),
    "Classifier: max_terms": (lambda: hl.Classifier(max_terms=2.5), "^max_terms is 2.5; expected a whole number"),
    "Classifier: seed": (lambda: hl.Classifier(seed=-np.inf), "^seed is -inf; expected a whole number"),
    "fit: validation": (lambda: hl.Classifier().fit(TEXTS, SOFT, 3), "^validation is 3; expected a pair"),
    "fit: labels": (lambda: hl.Classifier().fit(TEXTS, [[[]], 1]), r"^training probabilities is \[\[\[\]\], 1\]"),
    "from_scores: scale": (lambda: hl.Votes.from_scores(SOFT, classes=[0, 1], scale=(1,)), r"^scale is \(1,\)"),
    "from_scores: levels": (lambda: hl.Votes.from_scores(SOFT, classes=[0, 1], levels=set), "^levels is <class"),
    "from_scores: like": (
        lambda: hl.Votes.from_scores(SOFT, classes=[0, 1], like=5),
        "^like is 5; expected votes from",
    ),
    "soft": (lambda: hl.soft({"a": None}), "^a share is None; expected probabilities of classes"),
    "engines: max_patterns": (lambda: hl.engines.label(FRAME, max_patterns="x"), "^max_patterns is 'x'; expected a"),
    "engines: engine": (lambda: hl.engines.label(FRAME, engine=[1]), r"^engine is \[1\]; expected 'auto'"),
    "engines: text": (lambda: hl.engines.label(FRAME, text=VOTES), "^text is array"),
    "engines: strict": (lambda: hl.engines.label(FRAME, strict=VOTES), "^strict is array"),
    "read_votes: long": (lambda: hl.read_votes(FRAME, long=1.5), "^long is 1.5; expected three columns"),
    "to_sql: model": (lambda: export.to_sql("mv", "duckdb", "t"), "^model is 'mv'; expected a fitted label model"),
    "to_sql: dialect": (lambda: export.to_sql(MODEL, VOTES, "t"), "^dialect is array"),
    "to_sql: table": (
        lambda: export.to_sql(MODEL, "duckdb", ["t"]),
        r"^table is \['t'\]; expected the name of a table",
    ),
    "to_sql: lfs": (lambda: export.to_sql(MODEL, "duckdb", "t", lfs=[1, 2, 3]), "^lfs is 1; expected names of columns"),
    "pattern_table": (lambda: export.pattern_table(3), "^model is 3; expected a fitted label model"),
    "LFCache": (lambda: hl.LFCache(None), "^folder is None; expected a path"),
    "apply_lfs: cache": (lambda: hl.apply_lfs([short], TEXTS, cache=[1]), r"^cache is \[1\]; expected the path of a"),
    "apply_lfs: lfs": (lambda: hl.apply_lfs(endless(), TEXTS), r"^lfs\[0\] is a list; expected a labeling function"),
    "apply_lfs: on_error": (lambda: hl.apply_lfs([short], TEXTS, on_error=VOTES), "^on_error is array"),
    "apply_lfs: jobs": (lambda: hl.apply_lfs([short], TEXTS, jobs=True), "^jobs is True; expected a number of proc"),
    "labeling_function": (lambda: hl.labeling_function("f", resources=[1])(short), r"^LF 'f': resources is \[1\]"),
    "keyword_lf: words": (lambda: hl.keyword_lf(5, 1), "^words is 5; expected a word, or a list of words"),
    "keyword_lf: case": (lambda: hl.keyword_lf("a", 1, ignore_case=VOTES), "^ignore_case is array"),
    "regex_lf: flags": (lambda: hl.regex_lf("a", 1, flags=0.5), "^pattern is 'a', which cannot be compiled"),
    "regex_lf: name": (lambda: hl.regex_lf("a", 1, name=VOTES), "^name is array"),
    "threshold_lf: column": (lambda: hl.threshold_lf(["a"], 1, above=1), r"^column is \['a'\]; expected the name of"),
    "threshold_lf: below": (lambda: hl.threshold_lf("a", 1, below=[3]), "^bounds are .*; expected numbers"),
    "lookup_lf": (lambda: hl.lookup_lf({1: 0}, column=b"a"), "^column is b'a'; expected the name of a column"),
    "prompt_lf: classes": (
        lambda: hl.prompt_lf("{a}", str, None),
        "^classes is None; expected the classes that may be",
    ),
    "prompt_lf": (lambda: hl.prompt_lf("{a}", str, [0, 1], parse=3), "^LF 'prompt': parse is 3; expected a function"),
    "votes": (
        lambda: MODEL.predict([range(3), np.array(None), "0"]),
        "^votes is ragged: row 1 has no list, row 0 has",
    ),
    "label_model": (lambda: hl.label_model("bv", ordinal=True), "^BalancedVote has no parameter 'ordinal'; it has "),
    "gold": (
        lambda: MODEL.score(VOTES, sp.dok_array(VOTES)),
        "^truth is of type dok_array with shape .*; expected one class",
    ),
    "classes": (lambda: hl.HyperLabelModel(classes=broken()).fit(VOTES), "^classes is <Compressed Sparse Row"),
    "inputs": (lambda: hl.Classifier().fit(broken(), SOFT), "^training inputs is a broken csr matrix: indptr must"),
}


@pytest.mark.parametrize("name", CALLS)
def test_argument_of_the_wrong_kind_is_refused_by_its_name(name):
    call, message = CALLS[name]
    with pytest.raises(HyperlabelError, match=message):
        call()


def test_model_may_be_named_wherever_one_is_taken():
    assert repr(hl.LFAnalysis(VOTES, model="mv").model) == "MajorityVote()"
    assert hl.certify("mv", VOTES, TRUTH).n_gold == N
    assert len(hl.fill_labels("mv", VOTES, TEXTS)) == N


def test_numbers_and_paths_have_their_ranges():
    check_number(np.int8(3), "n", "a whole number", least=1, whole=True)
    assert (check_share(np.float32(0.5), "error"), check_seed(np.int64(2**40))) == (0.5, 2**40)
    for wrong in (0, 1, np.nan, "0.5", True, None):
        with pytest.raises(ParameterError, match="^error is .*; expected a number between 0 and 1"):
            check_share(wrong, "error")
    with pytest.raises(ParameterError, match=r"^folder is 'a\\x00b'; expected a path"):
        check_path("a\0b", "folder")


@pytest.mark.parametrize("gold", [None, [0, -1, -1]])
def test_network_of_the_paper_knows_one_class(gold):
    model = hl.HyperLabelModel("hlm", n_classes=1).fit([[0, 0], [0, -1], [-1, -1]], gold)
    assert model.predict([[0, 0], [0, -1], [-1, -1]]).tolist() == [0, 0, -1]
    assert model.predict_proba([[0, 0]]).tolist() == [[1.0]]


LONG = "a" * 300  # more letters than a file's name may have


@pytest.mark.parametrize(
    "use",
    [
        lambda: hl.read_votes(LONG),
        lambda: hl.read_votes(f"{LONG}.npy"),
        lambda: hl.load(LONG),
        lambda: hl.HyperLabelModel(LONG).predict(VOTES),
        lambda: hl.engines.label(LONG),
        lambda: hl.engines.label(FRAME, out=f"{LONG}.parquet"),
        lambda: MODEL.save(LONG),
    ],
)
def test_name_that_no_file_can_have_is_refused(use):
    with pytest.raises(HyperlabelError, match=LONG[:20]):
        use()


def test_name_that_no_file_can_have_is_one_line_on_the_command_line(hyperlabel):
    outcome = hyperlabel("audit", LONG)
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert outcome.err.startswith("hyperlabel: there is no file or folder 'aaaa")
