# %% [markdown]
# # Several topics per text
#
# An article may be about sports and business. Here 600 short articles have one or two of four topics, and six LFs each
# know two to four of them. The articles are made up, so that the truth is known; the LFs err as people and rules do.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import hyperlabel as hl

rng = np.random.default_rng(0)
topics = np.array(["business", "health", "music", "sports"])
true = rng.random((600, 4)) < (0.45, 0.3, 0.1, 0.4)
knows = {"ann": "bhms", "bob": "bhms", "cem": "bh", "dee": "hms", "eve": "bs", "rule": "bs"}
accuracy = {"ann": 0.92, "bob": 0.85, "cem": 0.8, "dee": 0.75, "eve": 0.9, "rule": 0.7}


def speak(lf, row):
    """The topics that an LF names; None if it does not look at the article."""
    if rng.random() < 0.3:
        return None
    said = [topic for topic, yes in zip(topics, row, strict=True) if yes == (rng.random() < accuracy[lf])]
    return [topic for topic in said if topic[0] in knows[lf]]


votes = pd.DataFrame({lf: [speak(lf, row) for row in true] for lf in knows})
votes.head(4)

# %% [markdown]
# A cell holds a list of topics. An empty list says that none of the topics fits, and None says nothing.
#
# ## Tags

# %%
labels = hl.label_tags(votes)
print(labels.votes)
labels.to_pandas().head(4).round(2)

# %% [markdown]
# *Silence means no*: an LF that names only sports on an article votes against the other topics that it names elsewhere.
# It never votes on topics that it does not know.
#
# How good is that? Precision, recall and F1 of all tags together (micro), their mean (macro), and of each:

# %%
truth = {i: [topic for topic, yes in zip(topics, row, strict=True) if yes] for i, row in enumerate(true)}
labels.score(truth).to_pandas().round(3)

# %% [markdown]
# Music is rare, and its probabilities are too high, so that too many articles get it. Thresholds help:
#
# ## Thresholds
#
# By default each tag has the threshold with the best expected F1. One threshold for all trades precision for recall:

# %% alt="Precision falls and recall rises as more tags are taken"
cuts = np.linspace(0.05, 0.95, 19)
scores = [next(labels.with_threshold(float(cut)).score(truth).rows()) for cut in cuts]
axes = plt.figure(figsize=(6, 3.5)).gca()
for name in ("precision", "recall", "f1"):
    line = axes.plot(cuts, [each[name] for each in scores], label=name)
legend = axes.legend()
names = axes.set(xlabel="threshold for all tags")

# %% [markdown]
# ## A certified precision
#
# Check some articles by hand, drawn at random, and take only tags whose precision they certify:

# %%
sample = rng.permutation(600)[:250].tolist()
certified = labels.certify({i: truth[i] for i in sample}, precision=0.85)
print(certified)
certified.score(truth).to_pandas().round(3)

# %% [markdown]
# A tag for which the sample proves too little is not taken at all: more labels by hand would change that.
