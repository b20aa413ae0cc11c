# %% [markdown]
# # A panel of judges
#
# Language models judge answers, moderators judge posts, classifiers judge images: eight judges look at every item, and
# nobody knows yet whom to trust. This page uses eight classifiers of handwritten digits as judges, four of which see
# only half of an image, so that it can be rebuilt anywhere. A panel of language models is read by the same calls.

# %%
import numpy as np
import pandas as pd

import hyperlabel as hl

example = hl.load_example("panel")
truth = pd.Series(example.truth, index=example.votes.items)
judgments = example.votes.to_pandas().drop(columns="id", errors="ignore")
judgments = (
    judgments.set_axis(example.votes.items)
    .rename_axis("image")
    .melt(ignore_index=False, var_name="judge", value_name="digit")
)
judgments = judgments.reset_index()
judgments.head(3)

# %% [markdown]
# ## One call

# %%
verdicts = hl.jury(judgments, item="image", judge="judge", vote="digit")
table = verdicts.to_pandas().set_index("image")
table.head(3)

# %%
votes = hl.Votes.from_long(judgments, item="image", lf="judge", vote="digit")
majority = pd.Series(hl.label_model("mv").fit_predict(votes), index=list(votes.items))
labels = table["label"]
scores = {"majority vote": majority, "hyperlabel": labels}
print("right, of all images:", {name: f"{np.mean(each == truth[each.index]):.1%}" for name, each in scores.items()})

# %% [markdown]
# ## The report card
#
# It shows who agrees with the others, who nearly copies whom, and how many labels change without a judge. None of it
# uses the truth, so the accuracies are estimates:

# %%
columns = ("judge", "votes", "estimated_accuracy", "kappa", "copy_of", "label_changes")
card = pd.DataFrame({name: verdicts.judges[name] for name in columns}).set_index("judge")
card.round(2)

# %% [markdown]
# Here they are beside the truth:

# %%
is_right = judgments["digit"] == truth[judgments["image"]].to_numpy()
pd.DataFrame({"estimated": card["estimated_accuracy"], "true": is_right.groupby(judgments["judge"]).mean()}).round(2)

# %% [markdown]
# ## Which judges are enough?
#
# `enough` tries all sets of judges for the cheapest one that keeps 95% of the labels; `curve` adds one judge at a time:

# %%
print(verdicts.enough(0.95))
verdicts.curve

# %% alt="Share of the panel's labels that are kept, by number of judges"
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
asked = rng.choice(list(truth.index), 50, replace=False)
with_gold = hl.jury(judgments, item="image", judge="judge", vote="digit", gold=truth[asked].to_dict())
columns = ("judge", "accuracy", "accuracy_low", "accuracy_high")
checked = pd.DataFrame({name: with_gold.judges[name] for name in columns})
axes = checked.plot.scatter("accuracy", "judge", figsize=(7, 3.5), label="on gold, 95% interval", xlabel="accuracy")
bars = axes.hlines(checked["judge"], checked["accuracy_low"], checked["accuracy_high"])
estimates = card["estimated_accuracy"][checked["judge"]]
dots = axes.plot(estimates, estimates.index, "x", color="tab:orange", label="estimated without gold")
legend = axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)

# %% [markdown]
# Do fifty answers improve the labels of the other images?

# %%
better = with_gold.to_pandas().set_index("image")["label"]
others = truth.index.difference(asked)
before, after = np.mean(labels[others] == truth[others]), np.mean(better[others] == truth[others])
print(f"right, of the other {len(others):,} images: {before:.1%} without gold, {after:.1%} with it")
