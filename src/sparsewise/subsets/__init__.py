"""Searching among subsets of columns: least squares on a choice, exchanges, leaps and bounds."""
