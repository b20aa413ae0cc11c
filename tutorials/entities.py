# %% [markdown]
# # Names in news
#
# Sixteen LFs mark names of persons, places, organizations and others in news (CoNLL 2003): two taggers, and lists of
# names. Their votes become spans. The truth is there too, but only to see how good they are.

# %%
import json
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import hyperlabel as hl

folder = Path(os.environ["HYPERLABEL_DATA"], "spans")
head = json.loads((folder / "conll.json").read_text())
rows = [json.loads(line) for line in (folder / "conll.jsonl").read_text().splitlines()]
documents = [
    {
        "tokens": row["tokens"],
        "votes": {lf: row["votes"].get(lf, []) for lf in head["recommended"]},
        "gold": row["gold"],
    }
    for row in rows
]
print(*documents[2]["tokens"])
print(documents[2]["votes"]["core_web_md"])

# %% [markdown]
# ## Spans from votes
#
# A span is `[start, end, type]`, in tokens, the end excluded. The label model needs no training on this set:

# %%
labels = hl.label_spans(documents)
labels

# %%
labels.to_pandas().head(5)

# %% [markdown]
# The documents have gold in their key `gold`, which nothing has looked at so far. A span is right if its start, end
# and type are:

# %%
labels.score("gold").to_pandas().round(3)

# %% [markdown]
# ## Which LFs to trust
#
# Precision and recall against the result, no truth needed; and how often a span of an LF touches another LF's, and
# differs from it:

# %%
labels.analysis.to_pandas().round(2).head(6)

# %% [markdown]
# The votes behind one span:

# %%
labels.explain(2, 0)

# %% [markdown]
# ## What the probabilities are worth
#
# Too much, since lists of names share their errors. Spans in ten groups by probability, and the share of each that is
# right:

# %% alt="Share of right spans by their probability: nearly all points lie below the diagonal"
right = np.array(
    [list(span[:3]) in row["gold"] for spans, row in zip(labels.spans, rows, strict=True) for span in spans]
)
order = np.argsort(labels.probabilities)
groups = np.array_split(order, 10)
axes = plt.figure(figsize=(5, 5)).gca()
points = axes.plot(
    [labels.probabilities[each].mean() for each in groups], [right[each].mean() for each in groups], "o-"
)
diagonal = axes.plot([0, 1], [0, 1], "--", color="0.6")
names = axes.set(xlabel="probability of spans", ylabel="share that is right", xlim=(0, 1), ylim=(0, 1))

# %% [markdown]
# So check a sample by hand before you rely on them. Each span is an item whose class is its type, or `no span`. Here
# the truth plays the person who checks 500 random spans:

# %%
spans = labels.to_labels()
truth = np.where(right, spans.labels, "no span")
sample = np.random.default_rng(0).permutation(len(spans))[:500]
checked = {spans.items[i]: truth[i] for i in sample}
certificate = hl.certify(spans, None, checked, error=0.25)
print(certificate)
print(f"really wrong among them: {np.mean(truth[certificate.accepted] == 'no span'):.1%}")

# %% [markdown]
# ## Files and pages
#
# `labels.save("train.conll")`, `.jsonl` or `.spacy` for a tagger to learn from; `labels.report().save("page.html")` for
# people: documents with their spans highlighted, the least certain first.

# %%
labels.save("train.conll")
print("\n".join(Path("train.conll").read_text().splitlines()[13:22]))
