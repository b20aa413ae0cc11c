# %% [markdown]
# # Spam, from texts alone
#
# This is the data of Snorkel's own tutorial: 1,956 comments on five music videos, some of them spam (the *YouTube
# Spam Collection*, Alberto et al. 2015, from the UCI repository). We write rules, not labels. We use the truth only
# to check how good the labels are.

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
# A rule votes for a class or abstains. Ready-made rules run on whole columns; a decorated function sees one row. No
# rule has to be right every time. It has to be right more often than not.

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
# Comments without a vote have no label. How good are the others? This is the first cell that looks at the truth:

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
analysis = hl.LFAnalysis(votes)
analysis.summary()

# %% [markdown]
# Every number in this table comes from the votes alone. The picture adds the truth, to check the estimates:

# %% alt="Estimated accuracy and coverage of each rule, and its accuracy in truth"
axes = analysis.plot()
axes.plot(hl.LFAnalysis(votes, truth).precision, range(len(lfs)), "o", color="tab:orange", label="in truth")
legend = axes.legend(loc="upper left", bbox_to_anchor=(1, 1))

# %% [markdown]
# ## Twenty labels by hand
#
# `suggest` names the comments whose labels would teach the model most. Somebody reads twenty of them; here the truth
# stands in for that person.

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
# On this set the rules were good already, and twenty labels change little. Where rules are worse, they
# [bring more](../model-card.md).
#
# ## Everything together
#
# Comments without votes have texts too. `hl.label` uses votes, texts and gold in one call, and labels every comment:

# %%
filled = hl.label(votes, comments["text"], gold=gold).to_pandas()
right = filled["label"].to_numpy() == truth
print(f"{(~has_label).sum()} comments without votes: {right[~has_label].mean():.1%} of their labels are right")
print(f"all {len(right):,} comments: {right.mean():.1%}")

# %% [markdown]
# ## Why this label?

# %%
print(with_gold.explain(votes, 2))

# %% [markdown]
# Next: the [report](../analysis.md) shows all of this on one page, and [tomorrow's rows](tomorrow.md) get their labels
# from the state that `with_gold` keeps.
