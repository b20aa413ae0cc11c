"""Whatever holds columns (arrays, frames, records) as values and codes, and the one rule which of them are votes."""
