"""`hyperlabel demo`: a small, real, complete example with nothing to download.

The items are the first sentences of the documentation of the installed NumPy, Polars and matplotlib: which package is a
sentence from? Eleven keyword rules vote. They are ordinary rules: most are good, two are wrong more than a quarter of
the time, and over a third of the items have no vote. The truth is used only for the scores and in place of the person
who labels by hand.

The rules were chosen to make every step visible. They are not a benchmark; docs/benchmarks.md has those.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from hyperlabel.cli._options import Option
from hyperlabel.errors import require

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from hyperlabel.data import Votes
    from hyperlabel.lf import LFAnalysis
    from hyperlabel.models import HyperLabelModel
    from hyperlabel.trust import Certificate

OUT_HELP = "Folder for the votes, the gold, the labels, the report and a picture."

_DRAWING = "axes axis collections colors figure image legend lines patches pyplot text ticker"
MODULES = {
    "numpy": ("numpy", *(f"numpy.{name}" for name in "linalg fft random ma strings polynomial".split())),  # noqa: SIM905
    "polars": ("polars",),
    "matplotlib": tuple(f"matplotlib.{name}" for name in _DRAWING.split()),
}

RULES: dict[str, tuple[str, tuple[str, ...]]] = {
    # name: (class, words)
    "arrays": ("numpy", ("array", "arrays", "ndarray", "dtype")),
    "elementwise": ("numpy", ("element-wise", "axis", "input")),
    "polynomials": ("numpy", ("polynomial", "Chebyshev", "Hermite", "Legendre", "Laguerre", "coefficients")),
    "masks": ("numpy", ("masked", "mask")),
    "chance": ("numpy", ("distribution", "random", "samples")),
    "frames": ("polars", ("column", "columns", "DataFrame", "LazyFrame")),
    "queries": ("polars", ("expression", "expressions", "null", "lazy", "query")),
    "verbs": ("polars", ("group", "join", "sort", "rolling", "schema")),
    "drawing": ("matplotlib", ("plot", "figure", "axes", "legend", "subplot")),
    "looks": ("matplotlib", ("color", "line", "tick", "label", "font", "artist", "marker")),
    "setters": ("matplotlib", ("set", "get")),
}

N_GOLD, N_AUDIT, ERROR = 20, 100, 0.1
WIDTH = 76  # columns of the tables


def demo(out: Annotated[Path, Option(metavar="FOLDER", help=OUT_HELP)] = Path("demo")) -> None:
    """Label sentences by eleven rules, from votes to a report.

    A real example with nothing to download: which package is a sentence of its documentation from? It shows the labels,
    what each rule is worth, what twenty hand labels add, a certificate, and labels for items without votes. The
    truth is known, so every step says how many labels are right.

    Example: hyperlabel demo --out demo
    """
    for package in ("matplotlib", "sklearn"):
        require(package, extra="demo")
    import shlex

    import polars as pl

    from hyperlabel.classify import label
    from hyperlabel.cli._inputs import make_folder
    from hyperlabel.cli._terminal import say
    from hyperlabel.data import add_labels, write_table
    from hyperlabel.reports import report
    from hyperlabel.studio import sentence_table

    make_folder(out)
    frame = sentence_table(MODULES)  # one row per item: id, text, truth
    texts, truth = frame["text"].to_list(), frame["truth"].to_numpy()
    votes = _vote(frame)
    table = frame.select("id", "text").hstack(votes.to_polars().select(list(RULES))).hstack(frame.select("truth"))
    model = _label(table, votes)
    gold, taught, analyses = _learn_gold(frame, votes, model)
    certificate = _certify(frame, votes, gold)
    filled = label(votes, texts, gold=gold, model=taught)
    rest = ~_has_votes(votes)
    say("5. Labels for all items, by votes, texts and gold together: hl.label(votes, texts, gold=gold)")
    largest = max((truth == name)[rest].mean() for name in MODULES)
    voted, others = _score(filled.labels, truth, ~rest), _score(filled.labels, truth, rest)
    say(f"   Accuracy: {voted} with votes; {others} of {rest.sum():,} without (most frequent package: {largest:.1%})")
    files: dict[str, pl.DataFrame] = {
        "votes.csv": table,
        "gold.csv": pl.DataFrame({"id": list(gold), "gold": list(gold.values())}),
        "labels.csv": add_labels(table, filled),
    }
    for name, each in files.items():
        write_table(each, out / name)
    title = "Which package is a sentence from?"
    page = report(votes, texts, truth, gold, title=title, certificate=certificate, table="votes.csv")
    page.save(out / "report.html")
    _draw(*analyses, certificate, out / "demo.png")
    say(f"6. Wrote {', '.join(files)}, report.html and demo.png to {out}. Open report.html in a browser.")
    paths = (shlex.quote(str(out / name)) for name in ("votes.csv", "gold.csv"))
    say("   The same labels: hyperlabel label {} --gold {} --text text -o x.csv".format(*paths))


def _vote(frame: "pl.DataFrame") -> "Votes":
    """Apply the rules."""
    from rich.table import Table

    from hyperlabel.cli._terminal import console, say
    from hyperlabel.lf import LFAnalysis, apply_lfs, keyword_lf

    lfs = [keyword_lf(list(words), label, name=name) for name, (label, words) in RULES.items()]
    votes: Votes = apply_lfs(lfs, frame)
    say(f"1. {len(frame):,} sentences from the documentation of {', '.join(MODULES)}. Which package is each from?")
    say(f"   {len(RULES)} rules vote by keywords; {_has_votes(votes).mean():.0%} of the items get a vote.")
    shown = Table("rule", "votes for", "items", "words", width=WIDTH)
    for name, count in zip(RULES, LFAnalysis(votes).votes.tolist(), strict=True):
        label, words = RULES[name]
        shown.add_row(name, label, f"{count:,}", ", ".join(words))
    console.print(shown)
    return votes


def _has_votes(votes: "Votes") -> Any:
    """Return a mask of the items that a rule votes on. (n,)."""
    return (votes.to_numpy() >= 0).max(1)


def _score(labels: "NDArray[Any]", truth: "NDArray[Any]", items: Any) -> str:
    """Return the share of right labels among some items, in percent."""
    return f"{(labels == truth)[items].mean():.1%}"


def _label(table: "pl.DataFrame", votes: "Votes") -> "HyperLabelModel":
    """Label by the votes alone."""
    from collections import Counter

    from rich.table import Table

    from hyperlabel.cli._terminal import console, say
    from hyperlabel.models import HyperLabelModel, MajorityVote

    say("2. Labels from the votes alone, in one pass: hl.HyperLabelModel().label(votes)")
    model = HyperLabelModel().fit(votes)
    labels, truth = model.label(votes), table["truth"].to_numpy()
    shown = Table("item", "votes", "label", "confidence", "truth", width=WIDTH)
    # A few items on which at least three rules vote, and not for the same class, one of each pattern.
    codes, lengths = votes.to_numpy(), table["text"].str.len_chars().to_list()
    differ = [row for row, cast in enumerate(codes) if (cast >= 0).sum() > 2 and len(set(cast[cast >= 0])) > 1]
    contested = {codes[row].tobytes(): row for row in sorted(differ, key=lambda row: -lengths[row])}
    for row in sorted(contested.values())[:3]:
        cast = Counter(vote for vote in table.select(list(RULES)).row(row) if vote)
        counts = "\n".join(f"{count} {label}" for label, count in cast.most_common())
        shown.add_row(table["text"][row], counts, str(labels.labels[row]), f"{labels.confidence[row]:.2f}", truth[row])
    console.print(shown)
    voted = _has_votes(votes)
    majority, own = _score(MajorityVote().fit_predict(votes), truth, voted), _score(labels.labels, truth, voted)
    say(f"   Accuracy on items with votes: majority vote {majority}, hyperlabel {own}")
    return model


def _ask(frame: "pl.DataFrame", items: "NDArray[Any]") -> dict[str, str]:
    """Return the truth of items, by their ids, as a person would label them."""
    truth = dict(frame.select("id", "truth").iter_rows())
    return {str(item): truth[item] for item in items}


def _learn_gold(
    frame: "pl.DataFrame", votes: "Votes", model: "HyperLabelModel"
) -> "tuple[dict[str, str], HyperLabelModel, tuple[LFAnalysis, LFAnalysis]]":
    """Label a few items by hand, and learn from them; the analyses are without and with this gold."""
    from rich.table import Table

    from hyperlabel.cli._terminal import console, say
    from hyperlabel.lf import LFAnalysis
    from hyperlabel.models import HyperLabelModel, MajorityVote

    say(f"3. {N_GOLD} hand labels for the items that model.suggest(votes, {N_GOLD}) names. What is each rule worth?")
    gold, truth = _ask(frame, model.suggest(votes, N_GOLD)), frame["truth"].to_numpy()
    taught = HyperLabelModel().fit(votes, gold)
    before, after = LFAnalysis(votes, truth, model=model), LFAnalysis(votes, truth, model=taught)
    shown = Table("rule", "votes for", "estimated", f"with {N_GOLD} gold", "in truth", width=WIDTH)
    figures = (before.estimated_accuracy, after.estimated_accuracy, after.precision)
    for name, *shares in zip(RULES, *figures, strict=True):
        shown.add_row(name, RULES[name][0], *(f"{share:.0%}" for share in shares))
    console.print(shown)
    others = _has_votes(votes) & ~frame["id"].is_in(list(gold)).to_numpy()
    models = ("majority vote", MajorityVote()), ("hyperlabel", model), (f"with {N_GOLD} gold", taught)
    scores = [f"{name} {_score(each.predict(votes), truth, others)}" for name, each in models]
    say(f"   Accuracy on items with votes, gold excluded: {', '.join(scores)}")
    return gold, taught, (before, after)


def _certify(frame: "pl.DataFrame", votes: "Votes", gold: dict[str, str]) -> "Certificate":
    """Certify the labels of votes and gold by a random sample."""
    from hyperlabel.cli._terminal import say
    from hyperlabel.models import HyperLabelModel
    from hyperlabel.trust import audit_sample, certify

    say(f"4. A certificate, from {N_AUDIT} random items labeled by hand: hl.certify(model, votes, gold, error={ERROR})")
    sample = _ask(frame, audit_sample(votes, N_AUDIT, gold=gold).items)
    certificate = certify(HyperLabelModel(), votes, sample, error=ERROR, learn=gold)
    say(f"   {certificate}")
    if certificate.accepted.any():
        wrong = certificate.labels.labels != frame["truth"].to_numpy()
        say(f"   In truth, {wrong[certificate.accepted].mean():.1%} of them are wrong.")
    return certificate


def _draw(before: "LFAnalysis", after: "LFAnalysis", certificate: "Certificate", path: Path) -> None:
    """Draw what each rule is worth, estimated and in truth, beside the certificate."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    names = list(RULES)
    left.hlines(names, after.precision, before.estimated_accuracy, color="0.85", zorder=0)
    left.scatter(before.estimated_accuracy, names, marker="o", facecolors="none", edgecolors="C0", label="estimated")
    left.scatter(after.estimated_accuracy, names, color="C0", label=f"with {N_GOLD} gold labels")
    left.scatter(after.precision, names, color="C1", marker="D", label="in truth")
    left.invert_yaxis()
    left.set(xlim=(0.5, 1.02), xlabel="share of a rule's votes that are right", title="What each rule is worth")
    left.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=3, frameon=False)
    certificate.plot(right)
    right.set_title(f"A certificate from {N_AUDIT} random labels")
    figure.savefig(path, dpi=110)
