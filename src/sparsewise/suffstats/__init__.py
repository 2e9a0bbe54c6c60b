"""Sufficient statistics of a regression: triangles, sums of products, and how they add up.

All that algorithms see of a table are inner products of its columns, and these are those of R in
[1 X y] √w = Q R: m + 2 rows in place of any number. Two triangles on top of each other have the R
of all rows, so chunks come in any order and from any machine. Columns are shifted to the means of
the first rows, which costs no digits; another shift changes the first row of R alone. One triangle
for each fold makes cross-validation a matter of adding up all but one, and the squared error of a
model in the fold left out is ‖R v‖². A Gram matrix serves, too, with half of the digits.

Tall Dask collections are condensed where they lie, up a tree of merges; wide ones become a design
whose blocks of columns stay with the workers.
"""
