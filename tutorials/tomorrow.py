# %% [markdown]
# # Tomorrow's rows
#
# Rows arrive every day. A row should get the same label whether it comes alone, in a batch, or with last month's rows.
# That is what a *state* is for: `fit` reads the corpus once and keeps a few numbers for each LF and class. This page
# follows a month of votes. They are drawn from a known truth, so that we can check every label.

# %%
import os

import numpy as np
import pandas as pd

import hyperlabel as hl

ACCURACY = {"links": 0.9, "friends": 0.85, "shouting": 0.7, "offers": 0.8, "night": 0.6}


def receive(day, n=2_000):
    """The votes of one day, and the truth."""
    rng = np.random.default_rng(day)
    truth = np.where(rng.random(n) < 0.3, "spam", "ham")
    other = np.where(truth == "spam", "ham", "spam")
    votes = {"id": [f"{day}-{i}" for i in range(n)]}
    for lf, accuracy in ACCURACY.items():
        vote = np.where(rng.random(n) < accuracy, truth, other)
        votes[lf] = np.where(rng.random(n) < 0.5, vote, None)
    return pd.DataFrame(votes), truth


corpus, truth = receive(day=0, n=20_000)
corpus.head(3)

# %% [markdown]
# ## Fit once, keep the state

# %%
model = hl.HyperLabelModel().fit(corpus)
model.save("state.safetensors")
print(f"{os.path.getsize('state.safetensors'):,} bytes for {len(corpus):,} rows")

# %% [markdown]
# On the corpus itself, the fitted model gives exactly the probabilities of one pass over the corpus:

# %%
np.array_equal(model.predict_proba(corpus), hl.HyperLabelModel().predict_proba(corpus))

# %% [markdown]
# ## Judge new rows in it
#
# In another process, on another day:

# %%
model = hl.load("state.safetensors")
today, truth_today = receive(day=1)
together = model.label(today).to_pandas()
together.head(3)

# %% [markdown]
# A row gets the same label alone and among others. The order of columns does not matter, since LFs are matched by name:

# %%
alone = model.label(today.iloc[[7]]).to_pandas()
shuffled = model.label(today[["id", "night", "offers", "links", "shouting", "friends"]]).to_pandas()
print(alone["label"].iloc[0] == together["label"].iloc[7], shuffled.equals(together))

# %% [markdown]
# A missing or unknown LF is an error, not a guess:

# %%
try:
    model.predict(today.drop(columns="links"))
except hl.HyperlabelError as error:
    print(error)

# %% [markdown]
# How good are they? Here the truth is known:

# %%
has_label = together["label"].notna().to_numpy()
right = np.mean(together["label"][has_label] == truth_today[has_label])
print(f"{has_label.mean():.1%} of the rows have a vote; {right:.1%} of these labels are right")

# %% [markdown]
# A whole month in the same state. The mean confidence says how many labels should be right, without the truth:

# %% alt="Share of right labels and mean confidence on each of 30 days; both stay level and close to each other"
month = {}
for day in range(1, 31):
    votes, truth_of_day = receive(day)
    labels = model.label(votes).to_pandas()
    has_label = labels["label"].notna().to_numpy()
    right = np.mean(labels["label"][has_label] == truth_of_day[has_label])
    month[day] = {"right": right, "mean confidence": labels["confidence"][has_label].mean()}
axes = pd.DataFrame(month).T.plot(xlabel="day", ylabel="share of the labels", ylim=(0.5, 1), figsize=(7, 4))

# %% [markdown]
# ## Learn from new rows
#
# A state does not learn from the rows it judges. To learn from new rows too, keep the *patterns*: the distinct rows of
# votes and their counts. Counts add up, no row is kept, and a fit on patterns takes milliseconds.

# %%
counts = hl.Patterns.from_votes(hl.Votes.from_frame(corpus))
for day in range(1, 31):
    votes, _ = receive(day)
    counts = counts.merge(hl.Patterns.from_votes(hl.Votes.from_frame(votes)))
counts.save("patterns.safetensors")
print(f"{counts.n_items:,} items, {counts.n_patterns} patterns, {os.path.getsize('patterns.safetensors'):,} bytes")
model = hl.HyperLabelModel().fit(counts)

# %% [markdown]
# ## The same on the command line
#
# ```
# hyperlabel fit corpus.parquet -o state.safetensors
# hyperlabel label today.parquet --model state.safetensors -o labels.parquet
# hyperlabel export state.safetensors --sql duckdb --from votes    # or spark, postgres, bigquery
# ```
#
# `export` prints one SELECT that gives the same labels inside a database, without Python.
