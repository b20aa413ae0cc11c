"""The page about a panel: verdicts, judges, cost, position bias, agreement, prevalence, and what is left open."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hyperlabel._core import show_some, wilson_interval
from hyperlabel._version import VERSION
from hyperlabel.panel._estimates import MARGIN, correct_prevalence, count_to_audit, count_to_settle
from hyperlabel.panel._judgments import repeat_agreement
from hyperlabel.panel._verdicts import Verdicts, find_cheapest
from hyperlabel.reports import (
    Html,
    Line,
    PairCell,
    Report,
    class_tag,
    compose_page,
    cut,
    join,
    line_chart,
    named,
    note,
    number,
    pair_map,
    section,
    show_facts,
    table,
    tag,
)

KEEP = 0.95
"""The share of labels that the cheapest panel should keep."""

_ITEMS, _VOTES, _JUDGES = 200, 24, 60  # the most items, votes of an item, and judges of the map that are shown


def write_panel_page(jury: Verdicts, title: str) -> Report:
    """Write the page."""
    sections = (
        _show_verdicts(jury),
        _show_judges(jury),
        _show_cost(jury),
        _show_positions(jury),
        _show_agreement(jury),
        _show_alternatives(jury),
        _show_prevalence(jury),
        _show_settling(jury),
    )
    contested = int(jury.contested.sum())
    gold = 0 if jury.gold is None else int((jury.gold >= 0).sum())
    checked = f"checked by {gold:,} gold items" if gold else "not checked by gold"
    headline = (
        f"{jury.votes.n_lfs} judges on {len(jury):,} items: {contested:,} ({contested / len(jury):.0%}) are contested. "
        f"The judges' accuracy is {checked}."
    )
    facts = {
        "items": f"{len(jury):,}",
        "judges": f"{jury.votes.n_lfs:,}",
        "judgments": f"{len(jury.judgments.judge):,}",
        "failed": f"{int(jury.judgments.failed.sum()):,}",
        "unparsable": f"{int(jury.judgments.unparsable.sum()):,}",
        "contested items": f"{contested:,}",
        "gold items": f"{gold:,}",
    }
    about = note(f"Labels by {jury.model!r}, hyperlabel {VERSION}.")
    return compose_page(title, headline, join(show_facts(facts), about), *sections)


def _show_verdicts(jury: Verdicts) -> Html:
    """The verdicts, disagreements first."""
    cells, best, classes = jury.cells, jury.labels.best, jury.labels.classes
    voted = (cells >= 0).sum(1)
    own = np.where(voted > 0, (cells == best[:, None]).sum(1, where=cells >= 0) / np.maximum(voted, 1), np.nan)
    order = np.lexsort((jury.labels.confidence, own, ~jury.contested | (voted == 0)))[:_ITEMS].tolist()
    is_gold = np.zeros(len(jury), bool) if jury.gold is None else jury.gold >= 0
    ids = range(len(jury)) if jury.votes.items is None else jury.votes.items
    heads = [("item", False), ("label", False), ("confidence", True), ("agree", True), ("votes", False)]
    rows = []
    for i in order:
        label = tag("td", class_tag(classes, int(best[i])), " gold" if is_gold[i] else "")
        chips = tag("td", *_vote_tags(jury, i), class_="chips")
        figures = number(f"{jury.labels.confidence[i]:.3f}"), _percent(own[i])
        rows.append(tag("tr", named(ids[i]), label, *figures, chips))
    title = "Verdicts, disagreements first"
    few = cut(len(order), len(jury), "items", "those with the most disagreement")
    meaning = "agree: the share of the votes that are for the label. Contested items have less than two thirds."
    return section(title, table(title, heads, rows), few, note(meaning), name="verdicts")


def _vote_tags(jury: Verdicts, item: int) -> list[object]:
    judges = np.flatnonzero(jury.cells[item] >= 0)
    judges = judges[np.argsort(jury.cells[item, judges] == jury.labels.best[item], kind="stable")]  # dissent first
    tags: list[object] = []
    for j in judges[:_VOTES]:
        tags += [class_tag(jury.labels.classes, int(jury.cells[item, j]), jury.votes.lf_names[j]), " "]
    return [*tags, f"and {len(judges) - _VOTES} more votes"] if len(judges) > _VOTES else tags


def _percent(value: float) -> Html:
    return number("" if np.isnan(value) else f"{value:.1%}", -1 if np.isnan(value) else round(float(value), 6))


def _interval(value: float, low: float, high: float) -> Html:
    """A share with its interval, in figures and as a line from 0 to 1."""
    if np.isnan(value):
        return number(None, -1)
    line = tag("line", x1=f"{100 * low:.1f}", x2=f"{100 * high:.1f}", y1=6, y2=6, class_="curve")
    point = tag("circle", cx=f"{100 * value:.1f}", cy=6, r=3, class_="point")
    axis = tag("line", x1=0, x2=100, y1=6, y2=6, class_="grid")
    label = f"{value:.1%}, from {low:.1%} to {high:.1%}"
    size = {"viewBox": "-4 0 108 12", "width": 108, "height": 12, "style": "margin-left:auto"}
    drawing = tag("svg", axis, line, point, role="img", aria_label=label, **size)
    return tag("td", f"{value:.1%} ({low:.1%} to {high:.1%})", drawing, class_="number", data_sort=f"{value:.6g}")


def _show_judges(jury: Verdicts) -> Html:
    """The card: accuracy with intervals, and which judges nearly copy another."""
    card = jury.judges
    gold = "accuracy" in card.columns
    heads = [("judge", False), ("votes", True), ("no verdict", True)]
    heads += [("accuracy on gold", True)] * gold + [("estimated accuracy", True), ("checked", False)]
    heads += [("kappa", True), ("labels changed", True), ("copy of", False)]
    heads += [("cost", True)] * (jury.costs is not None)
    rows = []
    for row in card.rows():
        cells = [named(row["judge"]), number(f"{row['votes']:,}"), number(f"{row['failed'] + row['unparsable']:,}")]
        if gold:
            cells.append(_interval(row["accuracy"], row["accuracy_low"], row["accuracy_high"]))
        cells.append(_interval(row["estimated_accuracy"], row["estimated_low"], row["estimated_high"]))
        cells += [tag("td", row["checked"]), _figure(row["kappa"]), _percent(row["label_changes"])]
        cells.append(tag("td", row["copy_of"]))
        cells += [_figure(row["cost"])] if jury.costs is not None else []
        rows.append(tag("tr", *cells))
    title = "Judges"
    meaning = (
        "Intervals are 95%. The estimated accuracy is the mean probability, by the model, of what a judge votes for. "
        "Its interval does not cover errors of the model, and judges who share an error look right to each other. "
        "Labels changed: the share of the labels that change without the judge. "
        f"{'Sorted by accuracy on gold.' if gold else 'In order of appearance: without gold there is no ranking.'}"
    )
    return section(title, table(title, heads, rows), note(meaning), name="judges")


def _figure(value: float) -> Html:
    return number("" if np.isnan(value) else f"{value:,.2f}", -1 if np.isnan(value) else round(float(value), 6))


def _show_cost(jury: Verdicts) -> Html:
    """Labels kept against cost, and the cheapest panel that keeps most."""
    curve, few = jury.curve, find_cheapest(jury, KEEP)
    total = max(_total_price(jury), 1e-12)
    line = Line(
        np.append(0, curve["price"] / total), np.append(0, curve["kept"]), "labels kept", "--hue:170", "class-line"
    )
    unit, form = ("judgments", ",.0f") if jury.costs is None else ("cost", ",.2f")
    title = "Cost against quality"
    label = f"share of the labels kept by the first judges, against their share of the {unit}"
    drawing = line_chart([line], f"share of the {unit}", "labels kept", label)
    sentence = (
        f"{', '.join(few.judges)}: {len(few.judges)} of {jury.votes.n_lfs} judges keep {few.kept:.1%} of the labels "
        f"for {few.price / total:.0%} of the {unit}."
    )
    heads = [("judges", True), ("added", False), (unit, True), ("labels kept", True)]
    rows = []
    for row in curve.rows():
        price = number(f"{row['price']:{form}}")
        rows.append(tag("tr", number(row["judges"]), tag("td", row["added"]), price, _percent(row["kept"])))
    meaning = (
        f"The cheapest panel that keeps {KEEP:.0%} of the labels. The curve adds, one by one, the judge who gains most "
        "for its price."
    )
    parts = tag("p", sentence, class_="sentence"), note(meaning), tag("figure", drawing), table(title, heads, rows)
    return section(title, *parts, name="cost")


def _total_price(jury: Verdicts) -> float:
    return float(len(jury.judgments.judge) if jury.costs is None else jury.costs.sum())


def _show_positions(jury: Verdicts) -> Html | None:
    """Share of the verdicts that change with the order."""
    judgments = jury.judgments
    if judgments.position is None:
        return None
    same, items = repeat_agreement(judgments, judgments.position, judgments.run)
    low, high = wilson_interval((1 - np.nan_to_num(same, nan=1)) * items, items)
    rows = [
        tag("tr", named(name), number(f"{items[j]:,}"), _interval(1 - same[j], low[j], high[j]))
        for j, name in enumerate(judgments.judges)
    ]
    heads = [("judge", False), ("items in both orders", True), ("verdict changes with the order", True)]
    turned = f" Verdicts were turned around in order {show_some(judgments.turned)}." if judgments.turned else ""
    meaning = "A verdict that changes with the order in which a pair was shown is about the place, not the answer."
    title = "Position bias"
    return section(title, table(title, heads, rows), note(meaning + turned), name="positions")


def _show_agreement(jury: Verdicts) -> Html:
    """A map of kappa of all pairs, and statistics of all judges."""
    agreement, names = jury.agreement, jury.votes.lf_names[:_JUDGES]
    figures = {
        "Krippendorff's alpha": agreement.krippendorff_alpha,
        "its ordinal form": agreement.ordinal_alpha,
        "its interval form": agreement.interval_alpha,
        "Fleiss' kappa": agreement.fleiss_kappa,
        "mean of Cohen's kappa": agreement.cohen_kappa,
        "mean of quadratically weighted kappa": agreement.weighted_kappa,
    }
    shown = ", ".join(f"{name} {value:.3f}" for name, value in figures.items() if not np.isnan(value))

    def cell(i: int, j: int) -> PairCell:
        kappa, shared = float(agreement.pairs[i, j]), int(agreement.shared[i, j])
        if i == j:
            return PairCell("own", f"{names[i]}: {agreement.used[i]:,} votes are used", 0.0, "")
        if np.isnan(kappa):
            return PairCell("empty", f"{names[i]} and {names[j]}: nothing to measure on {shared:,} shared items")
        tip = f"{names[i]} and {names[j]}: kappa {kappa:.2f} on {shared:,} shared items"
        return PairCell("own", tip, min(1.0, max(0.0, kappa)), f"{100 * kappa:.0f}")

    drawing = pair_map(names, cell, "Cohen's kappa of all pairs of judges")
    used = f"Votes on items that another judge votes on, too: {int(agreement.used.sum()):,} of {_count_votes(jury):,}."
    few = cut(len(names), jury.votes.n_lfs, "judges", "the first")
    box = tag("div", drawing, class_="scroll", role="region", aria_label="Agreement", tabindex=0)
    legend = note(f"{used} Numbers are 100 times Cohen's kappa: 100 for judges who always agree, 0 for chance.")
    return section("Agreement", tag("p", shown or "There is nothing to measure."), box, few, legend, name="agreement")


def _count_votes(jury: Verdicts) -> int:
    return int((jury.cells >= 0).sum())


def _show_alternatives(jury: Verdicts) -> Html:
    """Other ways to decide, beside the panel's."""
    rows: list[Html] = []
    rivals = jury.compare()
    for row in rivals.rows():
        rest = [_percent(row["accuracy"])] if "accuracy" in row else []
        rest += [_figure(row["distance"])] if "distance" in row else []
        rows.append(tag("tr", named(row["model"]), _percent(row["same"]), *rest))
    heads = [("decided by", False), ("same label", True)]
    heads += [("accuracy on gold", True)] * ("accuracy" in rivals.columns)
    heads += [("mean distance to gold", True)] * ("distance" in rivals.columns)
    title = "Other ways to decide"
    meaning = "Labels that other models give the same votes. Accuracy is that of models that did not see the gold."
    return section(title, table(title, heads, rows), note(meaning), name="alternatives")


