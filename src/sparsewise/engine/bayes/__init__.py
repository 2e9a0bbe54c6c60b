"""Sparse Bayesian Learning: evidence, prior variances, noise."""
