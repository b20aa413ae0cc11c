# %% [markdown]
# # A budget of 300 labels, and a certificate
#
# Before you train on labels from rules, somebody will ask how many of them are wrong. Label a *random* sample by hand,
# and there is an answer that assumes nothing about rules or model. The votes are eleven keyword rules on sentences of
# three packages; the labels use the rules, the texts and thirty labels.

# %%
import numpy as np

import hyperlabel as hl

example = hl.load_example("packages")
votes, truth = example.votes, dict(zip(example.votes.items, example.truth, strict=True))
thirty = {item: truth[item] for item in hl.audit_sample(votes, 30, seed=1).items}
labels = hl.label(votes, texts=example.texts, gold=thirty)
wrong = labels.labels != example.truth
print(f"{len(wrong):,} sentences; in truth {wrong.mean():.1%} of the labels are wrong")

# %% [markdown]
# ## Draw the sample
#
# The thirty labels taught the model, so they cannot check it. `audit_sample` draws other items at random:

# %%
sample = hl.audit_sample(votes, 300, gold=thirty)
sample

# %% [markdown]
# Somebody reads these 300 sentences; here the truth stands in.

# %%
gold = {item: truth[item] for item in sample.items}

# %% [markdown]
# ## Certify

# %%
certificate = hl.certify(labels, None, gold, error=0.1, confidence=0.9)
print(certificate)

# %% [markdown]
# The certificate stays valid however often it is asked for, so you can look again whenever more labels have come in.
# Each dot of the picture is a set of the surest items. Its height is the largest share of wrong labels that the
# sample does not rule out. The set grows to the right as long as the dots stay below the error that you allow:

# %% alt="Upper bound on the share of wrong labels against the share of items accepted"
axes = certificate.plot()

# %% [markdown]
# The truth confirms it:

# %%
accepted = certificate.accepted
share = np.mean(wrong[accepted]) if accepted.any() else 0.0
print(f"{accepted.mean():.1%} of all sentences accepted, {share:.1%} of them wrong")

# %% [markdown]
# ## Estimate
#
# How good are all labels, and how common is each class? The labels, corrected by the sample, give narrower intervals
# than the sample alone:

# %%
print(hl.estimate(labels, None, gold))
