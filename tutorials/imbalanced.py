# %% [markdown]
# # A rare class, and F1
#
# In the *SMS Spam Collection* (Almeida et al. 2011) about one message in eight is spam. The votes come from 73 keyword
# rules of the literature. With a rare class two things matter: the class balance, and what you need the labels for.

# %%
import os
from pathlib import Path

import numpy as np
import pandas as pd

import hyperlabel as hl

file = np.load(Path(os.environ["HYPERLABEL_DATA"], "sms.npz"))
votes, truth = file["L"], file["y"]
has_votes = (votes >= 0).any(axis=1)
print(f"{len(votes):,} messages, {has_votes.mean():.0%} with votes, {np.mean(truth == 1):.1%} spam")

# %% [markdown]
# ## Scored by F1, on messages that have votes

# %%
votes, truth = votes[has_votes], truth[has_votes]
balance = {0: float(np.mean(truth == 0)), 1: float(np.mean(truth == 1))}


def f1(labels):
    """F1 of the class 1."""
    right = np.sum((labels == 1) & (truth == 1))
    return 2 * right / (np.sum(labels == 1) + np.sum(truth == 1))


rows = {
    "majority vote": f1(hl.label_model("mv").predict(votes)),
    "most probable class": f1(hl.HyperLabelModel().predict(votes)),
    "most probable class, balance stated": f1(hl.HyperLabelModel(class_balance=balance).predict(votes)),
    "labels for F1, balance stated": f1(
        hl.HyperLabelModel(class_balance=balance).fit(votes).predict(votes, metric="f1")
    ),
}
pd.Series(rows, name="F1").map("{:.1%}".format)

# %% [markdown]
# `metric="f1"` chooses the labels with the best expected F1. It may choose the rare class at a probability below one
# half. It relies on the probabilities, so state the balance when you use it.
#
# ## How much depends on the balance?
#
# If you do not know the balance, try several. Labels that do not change are safe; look at the others.

# %%
shares = [0.05, 0.1, 0.2, 0.3, 0.5]
labels = {share: hl.HyperLabelModel(class_balance=[1 - share, share]).predict(votes) for share in shares}
table = pd.DataFrame(
    {share: {"labeled spam": np.mean(found == 1), "F1": f1(found)} for share, found in labels.items()}
).T
table.rename_axis("stated share of spam").round(3)

# %% alt="F1 by the stated share of spam: it falls quickly below one fifth and is flat above"
axes = table["F1"].plot(marker="o", xlabel="stated share of spam", ylabel="F1", figsize=(7, 4))
line = axes.axvline(balance[1], linestyle="--", color="0.6", label="share in truth")
legend = axes.legend()

# %% [markdown]
# A share that is too small costs most. One that is too large costs nothing here. If you cannot name a share, leave it
# out: the model estimates it from the votes, and its labels are as good as with the true one.
