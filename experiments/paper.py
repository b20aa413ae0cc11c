"""The numbers of the paper, read off its tables.

R. Wu, S.-E. Chen, J. Zhang and X. Chu, "Learning Hyper Label Model for Programmatic Weak Supervision", ICLR 2023.
Names of sets are those of the WRENCH folders, names of models those of `label_models`. Of Figure 2 only the numbers
that the text states are known.
"""

SETS = (
    "census", "imdb", "yelp", "youtube", "sms", "spouse", "cdr", "commercial", "tennis", "basketball", "agnews",
    "trec", "semeval", "chemprot",
)  # fmt: skip
F1_SETS = ("census", "sms", "spouse", "cdr", "commercial", "tennis", "basketball")
"""Table 1: sets that are scored by F1; the others by accuracy."""


def _by_set(*values: float) -> dict[str, float]:
    return dict(zip(SETS, values, strict=True))


SCORES = {
    "mv": _by_set(22.2, 75.0, 74.4, 80.3, 84.0, 51.6, 63.3, 85.9, 85.0, 18.9, 81.4, 49.9, 84.2, 53.7),
    "dp": _by_set(11.1, 74.4, 71.9, 84.5, 83.8, 50.3, 33.9, 77.5, 85.1, 17.1, 81.7, 47.2, 73.5, 56.2),
    "fs": _by_set(17.1, 74.5, 74.0, 83.7, 74.4, 49.9, 69.6, 82.5, 84.0, 17.1, 81.3, 50.1, 23.8, 52.4),
    "metal": _by_set(51.1, 75.0, 74.4, 86.0, 57.7, 49.9, 67.9, 83.7, 80.9, 19.0, 82.2, 52.1, 84.2, 52.9),
    "nplm": _by_set(0.0, 55.2, 68.3, 45.2, 0.0, 34.3, 0.0, 76.5, 85.0, 0.0, 81.3, 36.5, 30.2, 48.4),
    "ds": _by_set(0.0, 74.4, 68.3, 45.2, 65.0, 34.3, 0.1, 77.8, 85.0, 17.1, 26.6, 20.9, 73.5, 35.1),
    "ebcc": _by_set(0.0, 74.4, 69.6, 45.2, 0.0, 34.3, 8.7, 77.5, 85.0, 17.1, 27.8, 20.8, 30.2, 35.0),
    "cll": _by_set(53.6, 72.7, 72.0, 86.1, 84.2, 50.0, 64.9, 84.8, 83.5, 17.5, 80.7, 59.0, 84.2, 53.1),
    "hlm": _by_set(56.1, 75.0, 74.4, 91.4, 84.1, 51.6, 71.0, 83.6, 84.3, 17.1, 81.4, 59.8, 84.2, 52.3),
}
"""Table 2: score in percent by model and set."""

AVERAGES = {
    "mv": (65.0, 0.0), "dp": (60.6, 0.1), "fs": (59.6, 0.0), "metal": (65.5, 0.2), "nplm": (40.1, 0.0),
    "ds": (44.5, 0.0), "ebcc": (37.6, 0.1), "cll": (67.6, 0.0), "hlm": (69.0, 0.2),
}  # fmt: skip
"""Table 2: average over the 14 sets, and its error bar."""

CPU_SECONDS = {
    "dp": _by_set(147.8, 18.8, 40.5, 2.5, 14.4, 8.4, 29.5, 8.5, 10.0, 14.9, 225.0, 100.8, 190.2, 213.0),
    "fs": _by_set(21.1, 1.7, 3.7, 0.2, 3.2, 0.8, 3.7, 0.6, 0.6, 14.9, 22.1, 16.3, 69.0, 26.4),
    "metal": _by_set(1.1, 0.3, 0.4, 0.4, 0.9, 0.3, 0.9, 0.4, 0.4, 0.4, 0.5, 16.7, 18.1, 16.5),
    "nplm": _by_set(156.7, 56.0, 5.7, 0.4, 19.8, 1.8, 6.3, 11.2, 1.5, 3.4, 29.9, 49.9, 25.9, 132.6),
    "ds": _by_set(2.4, 79.8, 116.1, 0.2, 3.6, 0.9, 29.7, 267.7, 4.6, 2.1, 16.3, 78.3, 36.6, 255.9),
    "ebcc": _by_set(3.9, 5.1, 52.5, 2.2, 2.8, 2.3, 5.8, 3.0, 2.5, 6.0, 18.0, 9.0, 9.8, 84.8),
    "cll": _by_set(33.7, 2.9, 6.6, 0.5, 3.8, 1.4, 6.0, 7.4, 1.1, 2.0, 28.5, 12.4, 20.5, 21.3),
    "hlm": _by_set(0.9, 0.2, 0.3, 0.2, 0.2, 0.7, 0.7, 1.1, 0.3, 0.9, 4.6, 4.4, 1.9, 7.3),
}
"""Table 5: seconds without a GPU by model and set; majority vote took less than 0.1 on every set."""

GPU_SECONDS = {
    "metal": _by_set(0.5, 0.3, 0.4, 0.4, 0.4, 0.3, 0.4, 0.4, 0.4, 0.4, 0.5, 3.6, 4.6, 3.6),
    "nplm": _by_set(15.7, 4.0, 5.7, 0.4, 2.2, 1.8, 6.3, 11.2, 1.5, 3.4, 27.9, 5.4, 3.4, 12.1),
    "hlm": _by_set(0.1, 0.1, 0.1, 0.1, 0.1, 0.2, 0.2, 0.3, 0.2, 0.3, 0.4, 0.2, 0.3, 0.2),
}
"""Table 3: seconds on a GPU, for the methods that use one; the others are as in Table 5."""

SEMI_SECONDS = {"hlm": 3.1, "ds": 61.3, "amcl": 261.8, "rf": 4.8}
"""Section 5.2: seconds with 10,000 gold items, averaged over the sets."""

ABLATION = {"hlm": 69.0, "data generation": 64.2, "model architecture": 61.8, "better-than-random": 67.6}
"""Table 4: average score with one component replaced by a naive one."""

END_MODELS = {
    "mv": _by_set(31.7, 74.7, 74.2, 90.9, 83.5, 51.6, 62.9, 90.1, 83.5, 13.4, 81.9, 63.9, 76.8, 54.6),
    "metal": _by_set(11.6, 74.4, 70.5, 87.1, 87.3, 51.0, 63.5, 88.2, 83.5, 14.5, 82.0, 63.7, 83.1, 52.5),
    "cll": _by_set(51.5, 73.6, 72.8, 81.8, 83.6, 52.0, 59.8, 89.6, 83.5, 19.3, 81.7, 68.4, 82.8, 53.0),
    "hlm": _by_set(56.3, 74.7, 75.7, 93.0, 82.4, 52.3, 64.1, 87.1, 83.5, 17.0, 80.8, 68.4, 82.8, 53.1),
}
"""Table 6: test score of the end model by label model and set; an MLP on numbers, BERT on texts."""

END_MODEL_AVERAGES = {"mv": (66.7, 0.8), "metal": (65.2, 0.2), "cll": (68.1, 0.3), "hlm": (69.4, 0.3)}
"""Table 6: average over the 14 sets, and its error bar."""
