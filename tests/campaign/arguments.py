"""Every public call with arguments that work, one or two of them replaced by hostile ones: an answer, or our error."""

import copy
import re
import shutil
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import polars as pl

import hyperlabel as hl
from hyperlabel import export
from tests.campaign.hostile import Rng, check_error, scalar, votes

N = 40
TRUTH = np.arange(N) % 2
CELLS = np.stack([TRUTH, TRUTH, np.where(np.arange(N) % 7 == 0, 1 - TRUTH, TRUTH), np.full(N, -1)], axis=1)
CELLS[::5] = -1
TEXTS = [("free money " if truth else "see you ") + f"at {i}" for i, truth in enumerate(TRUTH)]
FRAME = pl.DataFrame({"id": range(N), "text": TEXTS, **{f"lf{j}": CELLS[:, j] for j in range(4)}})
JUDGMENTS = [
    {"item": i, "judge": f"judge{j}", "vote": int(CELLS[i, j % 3]), "score": float(TRUTH[i] + j), "run": j % 2}
    for i in range(N)
    for j in range(4)
]
WORDS = ("accuracy", "f1", "brier", "mv", "text", "id", "lf0", "lf_*", "judge", "raise", "up", "uniform", "auto", "\0")


def wrong(rng: Rng) -> Any:
    """Something in the place of an argument: any value, votes, a word that is known here, or a list."""
    kind = rng.integers(6)
    if kind < 3:
        return scalar(rng)
    if kind == 3:
        return votes(rng)
    if kind == 4:
        return WORDS[rng.integers(len(WORDS))]
    return [scalar(rng) for _ in range(rng.integers(1, 4))]


@cache
def fitted() -> hl.LabelModel:
    """A model that knows these LFs."""
    return hl.HyperLabelModel().fit(CELLS)


@cache
def certificate() -> Any:
    """A certificate of these labels."""
    return hl.certify(fitted(), CELLS, dict(enumerate(TRUTH.tolist())))


def short(x: Any) -> int:
    """An LF."""
    return 1 if len(x.text) > 10 else -1


def known(x: Any) -> int:
    """An LF that reads a table of its own."""
    return int(TRUTH[x["id"]])


def answer(prompt: str) -> str:
    """A language model."""
    return "spam" if "free" in prompt else "ham"


def lfs() -> list[Any]:
    """LFs of every kind."""
    return [
        hl.labeling_function(short),
        hl.labeling_function(known),
        hl.keyword_lf("free", 1),
        hl.regex_lf(r"s\w+e", 0),
        hl.threshold_lf("id", 1, above=3),
        hl.lookup_lf({1: 0}, column="id"),
        hl.expression_lf("more", pl.col("id") > 3, vote=1),
        hl.prompt_lf("{text}", lambda prompt: str(int("free" in prompt)), [0, 1]),
    ]


def use_certificate(found: Any) -> None:
    str(found), found.to_dict(), found.to_pandas(), found._repr_html_(), found.needed


def use_estimates(found: Any) -> None:
    str(found), found.to_dict(), found._repr_html_()


def use_labels(found: Any) -> None:
    assert len(found) == N, len(found)
    shares = found.probabilities
    assert np.isfinite(shares).all()
    np.testing.assert_allclose(shares.sum(1), 1, atol=1e-6)
    found.to_pandas(), found.to_polars(), found._repr_html_()


def use_jury(found: Any) -> None:
    found.to_pandas(), found.judges, found._repr_html_(), str(found)


def use_lf(found: Any) -> None:
    """LFs are applied: what goes wrong there is an LFError."""
    made = found if callable(getattr(found, "row_function", None)) or hasattr(found, "name") else found(short)
    hl.apply_lfs([made], FRAME[:2].to_dicts(), on_error="abstain")


def use_applied(found: Any) -> None:
    assert len(found) == N, len(found)
    repr(found), found.to_pandas()


def use_model(found: Any) -> None:
    use_labels(found.fit(CELLS, {0: 0, 1: 1}).label(CELLS))


def use_scores(found: Any) -> None:
    labels = hl.HyperLabelModel().label(found)
    assert len(labels) == len(found)
    repr(labels), labels.to_pandas()


def use_votes(found: Any) -> None:
    repr(found), found.to_numpy(), found._repr_html_()


def use_analysis(found: Any) -> None:
    found.summary(), found.leave_one_out(), found.dependent_pairs(), found._repr_html_()


def use_frame(found: Any) -> None:
    assert len(found) == N, len(found)


def use_classifier(found: Any) -> None:
    shares = found.fit(TEXTS, np.eye(2)[TRUTH]).predict_proba(TEXTS)
    np.testing.assert_allclose(shares.sum(1), 1, atol=1e-6)


def use_project(found: Any) -> None:
    with found:
        found.labels, found.list_lfs()


