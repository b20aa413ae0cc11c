"""The paper's experiments, rerun on real votes: records first, then tables, figures and a page drawn from them.

`store` keeps the records, `datasets` and `protocol` say what is scored and how, `paper` holds the published numbers;
each experiment is a file with `run`, which measures, `tables` and `draw`, which show, and `page` puts them together.
"""
