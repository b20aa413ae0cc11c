# %% [markdown]
# # Rules, thirty labels and the texts
#
# Which package is a sentence of documentation from: NumPy, Polars or matplotlib? We write eleven keyword rules and
# label thirty sentences by hand. One call uses the rules, the labels and the texts themselves. The set is made from
# installed packages, so nothing is downloaded, and its truth is known: each step shows how many labels are right, next
# to the simplest scripts that do the same job.

# %%
import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

import hyperlabel as hl

example = hl.load_example("packages")
texts, truth = example.texts, example.truth
example

# %% [markdown]
# ## Rules
#
# A rule votes for a class or abstains. No rule has to be right every time; it has to be right more often than not.
# These are the rules of the example. The last one is yours to try:

# %%


@hl.labeling_function()
def arithmetic(x):
    return "numpy" if " divided by " in x else hl.ABSTAIN


rules = [*example.lfs, arithmetic]
votes = hl.apply_lfs(rules, texts)
votes

# %% [markdown]
# ## Labels from the votes alone
#
# One pass; nothing is trained on these votes.

# %%
has_votes = (votes.to_numpy() >= 0).any(axis=1)
by_votes = hl.label(votes)
majority = hl.label_model("mv").fit_predict(votes)


def right(labels, items=slice(None)):
    """Share of right labels, of all items or of some."""
    return np.mean(np.asarray(labels)[items] == truth[items])


print(f"{has_votes.mean():.0%} of the sentences have votes")
print(f"right, of these: majority vote {right(majority, has_votes):.1%}")
print(f"                 hyperlabel {right(by_votes.labels, has_votes):.1%}")

# %% [markdown]
# Sentences without votes have no label yet, and rules like "set" or "get" mislead as often as they help. More rules
# would be one answer. Thirty labels and the texts are a better one.
#
# ## Thirty labels by hand, and the texts
#
# `audit_sample` draws items at random. Somebody reads thirty of them; here the truth stands in for that person.

# %%
gold = {item: truth[item] for item in hl.audit_sample(votes, 30).items}
labels = hl.label(votes, texts=texts, gold=gold, encoder="wordllama")  # vectors of words, from the extra `embed`
labels.to_pandas().head()

# %% [markdown]
# Every sentence has a label now, and `label_source` says what it rests on. How good are the labels of all sentences
# that were not read, and how good are the simplest scripts?

# %%
unread = np.ones(len(truth), dtype=bool)
unread[list(gold)] = False
features = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2)).fit_transform(texts)


def regress(labels, items):
    """Labels of all texts from a logistic regression on some labels."""
    return LogisticRegression(C=10, max_iter=1000).fit(features[items], labels[items]).predict(features)


scores = {
    "majority vote + logistic regression": regress(np.asarray(majority).astype(str), np.flatnonzero(has_votes)),
    "30 labels + logistic regression": regress(truth, list(gold)),
    "hyperlabel: votes and texts": hl.label(votes, texts=texts, encoder="wordllama").labels,
    "hyperlabel: votes, texts, 30 labels": labels.labels,
    "the same without word vectors": hl.label(votes, texts=texts, gold=gold).labels,
}
table = pd.Series({name: right(each, unread) for name, each in scores.items()}, name="right, of all unread sentences")
table.map("{:.1%}".format).to_frame()

# %% alt="Share of right labels of two simple scripts and of three ways to use hyperlabel"
axes = table[::-1].plot.barh(xlim=(0, 1), xlabel="share of right labels, of all unread sentences", figsize=(7, 2.6))

# %% [markdown]
# ## What is each rule worth?
#
# The estimates come from the votes and the thirty labels; the column `in_truth` checks them.

# %%
model = hl.HyperLabelModel().fit(votes, gold)
estimated = hl.LFAnalysis(votes, model=model).summary().to_pandas().set_index("lf")
checked = hl.LFAnalysis(votes, truth).summary().to_pandas().set_index("lf")
rules_table = estimated[["votes", "estimated_accuracy"]].assign(in_truth=checked["precision"])
rules_table.round(2)

# %% [markdown]
# ## Why this label?

# %%
item = int(np.flatnonzero((votes.to_numpy() >= 0).sum(axis=1) > 2)[0])
print(texts[item])
print(model.explain(votes, item))

# %% [markdown]
# ## Tomorrow's sentences
#
# What was learned is kept in one file: numbers and words, nothing pickled.

# %%
labels.model.save("state.safetensors")
tomorrow = ["Draw a line between two points of the axes.", "Join two frames on a key."]
hl.load("state.safetensors").label(hl.apply_lfs(rules, tomorrow), texts=tomorrow).to_pandas()

# %% [markdown]
# Next: [how many labels are wrong](certificate.md), with a certificate; [the report](../analysis.md) shows all of this
# on one page; [the studio](../studio.md) does it in the browser.
