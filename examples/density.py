"""How dense a signal may be for its support to be found, and who finds it.

    python -m reproduction examples/density.py --out density

64 equations, 128 unknowns, k of which are not zero: for every k below, 200 problems are drawn at
random and each algorithm gets all of them. A success is a support that is exactly the true one.
"""

from reproduction.declaration import Contender, Experiment

DENSITY = Experiment(
    name="density",  # what files are called after
    title="Recovery against density, normal coefficients",
    # What is drawn. Each of these takes several values; cells are all combinations.
    grid={
        "n": (64,),  # rows; or, instead, sampling: n/m
        "m": (128,),  # columns
        "k": (4, 8, 12, 16, 20, 24),  # non-zero coefficients; or, instead, sparsity: k/n
        "noise": (1e-3,),  # norm of the noise; columns have norm one
    },
    family="gaussian",  # gaussian, correlated, neighbours, signs, cosines
    signal="normal",  # the non-zero coefficients: signs (±1), normal, uniform
    realizations=200,
    # A name for tables and figures, the algorithm (`sparsewise algorithms` lists them), and its
    # parameters. Words such as delta, noise, n, m or k stand for the values of the cell, perhaps
    # with a factor in front; delta is twice the noise unless the grid has it.
    contenders=(
        Contender("OMP", "omp", {"residual": "delta"}),
        Contender("Forward", "forward", {"residual": "delta"}),
        Contender("RMP₀", "rmp0", {"delta": "delta"}),
        Contender("RMP_σ", "rmp", {"sigma": "delta"}),
        Contender("Subspace Pursuit", "subspace_pursuit", {"sparsity": "k"}),  # it is told k
        # Coefficients of at most a tenth of δ don't count as found.
        Contender("Basis Pursuit", "bpdn", {"residual": "delta"}, threshold="0.1*delta"),
    ),
)
