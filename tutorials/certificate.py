# %% [markdown]
# # A budget of 300 labels, and a certificate
#
# Labels from rules are training data, and somebody will ask how many of them are wrong. With a *random* sample of
# labels by hand there is an answer that assumes nothing about rules or model. The votes are those on AG News
# headlines (Zhang et al. 2015): four topics, nine keyword rules.

# %%
import os
from pathlib import Path

import numpy as np

import hyperlabel as hl

file = np.load(Path(os.environ["HYPERLABEL_DATA"], "agnews.npz"))
has_votes = (file["L"] >= 0).any(axis=1)
votes, truth = file["L"][has_votes], file["y"][has_votes]
model = hl.HyperLabelModel().fit(votes)
print(f"{len(votes):,} headlines; in truth {np.mean(model.predict(votes) != truth):.1%} of the labels are wrong")

# %% [markdown]
# ## Draw the sample
#
# `suggest` names the items that teach most. They are *not* a random sample and certify nothing. `audit_sample` draws
# one:

# %%
sample = hl.audit_sample(votes, 300)
sample

# %% [markdown]
# Somebody reads these 300 headlines; here the truth stands in.

# %%
gold = {item: truth[item] for item in sample.items}

# %% [markdown]
# ## Certify

# %%
print(hl.certify(model, votes, gold, error=0.1, confidence=0.9))

# %% [markdown]
# That is an answer, too. Some uses can bear more wrong labels:

# %%
certificate = hl.certify(model, votes, gold, error=0.2, confidence=0.9)
print(certificate)

# %% [markdown]
# The items that can be used, and how many of their labels are wrong in truth:

# %%
accepted = certificate.accepted
labels = model.predict(votes)
print(f"{accepted.mean():.1%} accepted, {np.mean(labels[accepted] != truth[accepted]):.1%} of them wrong")

# %% [markdown]
# ## Estimate
#
# How good are all labels, and how common are the classes? The model's labels, corrected by the sample, give
# narrower intervals than the sample alone:

# %%
print(hl.estimate(model, votes, gold))
