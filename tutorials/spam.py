# %% [markdown]
# # Spam, from texts alone
#
# The data of Snorkel's own tutorial: 1,956 comments below five music videos, some of them spam (the *YouTube Spam
# Collection*, Alberto et al. 2015, which the UCI repository offers). We write rules, not labels. The truth is only
# looked at in the end, to see how far we came.

# %%
import json
import os
import re
from pathlib import Path

import numpy as np
import pandas as pd

import hyperlabel as hl

lines = Path(os.environ["HYPERLABEL_DATA"], "raw", "youtube.jsonl").read_text(encoding="utf-8").splitlines()
comments = pd.DataFrame([json.loads(line) for line in lines])
truth = np.where(comments.pop("label") == 1, "spam", "ham")
comments.shape

# %% [markdown]
# ## Rules
#
# A rule votes for a class or abstains. Ready-made ones run on whole columns; a decorated function sees one row. None
# of them has to be right: they have to be right more often than not.

# %%


@hl.labeling_function()
def short(x):
    return "ham" if len(x.text.split()) < 5 else hl.ABSTAIN


@hl.labeling_function()
def mentions_money(x):
    return "spam" if re.search(r"\b\d+ ?(?:euro|dollars?|\$|%)", x.text.lower()) else hl.ABSTAIN


lfs = [
    hl.regex_lf(r"https?:|www\.|\.com\b", "spam", name="link"),
    hl.keyword_lf(["subscribe", "my channel", "check out", "check my"], "spam", name="promotion"),
    hl.keyword_lf(["please", "plz", "pls"], "spam", name="begging"),
    hl.keyword_lf(["song", "music", "video is", "best video", "views"], "ham", name="about_the_video"),
    hl.keyword_lf(["love", "awesome", "beautiful", "amazing"], "ham", name="praise"),
    short,
    mentions_money,
]
votes = hl.apply_lfs(lfs, comments)
votes

# %% [markdown]
# ## Labels
#
# One pass. Nothing is trained.

# %%
model = hl.HyperLabelModel()
labels = model.label(votes).to_pandas()
labels["label"].value_counts(dropna=False)

# %% [markdown]
# Comments that no rule speaks about have no label. How good are the others? This is the only cell that looks at the
# truth so far:

# %%
has_label = labels["label"].notna().to_numpy()


def accuracy(labels):
    """Share of right labels among the comments that have votes."""
    return np.mean(np.asarray(labels)[has_label] == truth[has_label])


majority = hl.label_model("mv").predict(votes)
print(f"{has_label.mean():.0%} of the comments have votes")
print(f"majority vote: {accuracy(majority):.1%}, hyperlabel: {accuracy(labels['label']):.1%}")

# %% [markdown]
# ## What is each rule worth?

# %%
hl.LFAnalysis(votes).summary()

# %% [markdown]
# ## Twenty minutes of work by hand
#
# `suggest` names the comments whose truth would teach most. Somebody reads twenty of them; here the truth stands in
# for that person.

# %%
gold = {}
for _ in range(4):
    fitted = hl.HyperLabelModel().fit(votes, gold)
    for item in fitted.suggest(votes, 5):
        gold[item] = truth[item]
with_gold = hl.HyperLabelModel().fit(votes, gold)
is_new = has_label.copy()
is_new[list(gold)] = False
before = np.mean(np.asarray(labels["label"])[is_new] == truth[is_new])
after = np.mean(with_gold.predict(votes)[is_new] == truth[is_new])
print(f"on the {is_new.sum():,} comments that were not read: {before:.1%} before, {after:.1%} after")

# %% [markdown]
# ## Why this label?

# %%
print(with_gold.explain(votes, 2))

# %% [markdown]
# Next: the [report](../analysis.md) shows all of this as a page, and [tomorrow's rows](tomorrow.md) are labeled in the
# state that `with_gold` keeps.
