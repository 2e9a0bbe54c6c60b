"""The experiments of the paper, and one's own, as data."""
