# %% [markdown]
# # Labels from a crowd
#
# Forty readers read handwritten digits, each image by about eight of them. Some read well and some do not; the votes
# alone show who is who. The readers of this example are small decision trees, so the page can be rebuilt anywhere, and
# their mistakes are real ones: they were taught by 15 to 120 images, and nothing was added by hand.

# %%
import numpy as np
import pandas as pd

import hyperlabel as hl

example = hl.load_example("readers")
truth = pd.Series(example.truth, index=example.votes.items)
judgments = example.votes.to_pandas().drop(columns="id", errors="ignore")
judgments = (
    judgments.set_axis(example.votes.items)
    .rename_axis("image")
    .melt(ignore_index=False, var_name="reader", value_name="digit")
)
judgments = judgments.dropna().astype({"digit": int}).reset_index()
judgments.head(3)

# %% [markdown]
# ## A long table is votes
#
# Crowdsourcing tools write one row per judgment:

# %%
votes = hl.Votes.from_long(judgments, item="image", lf="reader", vote="digit")
votes

# %% [markdown]
# ## Labels, and how five label models compare
#
# The items are in the order of `votes.items`, so the truth is taken in that order too.

# %%
known = truth.loc[list(votes.items)].to_numpy()
scores = {}
for name in ("mv", "ds", "hds", "hlm", "default"):
    model = hl.HyperLabelModel() if name == "default" else hl.label_model(name)
    scores[name] = np.mean(model.fit_predict(votes) == known)
pd.Series(scores).map("{:.1%}".format).rename("right, of all images").to_frame()

# %% [markdown]
# ## Who reads well?
#
# The estimated accuracy of a reader uses no truth. The column `true` shows what the truth says:

# %%
estimated = hl.LFAnalysis(votes).summary().to_pandas()
checked = hl.LFAnalysis(votes, known).summary().to_pandas()
readers = estimated.set_index("lf")[["votes"]].assign(
    estimated=estimated["estimated_accuracy"].to_numpy(), true=checked["precision"].to_numpy()
)
readers.sort_values("estimated").round(2).iloc[[0, 1, 2, -3, -2, -1]]

# %% [markdown]
# The same for all readers. On the dashed line the estimate is exact:

# %% alt="Estimated against true accuracy, one dot per reader"
axes = readers.plot.scatter("true", "estimated", figsize=(5, 5), xlim=(0, 1), ylim=(0, 1))
diagonal = axes.plot([0, 1], [0, 1], "--", color="0.6")

# %% [markdown]
# ## How many judgments per image are enough?
#
# Judgments cost money. Keep only the first few per image, and see what is lost:

# %%
few = {}
for most in (1, 2, 3, 5, 8):
    part = judgments[judgments.groupby("image").cumcount() < most]
    votes_of_few = hl.Votes.from_long(part, item="image", lf="reader", vote="digit")
    known_of_few = truth.loc[list(votes_of_few.items)].to_numpy()
    few[most] = {
        "majority vote": np.mean(hl.label_model("mv").fit_predict(votes_of_few) == known_of_few),
        "hyperlabel": np.mean(hl.HyperLabelModel().fit_predict(votes_of_few) == known_of_few),
    }
table = pd.DataFrame(few).T.round(3).rename_axis("judgments per image, at most")
table

# %% alt="Share of right labels by judgments per image, for majority vote and hyperlabel"
axes = table.plot(marker="o", ylabel="share of right labels", figsize=(7, 4))

# %% [markdown]
# ## Thirty labels by hand, and the images
#
# If the items themselves are at hand, as texts or as numbers, one call uses them too:

# %%
rng = np.random.default_rng(0)
gold = {image: truth[image] for image in rng.choice(list(votes.items), 30, replace=False)}
pixels = pd.DataFrame(example.features, index=list(example.votes.items)).loc[list(votes.items)].to_numpy()
labels = hl.label(votes, features=pixels, gold=gold)
print(f"votes, images and 30 labels: {np.mean(labels.labels == known):.1%} of all images")