def nothing(found: Any) -> None:
    repr(found)


def label_frame(**arguments: Any) -> Any:
    return hl.engines.label(FRAME, **arguments)


def learn(model: Any, votes: Any, gold: Any, metric: Any) -> Any:
    return copy.copy(model).fit(votes, gold).label(votes, metric)  # ours must stay as it is


def classify(inputs: Any, labels: Any, validation: Any, new: Any) -> Any:
    return hl.Classifier(max_terms=50).fit(inputs, labels, validation).predict(new)


def explain(votes: Any, item: Any) -> Any:
    return str(hl.HyperLabelModel().explain(votes, item))


def suggest(votes: Any, n: Any, gold: Any) -> Any:
    return hl.HyperLabelModel().suggest(votes, n, gold)


def open_project(**arguments: Any) -> Any:
    shutil.rmtree("p.studio", ignore_errors=True)
    FRAME.write_csv("texts.csv")
    return hl.Project(**arguments)


def change_project(verb: Any, first: Any, second: Any) -> Any:
    """One of what a project can do."""
    with open_project(table="texts.csv", folder="p.studio", classes=["0", "1"]) as project:
        verbs: dict[Any, Callable[[], Any]] = {
            "add": lambda: project.add(first),
            "edit": lambda: project.edit(first, second),
            "remove": lambda: project.remove(first),
            "gold": lambda: project.give_gold(first, second),
            "classes": lambda: project.set_classes(first),
            "balance": lambda: project.set_balance(first),
            "explain": lambda: project.explain(first),
            "candidates": lambda: project.candidates(first, second),
            "what": lambda: project.what_if(first),
            "next": lambda: project.next_items(first, second),
        }
        verbs[verb]()
        return project.labels


VERBS = ("add", "edit", "remove", "gold", "classes", "balance", "explain", "candidates", "what", "next")
Sane = dict[str, Callable[[Rng], Any]]


def only(value: Any) -> Callable[[Rng], Any]:
    """Always the same."""
    return lambda rng: value


def one_of(*values: Any) -> Callable[[Rng], Any]:
    """One of several."""
    return lambda rng: values[rng.integers(len(values))]


GOLD = one_of(None, TRUTH, {0: 0, 1: 1}, np.where(np.arange(N) < 20, TRUTH, -1))
KNOWN = one_of(TRUTH, np.where(np.arange(N) < 20, TRUTH, -1), dict(enumerate(TRUTH.tolist())))
VOTES = one_of(CELLS, CELLS.tolist(), FRAME, FRAME.to_pandas())
MODEL: Callable[[Rng], Any] = lambda rng: (hl.HyperLabelModel(), hl.label_model("mv"), fitted())[rng.integers(3)]  # noqa: E731
METRIC = one_of("accuracy", "f1")
CLASSES = one_of(None, [0, 1], [1, 0])