def _show_prevalence(jury: Verdicts) -> Html:
    """Share of each class, corrected for errors of the panel."""
    title, labels = "How common each class is", _blind_labels(jury)
    if jury.gold is None or labels is None:
        text = "Without gold, the errors of the panel are not known, and its shares cannot be corrected for them."
        return section(title, tag("p", text), _shares(jury), name="prevalence")
    rows = []
    for c, share in enumerate(correct_prevalence(labels, jury.gold, len(jury.labels.classes))):
        estimate = _interval(share.estimate, share.low, share.high)
        rows.append(tag("tr", tag("td", class_tag(jury.labels.classes, c)), _percent(share.apparent), estimate))
    heads = [("class", False), ("share of the labels", True), ("corrected share", True)]
    meaning = (
        "Corrected for the errors that the panel makes on gold items (Rogan and Gladen; 95% interval of Lang and "
        "Reiczigel), by a model that did not see the gold. It holds if gold items were drawn at random."
    )
    return section(title, table(title, heads, rows), note(meaning), name="prevalence")


def _blind_labels(jury: Verdicts) -> NDArray[Any] | None:
    return None if jury.blind_model is None else jury.blind_model.label(jury.votes).best


def _shares(jury: Verdicts) -> Html:
    best, classes = jury.labels.best, jury.labels.classes
    shares = [(best == c).sum() / max(1, (best >= 0).sum()) for c in range(len(classes))]
    rows = [tag("tr", tag("td", class_tag(classes, c)), _percent(share)) for c, share in enumerate(shares)]
    return table("Share of the labels", [("class", False), ("share of the labels", True)], rows)


