"""The project's experiments: the paper's tables and figures rerun on real votes, and benchmarks. Not in the wheel.

`python -m experiments NAME`, from the root of the repository, runs one. Those of the paper (`aggregate`, `runtime`,
`semi`, `ablation`, `theory`, `endmodel`) record every finished part with `store`, and `page` makes tables, figures and
docs/benchmarks.md of the records alone: each is a file with `run`, which measures, `tables` and `draw`, which show.
The others print one table and keep it. `datasets` and `protocol` say what is scored and how, `paper` holds the
published numbers.
"""