Call = tuple[Callable[..., Any], Sane, Callable[[Any], None]]
PATIENCE: Sane = {"timeout": one_of(None, 5.0), "rate": only(None), "retry": only(()), "tries": only(2)}
CALLS: dict[str, Call] = {
    "audit_sample": (
        hl.audit_sample,
        {"votes": VOTES, "n": only(3), "gold": GOLD, "strata": one_of(1, 2), "model": MODEL, "seed": only(0)},
        lambda found: found.to_pandas(),
    ),
    "certify": (
        hl.certify,
        {
            "model": MODEL,
            "votes": VOTES,
            "gold": KNOWN,
            "error": only(0.1),
            "confidence": only(0.9),
            "by_class": one_of(True, False),
            "learn": one_of(None, 0.3),
            "strata": one_of(1, 2),
            "metric": METRIC,
        },
        use_certificate,
    ),
    "estimate": (
        hl.estimate,
        {
            "model": MODEL,
            "votes": VOTES,
            "gold": KNOWN,
            "confidence": only(0.9),
            "learn": one_of(None, 0.3),
            "strata": one_of(1, 2),
            "metric": METRIC,
        },
        use_estimates,
    ),
    "advise": (
        hl.advise,
        {"votes": VOTES, "gold": GOLD, "model": MODEL, "metric": METRIC, "table": only("v.csv")},
        lambda found: (str(found), found._repr_html_()),
    ),
    "report": (
        hl.report,
        {
            "votes": VOTES,
            "texts": one_of(None, TEXTS),
            "truth": GOLD,
            "gold": GOLD,
            "model": MODEL,
            "metric": METRIC,
            "title": only("t"),
            "certificate": lambda rng: certificate() if rng.random() < 0.3 else None,
            "table": only("v.csv"),
        },
        lambda found: found._repr_html_(),
    ),
    "jury": (
        hl.jury,
        {
            "table": one_of(JUDGMENTS, pl.DataFrame(JUDGMENTS)),
            "item": only("item"),
            "judge": only("judge"),
            "vote": only("vote"),
            "score": only(None),
            "run": one_of(None, "run"),
            "position": one_of(None, "run"),
            "price": one_of(None, 0.1, {"judge0": 1.0}),
            "gold": GOLD,
            "classes": CLASSES,
            "abstain": only(None),
            "model": one_of(None, "mv"),
        },
        use_jury,
    ),
    "jury of scores": (
        hl.jury,
        {
            "table": only(JUDGMENTS),
            "item": only("item"),
            "judge": only("judge"),
            "score": only("score"),
            "gold": GOLD,
            "classes": only([0, 1]),
            "model": one_of(None, "mv"),
        },
        use_jury,
    ),
    "fill_labels": (
        hl.fill_labels,
        {
            "model": MODEL,
            "votes": VOTES,
            "inputs": one_of(TEXTS, [None, *TEXTS[1:]], np.stack([TRUTH, np.ones(N)], 1)),
            "gold": GOLD,
            "classifier": only(None),
            "combine": one_of(True, False),
            "metric": METRIC,
        },
        use_labels,
    ),
    "Classifier": (
        hl.Classifier,
        {"l2": only(1e-4), "min_count": only(2), "max_terms": only(50), "seed": only(0)},
        use_classifier,
    ),
    "classify": (
        classify,
        {
            "inputs": only(TEXTS),
            "labels": lambda rng: fitted().label(CELLS) if rng.random() < 0.5 else np.eye(2)[TRUTH],
            "validation": one_of(None, (TEXTS, np.eye(2)[TRUTH])),
            "new": only(TEXTS),
        },
        nothing,
    ),
    "from_scores": (
        hl.Votes.from_scores,
        {
            "scores": lambda rng: rng.random((N, 3)),
            "classes": one_of([0, 1], ["a", "b", "c"]),
            "lfs": only(None),
            "item": only(None),
            "levels": one_of(None, 4, [0.2, 0.5]),
            "scale": one_of(None, (0, 1)),
            "direction": one_of(None, "up"),
            "like": only(None),
        },
        use_scores,
    ),
    "label_model": (
        hl.label_model,
        {"name": one_of("hlm2", "hlm", "mv", "ds"), "classes": CLASSES, "seed": only(1), "tie_break": only("random")},
        use_model,
    ),
    "HyperLabelModel": (
        hl.HyperLabelModel,
        {
            "weights": one_of("hlm2", "hlm"),
            "class_balance": one_of(None, [0.4, 0.6], "uniform"),
            "lf_accuracies": one_of(None, {"lf0": 0.9}),
            "ordinal": one_of(True, False),
            "calibrated": one_of(True, False),
        },
        use_model,
    ),
    "learn": (learn, {"model": MODEL, "votes": VOTES, "gold": GOLD, "metric": METRIC}, lambda found: found.to_pandas()),
    "explain": (explain, {"votes": VOTES, "item": only(0)}, nothing),
    "suggest": (suggest, {"votes": VOTES, "n": only(2), "gold": GOLD}, nothing),
    "LFAnalysis": (
        hl.LFAnalysis,
        {"votes": VOTES, "truth": GOLD, "lfs": only(None), "model": MODEL, "metric": METRIC},
        use_analysis,
    ),
    "engines.label": (
        label_frame,
        {
            "lfs": one_of(None, ["lf*"], ["lf0", "lf1"]),
            "abstain": one_of(None, [-1]),
            "model": one_of("hlm2", "mv"),
            "n_classes": one_of(None, 2),
            "classes": only(None),
            "gold": only(None),
            "probabilities": one_of(True, False),
            "text": only(None),
            "metric": only("accuracy"),
            "strict": only(False),
            "engine": only("auto"),
            "max_patterns": one_of(1, 1000),
        },
        use_frame,
    ),
    "read_votes": (
        hl.read_votes,
        {
            "source": only(FRAME),
            "lfs": one_of(None, ["lf*"]),
            "long": only(None),
            "abstain": one_of(None, [-1]),
            "n_classes": only(None),
            "classes": CLASSES,
            "strict": only(False),
        },
        use_votes,
    ),
    "apply_lfs": (
        hl.apply_lfs,
        {
            "lfs": lambda rng: lfs(),
            "data": one_of(FRAME, FRAME.to_dicts(), FRAME.to_pandas()),
            "classes": CLASSES,
            "n_classes": one_of(None),
            "threads": one_of(1, 1, 3),
            "on_error": one_of("raise", "abstain"),
            "cache": one_of(None, "cache"),
            "progress": only(False),
            "like": only(None),
        },
        use_applied,
    ),
    "labeling_function": (
        hl.labeling_function,
        {"name": only("f"), "vote": only(None), "columns": only(False), "resources": only(None), **PATIENCE},
        use_lf,
    ),
    "keyword_lf": (
        hl.keyword_lf,
        {
            "words": one_of("free", ["free", "see you"]),
            "vote": only(1),
            "column": only("text"),
            "name": only(None),
            "ignore_case": only(True),
            "whole_words": only(True),
        },
        use_lf,
    ),
    "regex_lf": (
        hl.regex_lf,
        {
            "pattern": one_of("free", re.compile("see")),
            "vote": only(1),
            "column": only("text"),
            "name": only(None),
            "flags": only(0),
            "timeout": only(5.0),
        },
        use_lf,
    ),
    "threshold_lf": (
        hl.threshold_lf,
        {
            "column": only("id"),
            "vote": only(1),
            "above": only(1),
            "at_least": only(None),
            "below": only(None),
            "at_most": only(None),
            "name": only(None),
        },
        use_lf,
    ),
    "lookup_lf": (hl.lookup_lf, {"table": only({1: 0}), "column": only("id"), "name": only(None)}, use_lf),
    "expression_lf": (
        hl.expression_lf,
        {"name": only("e"), "expression": only(pl.col("id") > 1), "vote": only(1)},
        use_lf,
    ),
    "prompt_lf": (
        hl.prompt_lf,
        {
            "template": only("{text}?"),
            "call": only(answer),
            "classes": only(["ham", "spam"]),
            "parse": only(None),
            "name": only("p"),
            **PATIENCE,
        },
        use_lf,
    ),
    "soft": (hl.soft, {"shares": only({"a": 0.5, "b": 0.5})}, nothing),
    "LFCache": (hl.LFCache, {"folder": only("cache")}, lambda found: (found.entries(), found.bytes)),
    "to_sql": (
        export.to_sql,
        {
            "model": lambda rng: fitted(),
            "dialect": one_of(*export.DIALECTS),
            "table": only("votes"),
            "lfs": one_of(None, ["a", "b", "c", "d"]),
        },
        nothing,
    ),
    "pattern_table": (
        export.pattern_table,
        {"model": lambda rng: fitted(), "patterns": one_of(None, CELLS), "probabilities": only(True)},
        nothing,
    ),
    "Project": (
        open_project,
        {
            "table": only("texts.csv"),
            "text": only("text"),
            "folder": only("p.studio"),
            "classes": only(["0", "1"]),
            "id": one_of(None, "id"),
            "lfs": only(()),
            "gold": only(None),
            "truth": only(None),
            "sample": only(1000),
        },
        use_project,
    ),
    "a project": (
        change_project,
        {
            "verb": one_of(
                "add", "edit", "remove", "gold", "classes", "balance", "explain", "candidates", "what", "next"
            ),
            "first": one_of("free = keyword_lf('free', '1')", "1", ["0", "1", "2"], [0.5, 0.5], "useful"),
            "second": one_of("0", 1),
        },
        nothing,
    ),
}
RARE = {"report": 0.2, "Project": 0.3, "a project": 0.3, "fill_labels": 0.5, "apply_lfs": 0.7}
"""Those that take long are tried less often than others."""
_FIXED = {
    *(("a project", "verb"), ("learn", "model"), ("Project", "folder")),
    *(("labeling_function", "rate"), ("prompt_lf", "rate")),
}
"""What is ours, not the user's; and a rate of a call in a billion years is kept."""


