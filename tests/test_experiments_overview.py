"""The opening of the page: what to expect of the default and where it loses, as the records say."""

import json

from experiments.overview import overview

SCORES = {"census": (57.0, 40.0, 50.0), "imdb": (70.0, 75.0, 60.0), "youtube": (80.0, 80.5, 84.0)}


def make_records(family="wrench"):
    return [
        {"model": model, "dataset": name, "seed": 0, "protocol": "all rows", "family": family, "metric": "accuracy",
         "score": score, "brier": 0.3, "ceiling": 90.0}
        for name, scores in SCORES.items()
        for model, score in zip(("hlm3", "mv", "ds"), scores, strict=True)
    ]  # fmt: skip


def write(folder, name, records):
    (folder / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))


def test_overview_counts_wins_and_names_losses(tmp_path):
    write(tmp_path, "aggregate", make_records())
    text = overview(tmp_path)
    assert "ahead by 1 point or more on 1 of 3 sets, behind on 1; the median difference is -0.5 points" in text
    assert "**Behind majority vote** by 1 point or more: imdb (-5.0)." in text
    assert "**Some other model is 3 points or more ahead**: imdb (`mv` +5.0), youtube (`ds` +4.0)." in text
    assert "| `hlm3`, the default | **69.0** | **69.0** | **0.300** |" in text


def test_overview_names_the_sizes_at_which_gold_does_harm(tmp_path):
    write(tmp_path, "aggregate", make_records())
    gold = [
        {"model": "hlm3", "dataset": name, "seed": 0, "gold": size, "family": "wrench", "unsupervised": 70.0,
         "score": 70.0 + gain, "seconds": 1.0}
        for name in SCORES for size, gain in ((20, -0.4), (100, 0.6))
    ]  # fmt: skip
    write(tmp_path, "semi", gold)
    text = overview(tmp_path)
    assert "points by number of gold items: 20: -0.4, 100: +0.6." in text
    assert "falls behind itself without gold, at 20 items." in text


def test_overview_says_if_the_default_was_not_run(tmp_path):
    assert "The default was not run yet." in overview(tmp_path)
