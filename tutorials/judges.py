# %% [markdown]
# # A jury of language models
#
# Eight judges compared the answers of two assistants to 200 questions and said which answer is better (the
# judgments come from the LLMBar study; people settled the truth). How good is the panel, whom can one trust, and how
# many judges are enough?

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
# Who agrees with whom, who is whose near-copy, and what the panel loses without a judge. None of it uses the truth:

# %%
card = pd.DataFrame(
    {
        name: verdicts.judges[name]
        for name in ("judge", "votes", "estimated_accuracy", "kappa", "copy_of", "label_changes")
    }
)
card.round(2)

# %% [markdown]
# Estimated accuracies flatter where judges share their errors. Beside the truth:

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

# %% [markdown]
# ## Fifty answers from a person
#
# With gold the card has intervals, and the labels change where the panel is wrong together:

# %%
rng = np.random.default_rng(0)
asked = rng.choice(len(truth), 50, replace=False)
with_gold = hl.jury(judgments, item="question", judge="judge", vote="better", gold={int(i): truth[i] for i in asked})
is_new = ~np.isin(np.arange(len(truth)), asked)
better = with_gold.to_pandas()["label"].to_numpy()
before, after = np.mean(labels[is_new] == truth[is_new]), np.mean(better[is_new] == truth[is_new])
print(f"on the other 150: {before:.1%} without gold, {after:.1%} with it")
