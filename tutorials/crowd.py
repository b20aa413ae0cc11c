# %% [markdown]
# # Labels from a crowd
#
# 85 people judged the sentiment of 1,000 tweets, 20 people per tweet (a public set of paid judgments). The votes of
# people are votes like any other. Some people are careful and some are not. The votes alone show who is who.

# %%
import os
from pathlib import Path

import numpy as np
import pandas as pd

import hyperlabel as hl

file = np.load(Path(os.environ["HYPERLABEL_DATA"], "crowd_sentiment_d.npz"))
cells, truth = file["L"], file["y"]
row, column = np.nonzero(cells >= 0)
judgments = pd.DataFrame({"tweet": row, "person": [f"p{i:02d}" for i in column], "answer": cells[row, column]})
judgments.head(3)

# %% [markdown]
# ## A long table is votes
#
# Crowdsourcing tools write one row per judgment:

# %%
votes = hl.Votes.from_long(judgments, item="tweet", lf="person", vote="answer")
print(votes)

# %% [markdown]
# ## Labels, and how five label models compare

# %%
scores = {}
for name in ("mv", "ds", "hds", "hlm", "hlm2"):
    scores[name] = np.mean(hl.label_model(name).predict(votes) == truth)
pd.Series(scores).map("{:.1%}".format)

# %% [markdown]
# ## Who is careful?
#
# The estimated accuracy of a person uses no truth. The column `true` shows what the truth says:

# %%
estimated = hl.LFAnalysis(votes).summary().to_pandas()
known = hl.LFAnalysis(votes, truth).summary().to_pandas()
people = pd.DataFrame(
    {"votes": estimated["votes"], "estimated": estimated["estimated_accuracy"], "true": known["precision"]}
)
people[people["votes"] >= 50].sort_values("estimated").round(2).iloc[[0, 1, 2, -3, -2, -1]]

# %% [markdown]
# The same for everyone with at least 20 votes. On the dashed line the estimate is exact:

# %% alt="Estimated against true accuracy, one dot per person; nearly all dots lie on the diagonal"
axes = people[people["votes"] >= 20].plot.scatter("true", "estimated", figsize=(5, 5))
diagonal = axes.plot([0, 1], [0, 1], "--", color="0.6")

# %% [markdown]
# ## How many judgments per tweet are enough?
#
# Judgments cost money. Keep only the first few per tweet, and see what is lost:

# %%
few = {}
for most in (1, 2, 3, 5, 10, 20):
    part = judgments[judgments.groupby("tweet").cumcount() < most]
    votes_of_few = hl.Votes.from_long(part, item="tweet", lf="person", vote="answer")
    order = np.asarray(votes_of_few.items)
    few[most] = {
        "majority vote": np.mean(hl.label_model("mv").predict(votes_of_few) == truth[order]),
        "hyperlabel": np.mean(hl.HyperLabelModel().predict(votes_of_few) == truth[order]),
    }
table = pd.DataFrame(few).T.round(3).rename_axis("judgments per tweet")
table

# %% alt="Share of right labels by judgments per tweet: hyperlabel is ahead of the majority vote from two on"
axes = table.plot(marker="o", ylabel="share of right labels", figsize=(7, 4))

# %% [markdown]
# Five judgments per tweet, weighed, are nearly as good as twenty that are only counted.
