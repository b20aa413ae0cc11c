"""What several estimation methods share: prior assumptions about LFs, sums over votes, and overlaps of votes."""
