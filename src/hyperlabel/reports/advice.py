"""The advisor's list on the page."""

from hyperlabel.reports.elements import note, section
from hyperlabel.reports.html import Html, tag
from hyperlabel.trust.advice import Advice, AdviceList


def show_advice(advice: AdviceList) -> Html:
    """What to do next, most valuable first."""
    if not len(advice):
        return section("What to do next", note("No advice: no known problem was found."), name="advice")
    meaning = "Worth: what following this kind of advice changed on public sets, in points of accuracy or F1."
    steps = tag("ol", *map(_show, advice), class_="advice")
    return section("What to do next", steps, note(meaning), name="advice")


def _show(advice: Advice) -> Html:
    worth = tag("p", f"Worth: {advice.worth}.", class_="soft")
    calls = tag("details", tag("summary", "How"), tag("pre", advice.call), tag("pre", advice.command))
    return tag("li", tag("p", advice.reason), worth, calls)
