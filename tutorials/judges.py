# %% [markdown]
# # A jury of language models
#
# Eight judges compared the answers of two assistants to 200 questions and said which answer is better (the
# judgments come from the LLMBar study; people settled the truth). How good is the panel? Which judges can you trust?
# How many are enough?

# %%
import os
from pathlib import Path

import numpy as np
import pandas as pd

import hyperlabel as hl

file = np.load(Path(os.environ["HYPERLABEL_DATA"], "panel_mtbench.npz"))
cells, truth = file["L"], np.array(["first", "second"])[file["y"]]
row, column = np.nonzero(cells >= 0)
judgments = pd.DataFrame(
    {
        "question": row,
        "judge": [f"judge {i + 1}" for i in column],
        "better": np.array(["first", "second"])[cells[row, column]],
    }
)
judgments.head(3)

# %% [markdown]
# ## One call

# %%
verdicts = hl.jury(judgments, item="question", judge="judge", vote="better")
verdicts.to_pandas().head(3)

# %%
labels = verdicts.to_pandas()["label"].to_numpy()
majority = hl.label_model("mv").predict(hl.Votes.from_long(judgments, item="question", lf="judge", vote="better"))
print(f"majority vote {np.mean(majority == truth):.1%}, hyperlabel {np.mean(labels == truth):.1%}")

# %% [markdown]
# ## The report card
#
# It shows who agrees with the others, who nearly copies whom, and how many labels change without a judge. None of it
# uses the truth:

# %%
card = pd.DataFrame(
    {
        name: verdicts.judges[name]
        for name in ("judge", "votes", "estimated_accuracy", "kappa", "copy_of", "label_changes")
    }
)
card.round(2)

# %% [markdown]
# Estimated accuracies are too high where judges share their errors. Here they are beside the truth:

# %%
known = judgments["better"].to_numpy() == truth[judgments["question"]]
pd.DataFrame(
    {
        "estimated": card.set_index("judge")["estimated_accuracy"],
        "true": pd.Series(known).groupby(judgments["judge"]).mean(),
    }
).round(2)

# %% [markdown]
# ## Which judges are enough?

# %%
print(verdicts.enough(0.95))
verdicts.curve

# %% alt="Share of the panel's labels that are kept, by number of judges; three judges keep 95 percent"
axes = pd.DataFrame({"judges": verdicts.curve["judges"], "kept": verdicts.curve["kept"]}).plot(
    "judges", "kept", marker="o", ylabel="share of the panel's labels kept", legend=False, figsize=(7, 4)
)
line = axes.axhline(0.95, linestyle="--", color="0.6")

# %% [markdown]
# ## Fifty answers from a person
#
# With gold, the card has an interval for the accuracy of each judge:

# %% alt="Accuracy of each judge on fifty gold items with its interval, and the estimate without gold"
rng = np.random.default_rng(0)
asked = rng.choice(len(truth), 50, replace=False)
with_gold = hl.jury(judgments, item="question", judge="judge", vote="better", gold={int(i): truth[i] for i in asked})
told = pd.DataFrame({name: with_gold.judges[name] for name in ("judge", "accuracy", "accuracy_low", "accuracy_high")})
axes = told.plot.scatter("accuracy", "judge", figsize=(7, 3.5), label="on gold, 95% interval", xlabel="accuracy")
bars = axes.hlines(told["judge"], told["accuracy_low"], told["accuracy_high"])
dots = axes.plot(card["estimated_accuracy"], card["judge"], "x", color="tab:orange", label="estimated without gold")
legend = axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)

# %% [markdown]
# Do fifty answers improve the labels of the other 150 questions?

# %%
is_new = ~np.isin(np.arange(len(truth)), asked)
better = with_gold.to_pandas()["label"].to_numpy()
before, after = np.mean(labels[is_new] == truth[is_new]), np.mean(better[is_new] == truth[is_new])
print(f"on the other 150: {before:.1%} without gold, {after:.1%} with it")

# %% [markdown]
# Not here: the difference is two questions. Eight judges who share their errors leave little to correct, and gold is
# worth its price for the intervals.
