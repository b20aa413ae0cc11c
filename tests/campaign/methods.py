"""What results, models and other packages' names can do, with arguments that work, one or two replaced by hostile ones.

As the surface of arguments, for methods: of votes, patterns, models, analyses, panels, classifiers, projects, and of
`hyperlabel.compat`.
"""

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

import hyperlabel as hl
from hyperlabel import classify
from hyperlabel.compat import crowdkit, judges, snorkel
from hyperlabel.studio.find import Filter
from tests.campaign.arguments import (
    CELLS,
    CLASSES,
    FRAME,
    GOLD,
    JUDGMENTS,
    KNOWN,
    METRIC,
    TEXTS,
    TRUTH,
    VOTES,
    Call,
    N,
    certificate,
    fitted,
    lfs,
    nothing,
    one_of,
    only,
    open_project,
    run_call,
    use_labels,
    use_votes,
)
from tests.campaign.hostile import Rng

SHARES = np.eye(2)[TRUTH]
JUDGED = pd.DataFrame(JUDGMENTS).rename(columns={"item": "task", "judge": "worker", "vote": "label"})
POINTS = [SimpleNamespace(text=text) for text in TEXTS]


@cache
def votes() -> hl.Votes:
    """Votes with names."""
    return hl.Votes.from_frame(FRAME, lfs=["lf*"])


@cache
def patterns() -> hl.Patterns:
    """The patterns that the fitted model knows."""
    return fitted().read(CELLS)


@cache
def analysis() -> hl.LFAnalysis:
    """An analysis with truth."""
    return hl.LFAnalysis(CELLS, TRUTH)


@cache
def panel() -> Any:
    """A panel of judges."""
    return hl.jury(JUDGMENTS, item="item", judge="judge", vote="vote", gold={0: 0, 1: 1})


@cache
def classifier() -> hl.Classifier:
    """A classifier that has learned."""
    return hl.Classifier(max_terms=50).fit(TEXTS, SHARES)


@cache
def snorkel_model() -> snorkel.LabelModel:
    """Snorkel's name, fitted."""
    model = snorkel.LabelModel(2)
    model.fit(CELLS)
    return model


def method(make: Callable[[], Any], name: str) -> Callable[..., Any]:
    """A method of something that is made once."""
    return lambda **arguments: getattr(make(), name)(**arguments)


def outcome(function: Any, first: Any, second: Any) -> Any:
    """Votes for no single class, given as votes."""
    said = function(first, second)
    return hl.HyperLabelModel().label([{"a": said, "b": "spam"}, {"a": "ham", "b": "ham"}])


def set_params(name: Any, value: Any) -> Any:
    return hl.HyperLabelModel().set_params(**{name: value}).label(CELLS)


def read_saved(votes: Any, path: Any) -> Any:
    hl.Votes.from_array(votes).save(path)
    return hl.read_votes(path)


def load_saved(model: Any, path: Any) -> Any:
    model.save(path)
    return hl.load(path).label(CELLS)


def load_counted(votes: Any, path: Any) -> Any:
    hl.Patterns.from_votes(votes).save(path)
    return hl.Patterns.load(path)


def load_learned(path: Any, inputs: Any) -> Any:
    classifier().save(path)
    return hl.Classifier.load(path).predict_proba(inputs)


def learn_patterns(patterns: Any, gold: Any, metric: Any) -> Any:
    return hl.HyperLabelModel().fit_label_patterns(patterns, gold, metric)


def learn_chunks(chunks: Any, model: Any, n_classes: Any, classes: Any) -> Any:
    """A function is asked for its chunks; what it raises by itself is its own."""
    given = None if callable(chunks) and chunks is not make_chunks else chunks
    return hl.engines.fit_chunks(model, given, n_classes=n_classes, classes=classes).label(CELLS)


def make_chunks() -> Any:
    return iter([CELLS[:20], CELLS[20:]])


def fit_frame(**arguments: Any) -> Any:
    return hl.engines.fit(FRAME, **arguments)


def learn_features(kind: Any, inputs: Any, labels: Any, l2: Any) -> Any:
    return kind(classify.Linear(l2)).fit(inputs, labels).predict_proba(inputs)


