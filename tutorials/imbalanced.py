# %% [markdown]
# # A rare class, and F1
#
# One image in ten shows an eight, and we want to find them. Forty readers of unequal skill say "eight" or "other" about
# some images each. With a rare class two things matter: the class balance, and what you need the labels for.

# %%
import numpy as np
import pandas as pd

import hyperlabel as hl

example = hl.load_example("readers")
digits = example.votes.to_numpy()
votes = np.where(digits < 0, -1, digits == 8).astype(int)  # 1 is an eight, 0 is not, -1 abstains
truth = (example.truth == 8).astype(int)
print(f"{len(votes):,} images, {np.mean(truth):.1%} of them eights")

# %% [markdown]
# ## Scored by F1 of the rare class

# %%
balance = [1 - truth.mean(), truth.mean()]


def f1(labels):
    """F1 of the class 1."""
    labels = np.asarray(labels)
    return 2 * np.sum((labels == 1) & (truth == 1)) / (np.sum(labels == 1) + np.sum(truth == 1))


stated = hl.HyperLabelModel(class_balance=balance)
rng = np.random.default_rng(0)
gold = {int(i): int(truth[i]) for i in rng.choice(len(truth), 50, replace=False)}
rows = {
    "majority vote": f1(hl.label_model("mv").fit_predict(votes)),
    "most probable class": f1(hl.HyperLabelModel().fit_predict(votes)),
    "most probable class, balance stated": f1(stated.fit_predict(votes)),
    "labels for F1, balance stated": f1(stated.fit(votes).predict(votes, metric="f1")),
    "labels for F1, 50 random gold labels": f1(hl.HyperLabelModel().fit(votes, gold).predict(votes, metric="f1")),
}
pd.Series(rows, name="F1 of all images").map("{:.1%}".format).to_frame()

# %% [markdown]
# `metric="f1"` chooses the labels with the best expected F1. It may choose the rare class at a probability below one
# half. It relies on the probabilities, so it asks for gold or a class balance.
#
# ## How much depends on the balance?
#
# A stated balance is the balance of all items, and a belief: votes can speak against it. If you do not know it, try
# several. Labels that do not change are safe; look at the others.

# %%
shares = [0.02, 0.05, 0.1, 0.2, 0.3, 0.5]
labels = {share: hl.HyperLabelModel(class_balance=[1 - share, share]).fit_predict(votes) for share in shares}
table = pd.DataFrame(
    {share: {"labeled eight": np.mean(found == 1), "F1": f1(found)} for share, found in labels.items()}
).T
table.rename_axis("stated share of eights").round(3)

# %% alt="F1 by the stated share of eights"
axes = table["F1"].plot(marker="o", xlabel="stated share of eights", ylabel="F1 of all images", figsize=(7, 4))
line = axes.axvline(balance[1], linestyle="--", color="0.6", label="share in truth")
legend = axes.legend()
