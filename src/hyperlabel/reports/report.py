"""`report`: the page about votes and their labels, from Python."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from hyperlabel.checks import check_kind, check_text
from hyperlabel.columns.arrays import as_list
from hyperlabel.errors import ParameterError
from hyperlabel.lf import AppliedVotes
from hyperlabel.lf.analysis import LFAnalysis
from hyperlabel.metrics import Metric
from hyperlabel.models import LabelModel, choose_model
from hyperlabel.reports.balance import find_sensitivity
from hyperlabel.reports.items import ShownItems
from hyperlabel.reports.page import Beside, headline, render
from hyperlabel.shown import show
from hyperlabel.tables import write_text
from hyperlabel.trust import Certificate, advise
from hyperlabel.votes import Votes

_HEIGHT = 640  # pixels of the page inside a notebook


@dataclass(frozen=True)
class Report:
    """A page about votes and their labels; notebooks show it.

    Attributes:
        headline: What it says, in a sentence or two.
        html: The page, one HTML document that loads nothing.
    """

    headline: str
    html: str

    def save(self, path: str | Path) -> None:
        """Write the page to an HTML file, whole or not at all."""
        write_text(path, self.html)

    def __str__(self) -> str:
        return self.headline

    def __repr__(self) -> str:
        return f"Report({self.headline!r}, {len(self.html) // 1024:,} kB; save it with .save('report.html'))"

    def _repr_html_(self) -> str:
        """The page in its own frame, so that its style and script do not affect the notebook."""
        frame = f'srcdoc="{escape(self.html)}" sandbox="allow-scripts" width="100%" height="{_HEIGHT}" frameborder="0"'
        return f"<iframe {frame}></iframe>"


def report(
    votes: object,
    texts: Any = None,
    truth: object = None,
    gold: object = None,
    *,
    model: LabelModel | str | None = None,
    metric: Metric = "accuracy",
    title: str = "Labels",
    certificate: Certificate | None = None,
    table: str | Sequence[str] = "VOTES",
) -> Report:
    """A page about LFs and the labels they make: for people who rely on the labels and people who write LFs.

    Args:
        votes: The votes.
        texts: (n,) texts of the items, shown with single items.
        truth: (n,) true classes, -1 for unknown, or a mapping from item to class: labels are compared with it.
        gold: Known classes that the model learns from, as for `LabelModel.fit`. Without truth, it is compared with the
            labels from votes alone.
        model: The label model, or its short name; the hyper label model if not given.
        metric: What the labels should be good at, as for `LabelModel.predict`.
        title: The title of the page.
        certificate: The result of `certify`, to show.
        table: The table of votes in commands, as for `advise`.

    >>> page = report([[0, 1], [1, 1], [0, -1]], truth=[0, 1, 0], title="Three items")
    >>> print(page.headline.split(";")[0])
    3 of 3 items have labels by 2 LFs
    """
    given = choose_model(model)
    check_text(title, "title")
    if certificate is not None:
        check_kind(certificate, "certificate", Certificate, "what certify returns")
    read = _read(given, votes, truth, gold)
    shown = _check_texts(texts, read)
    fitted = given if gold is None or given.is_fitted else copy.copy(given).fit(read, gold)
    analysis = LFAnalysis(read, truth, model=fitted, metric=metric)
    scored = LFAnalysis(read, gold, model=given, metric=metric) if truth is None and gold is not None else None
    advice = advise(read, gold, model=given, metric=metric, table=table)
    beside = Beside(scored, find_sensitivity(given, analysis), certificate, advice)
    known = None if truth is None and gold is None else read.with_labels(gold if truth is None else truth, "truth")[1]
    ids = range(read.n_items) if read.items is None else read.items
    items = ShownItems(ids, shown, known, read.answers if isinstance(read, AppliedVotes) else {})
    return Report(headline(analysis, beside), render(analysis, items, title=title, beside=beside))


def _read(model: LabelModel, votes: object, truth: object, gold: object) -> Votes:
    """The votes, with the classes that truth or gold add."""
    read = model.read_votes(votes)
    for name, labels in (("truth", truth), ("gold", gold)):
        if labels is not None:
            read, _ = read.with_labels(labels, name)
    return read


def _check_texts(texts: Any, votes: Votes) -> list[Any] | None:
    if texts is None:
        return None
    expected = f"one text for each of the {votes.n_items} items of votes"
    votes.identity.check_index(texts, "texts")
    listed = as_list(texts, "texts", expected)
    if len(listed) != votes.n_items:
        raise ParameterError(f"texts is {show(texts)}; expected {expected}")
    return listed