def _show_settling(jury: Verdicts) -> Html:
    """Number of human labels that would answer open questions."""
    labeled = jury.labels.best >= 0
    audit = count_to_audit(float(jury.labels.confidence[labeled].mean()) if labeled.any() else 0.5, len(jury))
    sentences = [
        f"{audit:,} items, drawn at random and labeled by people, give the accuracy of the labels to within "
        f"{100 * MARGIN:.0f} points."
    ]
    sentences += [] if jury.votes.n_lfs < 2 else [_compare_best(jury)]
    call = "hl.jury(..., gold={item: label, ...})"
    text = [tag("p", sentence) for sentence in sentences]
    return section("How many human labels would settle it", *text, note(f"Then: {call}"), name="settle")


def _compare_best(jury: Verdicts) -> str:
    """The two judges that seem best, and the labels that would tell which is better."""
    card, names = jury.judges, list(jury.votes.lf_names)
    accuracy = card["accuracy"] if "accuracy" in card.columns else card["estimated_accuracy"]
    first, second = (str(card["judge"][j]) for j in np.argsort(-np.nan_to_num(accuracy, nan=-1), kind="stable")[:2])
    contest = count_to_settle(jury.cells, jury.labels.probabilities, names.index(first), names.index(second))
    start = f"{first} and {second} seem best and differ on {contest.items:,} items"
    if contest.labels <= contest.items:
        return f"{start}: labels for about {contest.labels:,} of these would tell which is better."
    return f"{start}, which is too few to tell which is better: judge more items."
