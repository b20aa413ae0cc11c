"""`hyperlabel demo`: a small, real, complete example with nothing to download.

The items are sentences from the documentation of installed packages: which package is a sentence from? Eleven keyword
rules vote, thirty random sentences are labeled by hand, and one call uses both and the texts. The truth stands in for
the person who labels, and scores every step beside the simplest scripts that do the same job.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from hyperlabel.cli._options import Option
from hyperlabel.errors import require

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hyperlabel.data import Labels
    from hyperlabel.examples import Example
    from hyperlabel.trust import Certificate

OUT_HELP = "Folder for the votes, the gold, the labels, the state, the report and a picture."
N_GOLD, N_AUDIT, N_TOMORROW, ERROR = 30, 200, 300, 0.1
ENCODER = "wordllama"
WIDTH = 76  # columns of the tables


def demo(out: Annotated[Path, Option(metavar="FOLDER", help=OUT_HELP)] = Path("demo")) -> None:
    """Label sentences by rules, thirty hand labels and their texts.

    A real example with nothing to download: which package is a sentence of its documentation from? It shows the labels
    of the rules alone, one call that uses rules, labels and texts, a certificate, and the labels of new rows. The
    truth is known, so every step says how many labels are right, beside the simplest scripts that do the same job.

    Example: hyperlabel demo --out demo
    """
    for package in ("matplotlib", "sklearn"):
        require(package, extra="demo")
    from hyperlabel.cli._inputs import make_folder
    from hyperlabel.examples import load_example

    make_folder(out)
    example, later = _set_aside(load_example("packages"), N_TOMORROW)
    _show_rules(example)
    majority = _label_by_votes(example)
    gold = _draw_gold(example, N_GOLD)
    labels, scores = _use_everything(example, majority, gold)
    certificate = _certify(example, labels, gold)
    _label_tomorrow(later, labels, out / "state.safetensors")
    _write(example, labels, gold, certificate, out)
    _draw(scores, certificate, out / "demo.png")


def _set_aside(example: "Example", n: int) -> "tuple[Example, Example]":
    """Split random items off, which arrive tomorrow."""
    from dataclasses import replace

    import numpy as np

    later = np.isin(np.arange(len(example.truth)), np.random.default_rng(0).permutation(len(example.truth))[:n])
    parts = []
    for kept in (~later, later):
        texts = [text for text, keep in zip(example.texts or [], kept, strict=True) if keep]
        parts.append(replace(example, votes=example.votes[kept], truth=example.truth[kept], texts=texts))
    return parts[0], parts[1]


def _show_rules(example: "Example") -> None:
    """Print the rules and how often each votes."""
    from rich.table import Table

    from hyperlabel.cli._terminal import console, say
    from hyperlabel.lf import LFAnalysis

    say(f"1. {len(example.truth):,} sentences. Which package is each from? {len(example.lfs)} keyword rules vote.")
    analysis = LFAnalysis(example.votes, example.truth)
    shown = Table("rule", "votes", "right, in truth", width=WIDTH)
    for name, count, share in zip(example.votes.lf_names, analysis.votes.tolist(), analysis.precision, strict=True):
        shown.add_row(name, f"{count:,}", f"{share:.0%}")
    console.print(shown)


def _label_by_votes(example: "Example") -> "NDArray[Any]":
    """Label by the votes alone; return the labels of a majority vote."""
    from hyperlabel.cli._terminal import say
    from hyperlabel.models import HyperLabelModel, MajorityVote

    voted = _has_votes(example)
    majority = MajorityVote().fit_predict(example.votes)
    own = HyperLabelModel().fit_predict(example.votes)
    say("2. Labels from the votes alone, in one pass: hl.label(votes)")
    scores = f"majority vote {_score(majority, example, voted)}, hyperlabel {_score(own, example, voted)}"
    say(f"   {voted.mean():.0%} of the sentences have votes. Right, of those: {scores}")
    return majority


def _draw_gold(example: "Example", n: int, known: "dict[Any, Any] | None" = None) -> dict[Any, Any]:
    """Draw random items that are not known yet, and label them as a person would."""
    from hyperlabel.trust import audit_sample

    truth = dict(zip(example.to_polars()["id"], example.truth.tolist(), strict=True))
    return {item: truth[item] for item in audit_sample(example.votes, n, gold=known).items}


def _use_everything(
    example: "Example", majority: "NDArray[Any]", gold: dict[Any, Any]
) -> "tuple[Labels, dict[str, float]]":
    """Label by votes, texts and gold; score that and the simplest scripts on all items that are not gold."""
    import numpy as np
    from rich.table import Table

    from hyperlabel.classify import label
    from hyperlabel.cli._terminal import console, say

    say(f"3. {len(gold)} random sentences labeled by hand, and the texts:")
    say(f'   hl.label(votes, texts=texts, gold=gold, encoder="{ENCODER}")')
    is_gold = np.isin(np.asarray(example.votes.items), list(gold))
    labels = label(example.votes, texts=example.texts, gold=gold, encoder=ENCODER)
    ways = {
        "majority vote + logistic regression": _regress(example, majority, _has_votes(example)),
        f"{len(gold)} labels + logistic regression": _regress(example, example.truth, is_gold),
        "hyperlabel: votes + texts": label(example.votes, texts=example.texts, encoder=ENCODER).labels,
        f"hyperlabel: votes + texts + {len(gold)} labels": labels.labels,
    }
    shown = Table("way", "right, without gold", width=WIDTH)
    shown.columns[0].no_wrap = True
    scores = {name: float((each == example.truth)[~is_gold].mean()) for name, each in ways.items()}
    for name, score in scores.items():
        shown.add_row(name, f"{score:.1%}")
    console.print(shown)
    return labels, scores


def _regress(example: "Example", labels: "NDArray[Any]", items: "NDArray[Any]") -> Any:
    """Label all texts by a plain logistic regression on TF-IDF that learns some labels: the script to beat."""
    import numpy as np
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    texts = TfidfVectorizer(sublinear_tf=True).fit_transform(example.texts)
    rows = np.flatnonzero(items)
    return LogisticRegression(max_iter=1000).fit(texts[rows], labels[rows].astype(str)).predict(texts)


def _certify(example: "Example", labels: "Labels", gold: dict[Any, Any]) -> "Certificate":
    """Certify the labels by another random sample."""
    from hyperlabel.cli._terminal import say
    from hyperlabel.trust import certify

    say(f"4. A certificate, from {N_AUDIT} more random labels: hl.certify(labels, None, sample, error={ERROR})")
    certificate = certify(labels, None, _draw_gold(example, N_AUDIT, gold), error=ERROR)
    say(f"   {certificate}")
    if certificate.accepted.any():
        wrong = (labels.labels != example.truth)[certificate.accepted].mean()
        say(f"   In truth, {wrong:.1%} of them are wrong.")
    return certificate


def _label_tomorrow(later: "Example", labels: "Labels", path: Path) -> None:
    """Save the state and label the items that were set aside in it."""
    import numpy as np

    from hyperlabel.classify import JointModel, load
    from hyperlabel.cli._terminal import say

    labels.model.save(path)
    tomorrow = cast(JointModel, load(path)).label(later.votes, texts=later.texts)
    size = f"{path.stat().st_size / 1e6:.1f} MB"
    say(f"5. Tomorrow's rows, in the saved state ({size}): hl.load(state).label(votes, texts=texts)")
    right = _score(tomorrow.labels, later, np.arange(len(later.truth)))
    say(f"   {len(later.truth)} sentences that were set aside, right: {right}")


def _write(example: "Example", labels: "Labels", gold: dict[Any, Any], certificate: "Certificate", out: Path) -> None:
    """Write the tables and the report."""
    import shlex

    import polars as pl

    from hyperlabel.cli._terminal import say
    from hyperlabel.data import add_labels, write_table
    from hyperlabel.reports import report

    table = example.to_polars()
    files = {
        "votes.csv": table,
        "gold.csv": pl.DataFrame({"id": list(gold), "gold": list(gold.values())}),
        "labels.csv": add_labels(table, labels),
    }
    for name, each in files.items():
        write_table(each, out / name)
    title = "Which package is a sentence from?"
    page = report(example.votes, example.texts, example.truth, gold, title=title, certificate=certificate)
    page.save(out / "report.html")
    say(f"6. Wrote {', '.join(files)}, state.safetensors, report.html and demo.png to {out}.")
    votes, known = (shlex.quote(str(out / name)) for name in ("votes.csv", "gold.csv"))
    say(f"   The same labels: hyperlabel label {votes} --text text --encoder {ENCODER} --gold {known} -o x.csv")


def _draw(scores: dict[str, float], certificate: "Certificate", path: Path) -> None:
    """Draw the scores beside the certificate."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    bars = left.barh(list(scores), list(scores.values()), color=["0.7", "0.7", "C0", "C0"])
    left.bar_label(bars, [f"{score:.1%}" for score in scores.values()], padding=3)
    left.invert_yaxis()
    left.set(xlim=(0, 1.1), xlabel="share of right labels, of all sentences without gold")
    left.spines[["top", "right"]].set_visible(False)
    certificate.plot(right)
    right.set_title(f"A certificate from {N_AUDIT} random labels")
    figure.savefig(path, dpi=110)


def _has_votes(example: "Example") -> Any:
    """Return a mask of the items that a rule votes on, (n,)."""
    return (example.votes.to_numpy() >= 0).any(1)


def _score(labels: "NDArray[Any]", example: "Example", items: Any) -> str:
    """Return the share of right labels among some items, in percent."""
    return f"{(labels == example.truth)[items].mean():.1%}"