def clear(lf: Any) -> Any:
    hl.apply_lfs(lfs()[:2], FRAME, cache="cleared")
    return hl.LFCache("cleared").clear(lf)


def find(**arguments: Any) -> Any:
    with open_project(table="texts.csv", folder="p.studio", classes=["0", "1"]) as project:
        project.add("free = keyword_lf('free', '1', name='free')")
        return project.find(Filter(**arguments))


def save_project(verb: Any, path: Any) -> Any:
    with open_project(table="texts.csv", folder="p.studio", classes=["0", "1"]) as project:
        project.add("free = keyword_lf('free', '1', name='free')")
        return getattr(project, verb)(path)


def draw(make: Any, ax: Any) -> None:
    """Any plot; given axes are used."""
    import matplotlib.pyplot as plt

    make(ax)
    plt.close("all")


def snorkel_fit(L: Any, Y_dev: Any, class_balance: Any, cardinality: Any) -> Any:
    model = snorkel.LabelModel(cardinality)
    model.fit(L, Y_dev, class_balance)
    return model.predict_proba(L)


def snorkel_summary(L: Any, lfs: Any, Y: Any, est_weights: Any) -> Any:
    return snorkel.LFAnalysis(L, lfs).lf_summary(Y, est_weights)


def snorkel_apply(kind: Any, lfs: Any, data: Any, fault_tolerant: Any) -> Any:
    return kind(lfs).apply(data, progress_bar=False, fault_tolerant=fault_tolerant)


def short(x: Any) -> int:
    """An LF of Snorkel that reads whatever it is given: what an LF raises is its own."""
    return 1 if len(getattr(x, "text", "")) > 10 else -1


def crowd(model: Any, data: Any, gold: Any) -> Any:
    return crowdkit.HyperLabel(model).fit_predict_proba(data, gold)


def trulens(model: Any, good: Any, scores: Any) -> Any:
    return judges.trulens_aggregation(model, good)(scores)


