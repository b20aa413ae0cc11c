# %% [markdown]
# # A budget of 300 labels, and a certificate
#
# Before you train on labels from rules, somebody will ask how many of them are wrong. Label a *random* sample by hand,
# and there is an answer that assumes nothing about rules or model. The votes are nine keyword rules on AG News
# headlines (Zhang et al. 2015) of four topics.

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
# `suggest` names the items that teach most. They are *not* a random sample, so they certify nothing. `audit_sample`
# draws a random one:

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
# That is an answer, too. If your use can bear more wrong labels, ask for less:

# %%
certificate = hl.certify(model, votes, gold, error=0.2, confidence=0.9)
print(certificate)

# %% [markdown]
# The picture shows why. Each dot is a set of the surest items. Its height is the largest share of wrong labels that the
# sample does not rule out. The set grows to the right as long as the dots stay below the error that you allow:

# %% alt="Upper bound on the share of wrong labels against the share of items accepted"
axes = certificate.plot()
line = axes.axhline(0.1, linestyle=":", color="tab:red", label="10%")
legend = axes.legend(loc="upper left", bbox_to_anchor=(1, 1))

# %% [markdown]
# The truth confirms it:

# %%
accepted = certificate.accepted
labels = model.predict(votes)
print(f"{accepted.mean():.1%} accepted, {np.mean(labels[accepted] != truth[accepted]):.1%} of them wrong")

# %% [markdown]
# ## Estimate
#
# How good are all labels, and how common is each class? The model's labels, corrected by the sample, give narrower
# intervals than the sample alone:

# %%
print(hl.estimate(model, votes, gold))
