"""Sufficient statistics of a regression: triangles, sums of products, and how they add up."""
