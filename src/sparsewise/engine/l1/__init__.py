"""ℓ1-penalised least squares: paths, working sets, proximal steps, proofs of optimality.

Basis pursuit minimises Σ w_j|x_j| instead of counting columns. The minimiser of
½‖A x - y‖² + Σ ω_j|x_j| keeps c = A*r at s_j ω_j on its support (s_j: signs) and within ω_j
elsewhere. On the factor A_S U = Q, with e = U*(s ω),

    x = U (t - e)        r = r_LS + Q e        ‖r‖² = ‖r_LS‖² + ‖e‖²

so x, r and c move along lines while ω does, from knot to knot, where a column enters or leaves: one
product with A each (`homotopy`). Where A fits in no cache, knots are predicted from a few columns
and checked against all (`path_lookahead`). Weights that shrink to zero trace the lasso path;
weights that turn into others at a fixed λ are how a reweighting continues from its last round. A
column that reaches its weight but depends on the active ones replaces one of them, as in the
simplex method.

Complex coefficients turn as λ falls, so their path is curved (`complex_path`). Where no x_j is
zero, Σ w_j|x_j| is smooth, and Newton's method on a working set of columns (`working_set`) finds
the minimiser at one λ; the tangent there tells where the next λ is and which columns may enter
before it.

Every solution carries a dual vector ν, |a_j*ν| <= w_j: Σ w_j|x_j| is at least
Re⟨y, ν⟩ - bound·‖ν‖ for any such ν, so optimality is checked from the data alone (`optimality`)
before an answer is returned. Where the check fails, x and ν are refined, then the path is followed
again with more care; a complex problem is given to Clarabel if that is installed (`conic`). What
rounding errors spoil all the same is returned with `Stop.ROUNDING` and its accuracy, or refused if
that is poor; `l1_path` then ends at the last breakpoint that can be trusted (`trusted_path`).
"""
