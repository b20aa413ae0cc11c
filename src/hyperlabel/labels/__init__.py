"""Labels: the verdicts on items or patterns, how they follow from probabilities, and why each one is what it is."""

from hyperlabel.labels.decide import F1Rule, TieBreak, check_tie_break, decide, find_f1_rule
from hyperlabel.labels.explain import Change, Contribution, Explanation, explain_item
from hyperlabel.labels.labels import Labels
from hyperlabel.labels.suggest import suggest_items

__all__ = [
    "Change",
    "Contribution",
    "Explanation",
    "F1Rule",
    "Labels",
    "TieBreak",
    "check_tie_break",
    "decide",
    "explain_item",
    "find_f1_rule",
    "suggest_items",
]
