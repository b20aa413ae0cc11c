"""Arguments of the wrong kind, through the public door: one error of ours that names the argument."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import hyperlabel as hl
from hyperlabel import HyperlabelError, ParameterError, export
from hyperlabel._core import check_number, check_seed, check_share
from hyperlabel.compat import crowdkit, snorkel
from hyperlabel.compat.snorkel.analysis import metric_score

N = 40
TRUTH = np.arange(N) % 2
VOTES = np.stack([TRUTH, TRUTH, np.where(np.arange(N) % 7 == 0, 1 - TRUTH, TRUTH)], axis=1)
TEXTS = [f"word{truth} {i}" for i, truth in enumerate(TRUTH)]
FRAME = pl.DataFrame({f"lf{j}": VOTES[:, j] for j in range(3)})
MODEL = hl.HyperLabelModel().fit(VOTES)
SOFT = np.eye(2)[TRUTH]


def short(x):
    return 1


class Throws:
    """Raises when it is asked for an attribute, a number or a hash."""

    def __getattr__(self, name):
        raise RuntimeError("no attribute")

    def __float__(self):
        raise RuntimeError("no number")

    def __hash__(self):
        raise RuntimeError("no hash")


CALLS = {
    "audit_sample: n": (lambda: hl.audit_sample(VOTES, "3"), "^n is '3'; expected a whole number"),
    "audit_sample: seed": (lambda: hl.audit_sample(VOTES, 3, seed=-1), "^seed is -1; expected a whole number, 0 or"),
    "audit_sample: strata": (lambda: hl.audit_sample(VOTES, 3, strata=FRAME), "^strata is shape"),
    "audit_sample: model": (lambda: hl.audit_sample(VOTES, 3, model=3), "^model is 3; expected a label model or its"),
    "certify: model": (lambda: hl.certify([], VOTES, TRUTH), r"^model is \[\]; expected a label model"),
    "certify: error": (lambda: hl.certify(MODEL, VOTES, TRUTH, 1j), "^error is 1j; expected a number between 0 and 1"),
    "estimate": (lambda: hl.estimate(MODEL, VOTES, TRUTH, "x"), "^confidence is 'x'; expected a number between"),
    "report: model": (lambda: hl.report(VOTES, model=1.5), "^model is 1.5; expected a label model"),
    "report: texts": (lambda: hl.report(VOTES, slice(3)), r"^texts is slice\(None, 3, None\); expected one text for"),
    "LFAnalysis: model": (lambda: hl.LFAnalysis(VOTES, model=object), "^model is <class 'object'>; expected a label"),
    "LFAnalysis: lfs": (lambda: hl.LFAnalysis(VOTES, lfs=3), "^lfs is 3; expected a list with one name for each"),
    "fill_labels: model": (lambda: hl.fill_labels(0.5, VOTES, TEXTS), "^model is 0.5; expected a label model"),
    "fill_labels: inputs": (lambda: hl.fill_labels(MODEL, VOTES, 7), "^inputs is 7; expected texts, or an array"),
    "Classifier: l2": (lambda: hl.Classifier(l2=[1]), r"^l2 is \[1\]; expected a number, 0 or more"),
    "Classifier: max_terms": (lambda: hl.Classifier(max_terms=2.5), "^max_terms is 2.5; expected a whole number"),
    "Classifier: seed": (lambda: hl.Classifier(seed=-np.inf), "^seed is -inf; expected a whole number"),
    "fit: labels": (lambda: hl.Classifier().fit(TEXTS, [[[]], 1]), r"^training probabilities is \[\[\[\]\], 1\]"),
    "from_scores: classes": (lambda: hl.Votes.from_scores(SOFT, classes=None), "^classes is None; expected two class"),
    "explain: item": (
        lambda: MODEL.explain(FRAME.with_columns(id=pl.Series(TEXTS)), Throws()),
        "^item is .*, which votes does not have; expected an identifier such as 'word0 0'",
    ),
    "gold: any object": (lambda: MODEL.score(VOTES, Throws()), "^truth is of type Throws; expected one class per item"),
    "inputs: any object": (lambda: hl.Classifier().fit(Throws(), SOFT), "^training inputs is .*; expected texts, or"),
    "soft": (lambda: hl.soft({"a": None}), "^a share is None; expected probabilities of classes"),
    "engines: engine": (lambda: hl.engines.label(FRAME, engine=[1]), r"^engine is \[1\]; expected 'auto'"),
    "read_votes: long": (lambda: hl.read_votes(FRAME, long=1.5), "^long is 1.5; expected three columns"),
    "to_sql: dialect": (lambda: export.to_sql(MODEL, VOTES, "t"), "^dialect is array"),
    "LFCache": (lambda: hl.LFCache(None), "^folder is None; expected a path"),
    "apply_lfs: cache": (lambda: hl.apply_lfs([short], TEXTS, cache=[1]), r"^cache is \[1\]; expected the path of a"),
    "apply_lfs: on_error": (lambda: hl.apply_lfs([short], TEXTS, on_error=VOTES), "^on_error is array"),
    "apply_lfs: jobs": (lambda: hl.apply_lfs([short], TEXTS, jobs=True), "^jobs is True; expected a number of proc"),
    "keyword_lf: words": (lambda: hl.keyword_lf(5, 1), "^words is 5; expected a word, or a list of words"),
    "votes": (
        lambda: MODEL.predict([range(3), np.array(None), "0"]),
        "^votes is ragged: row 1 has no list, row 0 has",
    ),
    "label_model": (lambda: hl.label_model("bv", ordinal=True), "^BalancedVote has no parameter 'ordinal'; it has "),
}


@pytest.mark.parametrize("name", CALLS)
def test_argument_of_the_wrong_kind_is_refused_by_its_name(name):
    call, message = CALLS[name]
    with pytest.raises(HyperlabelError, match=message):
        call()


PATTERNS = MODEL.read(VOTES)
ANALYSIS = hl.LFAnalysis(VOTES, TRUTH)
JUDGED = pd.DataFrame({"task": [0, 0, 1, 1], "worker": ["a", "b"] * 2, "label": [0, 0, 1, 1]})
METHODS = {
    "votes[]": (lambda: hl.Votes.from_frame(FRAME)[[[1], 2]], r"^the key of votes\[...\] is \[\[1\], 2\]; expected an"),
    "fit_patterns: gold": (lambda: hl.HyperLabelModel().fit_patterns(PATTERNS, TRUTH), r"^gold has shape \(40,\)"),
    "fit_patterns: ragged": (lambda: hl.HyperLabelModel().fit_patterns(PATTERNS, [[1], 2]), r"^gold is \[\[1\], 2\]"),
    "errors: items": (lambda: ANALYSIS.errors("lf2", 3), "^items is 3; expected a list with an entry per item"),
    "reliability": (lambda: ANALYSIS.reliability(0), "^groups is 0; expected a whole number from 1"),
    "leave_one_out": (lambda: ANALYSIS.leave_one_out(0.5), "^n_items is 0.5; expected a whole number from 1 to 40"),
    "crowd-kit: model": (lambda: crowdkit.HyperLabel(3).fit(JUDGED), "^model is 3; expected a label model"),
    "labels": (lambda: snorkel.to_int_label_array(["a"]), r"^labels is \['a'\]; expected whole numbers"),
    "labels: large": (lambda: snorkel.to_int_label_array([2.0**64]), "^labels hold .*; expected whole numbers"),
    "labels: ragged": (lambda: snorkel.to_int_label_array([[1], 2]), r"^labels is \[\[1\], 2\]; expected whole"),
    "probs": (lambda: snorkel.probs_to_preds([["a"]]), "^probs is .*; expected an array of probabilities"),
    "probs: nan": (lambda: snorkel.probs_to_preds([[np.nan, 1]]), "^probs is .*; expected an array of probabilities"),
    "tol": (lambda: snorkel.probs_to_preds(SOFT, tol=0), "^tol is 0; expected a number above 0"),
    "preds": (lambda: snorkel.preds_to_probs([2], 2), r"^preds\[0\] is 2; expected a class below 2, the num_classes"),
    "num_classes: large": (
        lambda: snorkel.preds_to_probs([0, 1], np.uint64(2**63)),
        "^2 labels of 9,223,372,036,854,775,808 classes .*give fewer classes",
    ),
    "k": (
        lambda: snorkel.LFAnalysis(np.array([[0, 1]])).lf_empirical_probs(np.array([0]), 10**6),
        "^shares of votes by 1,000,000 classes .*give fewer classes",
    ),
    "cardinality: large": (
        lambda: snorkel.LabelModel(10**6).fit(np.array([[0, 1], [1, 1]])),
        "^votes of 2 LFs by 1,000,000 classes .*give a smaller cardinality",
    ),
    "lfs: a frame": (
        lambda: snorkel.PandasLFApplier(pl.DataFrame({"a": [0], "b": [1]})),
        "^lfs holds .*; expected labeling functions, each with a name",
    ),
    "cardinality": (lambda: snorkel.LabelModel("2"), "^cardinality is '2'; expected a whole number"),
    "balance": (lambda: snorkel.MajorityClassVoter().fit("ab"), "^balance is 'ab'; expected the share of each class"),
    "class_balance": (lambda: snorkel.LabelModel().fit(VOTES, None, "x"), "^class_balance is 'x'; expected the share"),
    "Y_dev": (
        lambda: snorkel.LabelModel().fit(VOTES, [2**50]),
        "^the largest class of Y_dev is .*; expected at most 1",
    ),
    "metric": (lambda: metric_score(TRUTH, TRUTH, metric=VOTES), "^metric is array.*; expected 'accuracy', "),
    "metric: shapes": (
        lambda: metric_score(TRUTH, TRUTH[:3]),
        r"^the shapes are golds \(40,\), preds \(3,\); expected",
    ),
    "instances": (lambda: snorkel.get_label_instances((1,), 3, TRUTH), "^bucket has 1 labels, y 1 arrays, x the shape"),
    "LFs": (lambda: snorkel.LFApplier([3]), "^lfs holds 3; expected labeling functions, each with a name"),
    "est_weights": (
        lambda: snorkel.LFAnalysis(VOTES).lf_summary(None, [1]),
        r"^est_weights has shape \(1,\); expected",
    ),
}
SHORT = [snorkel.LabelingFunction("short", short)]


@pytest.mark.parametrize("name", METHODS)
def test_argument_of_a_method_is_refused_by_its_name(name):
    call, message = METHODS[name]
    with pytest.raises(HyperlabelError, match=message):
        call()


@pytest.mark.parametrize("names", [(0, 1), (("a", 1), "b"), (None, "b")])
def test_records_keep_the_votes_of_names_that_are_no_strings(names):
    read = hl.Votes.from_frame([dict(zip(names, row, strict=True)) for row in [(0, 1), (1, 1)]], lfs=map(str, names))
    assert read.lf_names == tuple(map(str, names))
    assert read.to_numpy().tolist() == [[0, 1], [1, 1]]


def test_records_with_two_keys_of_one_name_are_refused():
    with pytest.raises(HyperlabelError, match="votes has 2 columns named '0'; expected one"):
        hl.Votes.from_frame([{0: 1, "0": 0}])


def test_class_with_an_unpaired_surrogate_is_not_written():
    labels = hl.HyperLabelModel(classes=["a", "\ud800"]).label([[0, 1], [1, 1]])
    with pytest.raises(HyperlabelError, match="column 'label' holds an unpaired surrogate"):
        labels.to_polars()


def test_one_prediction_of_snorkel_is_one_row():
    assert snorkel.preds_to_probs(np.array([1]), 2).tolist() == [[0.0, 1.0]]


def test_model_may_be_named_wherever_one_is_taken():
    assert repr(hl.LFAnalysis(VOTES, model="mv").model) == "MajorityVote()"
    assert hl.certify("mv", VOTES, TRUTH).n_gold == N
    assert len(hl.fill_labels("mv", VOTES, TEXTS)) == N


def test_numbers_have_their_ranges():
    check_number(np.int8(3), "n", "a whole number", least=1, whole=True)
    assert (check_share(np.float32(0.5), "error"), check_seed(np.int64(2**40))) == (0.5, 2**40)
    for wrong in (0, 1, np.nan, "0.5", True, None):
        with pytest.raises(ParameterError, match="^error is .*; expected a number between 0 and 1"):
            check_share(wrong, "error")


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


@pytest.mark.parametrize("value", [np.datetime64("2026-01-01"), True, "1", None])
def test_what_is_no_number_is_refused_by_name(value):
    with pytest.raises(HyperlabelError, match="^share is .*; expected a number"):
        check_number(value, "share", "a number")
