"""Columns of arrays, frames and records as values and codes, and the one rule that says which of them are votes."""
