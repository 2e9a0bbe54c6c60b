"""Subset selection: least squares on a subset, exchanges of columns, leaps and bounds."""