def run_case(rng: Rng) -> None:
    """One call with one or two arguments that are not what they should be."""
    run_call(rng, CALLS, RARE, _FIXED)


def run_call(rng: Rng, calls: dict[str, Call], rare: dict[str, float], fixed: set[tuple[str, str]]) -> None:
    """One of these calls; `rare` says how often some are drawn, `fixed` which arguments are never replaced."""
    names = list(calls)
    chances = np.array([rare.get(name, 1.0) for name in names])
    name = str(rng.choice(names, p=chances / chances.sum()))
    function, sane, use = calls[name]
    arguments = {argument: draw(rng) for argument, draw in sane.items()}
    free = [argument for argument in sane if (name, argument) not in fixed]
    for argument in rng.choice(free, rng.choice([0, 1, 1, 1, 2]) if len(free) > 1 else 1, replace=False):
        arguments[str(argument)] = wrong(rng)
    try:
        use(function(**arguments))
    except hl.HyperlabelError as error:
        check_error(error)
    except BaseException as error:
        error.add_note(f"{name}: {', '.join(f'{key}={show(value)}' for key, value in arguments.items())}")
        raise


def show(value: Any) -> str:
    """A value as a note has it."""
    try:
        return f"{value!r:.200}".replace("\n", " ")
    except BaseException as error:  # of a value that cannot even be shown, by a panic at worst
        return f"({type(value).__name__}: {error!r:.60})"
