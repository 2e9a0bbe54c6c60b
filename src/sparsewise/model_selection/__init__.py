"""Choosing among the models of a path: criteria, leave-one-out, cross-validation."""
