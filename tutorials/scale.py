# %% [markdown]
# # A hundred million rows
#
# Rows never have to move. An engine counts patterns where the data is, Python judges the patterns, and the engine
# joins the labels back.
#
# ![The engine counts patterns, Python judges them, the engine joins the labels back to the rows](../pictures/scale.svg)
#
# This page runs on a million rows so that anyone can rebuild it. The code is the same for a hundred million:
# [measured](../scale.md#measured), that takes about as long as copying the file twice.

# %%
import subprocess

import duckdb
import polars as pl

import hyperlabel as hl

vote = "CASE WHEN hash(range, {0}) % 10 < {1} THEN NULL WHEN hash(range, -{0}) % 10 < {2} THEN 'spam' ELSE 'ham' END"
links, short, night = vote.format(1, 3, 8), vote.format(2, 5, 6), vote.format(3, 2, 5)
rows = f"SELECT range AS id, {links} AS lf_links, {short} AS lf_short, {night} AS lf_night FROM range(1_000_000)"
duckdb.sql(f"COPY ({rows}) TO 'votes.parquet'")
pl.read_parquet("votes.parquet", n_rows=3)

# %% [markdown]
# ## File to file
#
# `engine` may be Polars (the default for parquet), DuckDB, Spark or Dask. The result appears whole or not at all.

# %%
hl.engines.label("votes.parquet", lfs=["lf_*"], out="labels.parquet")
pl.scan_parquet("labels.parquet").group_by("label").len().sort("label").collect()

# %% [markdown]
# ## Inside a query
#
# A LazyFrame, a DuckDB relation, a Spark or Dask frame goes in. One of the same kind comes out, and is as lazy:

# %%
relation = hl.engines.label(duckdb.read_parquet("votes.parquet"), lfs=["lf_*"])
relation.filter("confidence > 0.8").aggregate("label, count(*) AS rows", "label").order("label").pl()

# %% [markdown]
# Both engines give the same labels to every row:

# %%
labels = pl.read_parquet("labels.parquet").sort("id")["label"]
bool((labels.eq_missing(relation.order("id").pl()["label"])).all())

# %% [markdown]
# Spark takes the same two lines. It joins the labels by a broadcast table, so no row is shuffled:
#
# ```
# labeled = hl.engines.label(spark.read.parquet("s3://bucket/votes"), lfs=["lf_*"])
# labeled.write.parquet("s3://bucket/labels")
# ```
#
# ## As SQL
#
# A fitted model can leave Python behind. `hyperlabel export` prints one SELECT that gives its labels:

# %%
hl.HyperLabelModel().fit(pl.read_parquet("votes.parquet")).save("state.safetensors")
command = ["hyperlabel", "export", "state.safetensors", "--sql", "duckdb", "--from", "votes"]
print(subprocess.run(command, capture_output=True, text=True, check=True).stdout[:400], "...")
