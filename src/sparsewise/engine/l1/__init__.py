"""ℓ1-penalised least squares: paths, working sets, proximal steps, proofs of optimality."""