PATH = one_of("made", "made.safetensors", "made.parquet")
POLICY = one_of("abstain", "random", "true-random")
CALLS: dict[str, Call] = {
    "Votes.drop": (lambda lf: votes().drop(lf), {"lf": one_of("lf0", ["lf0", "lf1"])}, use_votes),
    "Votes[]": (lambda key: votes()[key], {"key": one_of("lf0", ["lf0"], slice(3), np.arange(N) < 3, [1, 2])}, nothing),
    "Votes.join": (lambda other: votes().join(other), {"other": only(FRAME.select("id", x="lf0"))}, use_votes),
    "Votes.save": (read_saved, {"votes": only(CELLS), "path": only("v.parquet")}, use_votes),
    "outcome": (
        outcome,
        {"function": one_of(hl.NOT, hl.any_of), "first": only("spam"), "second": only("news")},
        nothing,
    ),
    "Patterns.from_votes": (hl.Patterns.from_votes, {"votes": only(votes())}, nothing),
    "Patterns.merge": (method(patterns, "merge"), {"other": lambda rng: patterns()}, nothing),
    "Patterns.save": (load_counted, {"votes": only(votes()), "path": PATH}, nothing),
    "Patterns.find": (method(patterns, "find"), {"other": lambda rng: patterns()}, nothing),
    "Patterns.split": (lambda most: list(patterns().split(most)), {"most": only(3)}, nothing),
    "fit_patterns": (
        learn_patterns,
        {"patterns": lambda rng: patterns(), "gold": only(None), "metric": METRIC},
        nothing,
    ),
    "label_patterns": (
        method(fitted, "label_patterns"),
        {"patterns": lambda rng: patterns(), "metric": METRIC},
        nothing,
    ),
    "pattern_probabilities": (method(fitted, "pattern_probabilities"), {"patterns": lambda rng: patterns()}, nothing),
    "contributions": (method(fitted, "contributions"), {"patterns": lambda rng: patterns()}, nothing),
    "read": (method(fitted, "read"), {"votes": VOTES}, nothing),
    "fitted_on": (hl.HyperLabelModel().fitted_on, {"votes": VOTES}, nothing),
    "balance_sensitivity": (method(fitted, "balance_sensitivity"), {"votes": VOTES}, nothing),
    "score": (method(fitted, "score"), {"votes": VOTES, "truth": KNOWN, "metric": METRIC}, nothing),
    "set_params": (
        set_params,
        {"name": one_of("n_classes", "classes", "class_balance"), "value": only(None)},
        use_labels,
    ),
    "save": (load_saved, {"model": lambda rng: fitted(), "path": PATH}, use_labels),
    "errors": (method(analysis, "errors"), {"lf": only("lf2"), "items": one_of(None, TEXTS)}, nothing),
    "reliability": (method(analysis, "reliability"), {"groups": only(5)}, nothing),
    "dependent_pairs": (
        method(analysis, "dependent_pairs"),
        {"dependence": only(0.5), "similarity": only(0.9)},
        nothing,
    ),
    "leave_one_out": (method(analysis, "leave_one_out"), {"n_items": one_of(None, 10)}, nothing),
    "enough": (method(panel, "enough"), {"keep": only(0.9)}, nothing),
    "plot": (
        draw,
        {
            "make": one_of(
                lambda ax: analysis().plot(ax),
                lambda ax: analysis().plot_conflicts(ax),
                lambda ax: analysis().plot_reliability(ax),
                lambda ax: fitted().label(CELLS).plot(ax),
                lambda ax: fitted().explain(CELLS, 1).plot(ax),
                lambda ax: certificate().plot(ax),
                lambda ax: hl.advise(CELLS).plot(ax),
            ),
            "ax": only(None),
        },
        nothing,
    ),
    "Report.save": (lambda path: hl.report(CELLS).save(path), {"path": only("r.html")}, nothing),
    "Classifier.save": (load_learned, {"path": PATH, "inputs": only(TEXTS)}, nothing),
    "Linear": (
        learn_features,
        {
            "kind": one_of(classify.Scaled, lambda head: head),
            "inputs": only(np.stack([TRUTH, np.ones(N)], 1)),
            "labels": only(SHARES),
            "l2": only(1e-3),
        },
        nothing,
    ),
    "LFCache.clear": (clear, {"lf": one_of(None, "short")}, nothing),
    "find": (
        find,
        {
            "lf": one_of(None, "free"),
            "vote": one_of(None, "1"),
            "against": only(None),
            "conflict": one_of(None, True),
            "covered": one_of(None, False),
            "label": one_of(None, "1"),
            "confidence": one_of(None, (0.2, 0.9)),
            "gold": one_of("any", "missing"),
            "search": one_of("", "free"),
        },
        nothing,
    ),
    "save a project": (
        save_project,
        {"verb": one_of("save_labels", "save_report", "save_certificate"), "path": one_of("out.csv", "out.html")},
        nothing,
    ),
    "engines.fit": (
        fit_frame,
        {
            "model": one_of("hlm2", "mv"),
            "lfs": only(["lf*"]),
            "strict": only(False),
            "classes": only(None),
            "gold": only(None),
            "metric": METRIC,
        },
        nothing,
    ),
    "fit_chunks": (
        learn_chunks,
        {
            "chunks": only(make_chunks),
            "model": lambda rng: hl.HyperLabelModel(),
            "n_classes": one_of(None, 2),
            "classes": CLASSES,
        },
        nothing,
    ),
    "snorkel LabelModel": (
        snorkel_fit,
        {
            "L": only(CELLS),
            "Y_dev": one_of(None, TRUTH),
            "class_balance": one_of(None, [0.4, 0.6], "uniform"),
            "cardinality": only(2),
        },
        nothing,
    ),
    "snorkel predict": (
        method(snorkel_model, "predict"),
        {"L": only(CELLS), "return_probs": one_of(True, False), "tie_break_policy": POLICY},
        nothing,
    ),
    "snorkel score": (
        method(snorkel_model, "score"),
        {"L": only(CELLS), "Y": only(TRUTH), "metrics": only(["accuracy", "f1"]), "tie_break_policy": POLICY},
        nothing,
    ),
    "snorkel LFAnalysis": (
        snorkel_summary,
        {
            "L": only(CELLS),
            "lfs": only(None),
            "Y": one_of(None, TRUTH),
            "est_weights": one_of(None, np.ones(4)),
        },
        nothing,
    ),
    "snorkel lf_empirical_probs": (
        lambda Y, k: snorkel.LFAnalysis(CELLS).lf_empirical_probs(Y, k),
        {"Y": only(TRUTH), "k": only(2)},
        nothing,
    ),
    "snorkel apply": (
        snorkel_apply,
        {
            "kind": only(snorkel.LFApplier),
            "lfs": only([snorkel.LabelingFunction("short", short)]),
            "data": only(POINTS),
            "fault_tolerant": only(True),
        },
        nothing,
    ),
    "snorkel apply to pandas": (
        snorkel_apply,
        {
            "kind": only(snorkel.PandasLFApplier),
            "lfs": only([snorkel.LabelingFunction("short", short)]),
            "data": only(FRAME.to_pandas()),
            "fault_tolerant": only(True),
        },
        nothing,
    ),
    "snorkel filter": (
        snorkel.filter_unlabeled_dataframe,
        {"X": only(FRAME.to_pandas()), "y": only(SHARES), "L": only(CELLS)},
        nothing,
    ),
    "snorkel metric_score": (
        snorkel.analysis.metric_score,
        {"golds": only(TRUTH), "preds": only(TRUTH), "probs": only(SHARES), "metric": one_of("accuracy", "f1")},
        nothing,
    ),
    "snorkel buckets": (
        lambda one, two: snorkel.get_label_buckets(one, two),
        {"one": only(TRUTH), "two": only(TRUTH)},
        nothing,
    ),
    "snorkel instances": (
        lambda bucket, x, y: snorkel.get_label_instances(bucket, x, y),
        {"bucket": only((1,)), "x": only(np.arange(N)), "y": only(TRUTH)},
        nothing,
    ),
    "snorkel probs_to_preds": (
        snorkel.probs_to_preds,
        {"probs": only(SHARES), "tie_break_policy": POLICY, "tol": only(1e-5)},
        nothing,
    ),
    "snorkel preds_to_probs": (snorkel.preds_to_probs, {"preds": only(TRUTH), "num_classes": only(2)}, nothing),
    "snorkel to_int_label_array": (
        snorkel.to_int_label_array,
        {"X": only(TRUTH), "flatten_vector": one_of(True, False)},
        nothing,
    ),
    "snorkel MajorityClassVoter": (
        lambda balance: snorkel.MajorityClassVoter(2).fit(balance),
        {"balance": only([0.4, 0.6])},
        nothing,
    ),
    "crowd-kit": (
        crowd,
        {"model": one_of(None, "mv"), "data": only(JUDGED), "gold": one_of(None, pd.Series({0: 0, 1: 1}))},
        nothing,
    ),
    "judge_one": (
        judges.judge_one,
        {"model": lambda rng: fitted(), "values": one_of([1, 1, None, None], [0.0, float("nan"), 1, 1])},
        nothing,
    ),
    "trulens": (
        trulens,
        {"model": lambda rng: fitted(), "good": one_of(None, 1), "scores": only([1, 1, 0, 0])},
        nothing,
    ),
    "with_lfs": (lambda names: votes().with_lfs(names), {"names": only(["lf3", "lf0", "lf1", "lf2"])}, use_votes),
    "score of gold": (hl.HyperLabelModel().score, {"votes": VOTES, "truth": GOLD, "metric": METRIC}, nothing),
}
RARE = {"find": 0.3, "save a project": 0.3, "Report.save": 0.2, "LFCache.clear": 0.5, "plot": 0.3}
"""Those that take long are tried less often than others."""
_FIXED = {
    *(("outcome", "function"), ("save", "model"), ("plot", "make"), ("Linear", "kind"), ("save a project", "verb")),
    ("set_params", "name"),
    *(("snorkel apply", "kind"), ("snorkel apply to pandas", "kind")),
}
"""What is ours, not the user's."""


def run_case(rng: Rng) -> None:
    """One method with one or two arguments that are not what they should be."""
    run_call(rng, CALLS, RARE, _FIXED)
