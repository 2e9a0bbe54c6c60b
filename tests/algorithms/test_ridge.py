"""Algorithms that take a ridge, against least squares on the augmented system from scratch."""

import numpy as np
import pytest
import scipy.sparse as sparse
from scipy.sparse.linalg import aslinearoperator

import sparsewise
from sparsewise import ALGORITHMS, InputError, Targets, certify, forward, solve, stepwise
from tests.references.stepwise import REFERENCES, Unit

RIDGES = [1e-4, 0.3, 4.0]
TAKE_RIDGE = ["forward", "backward", "rmp0", "foba", "stepwise", "srr", "solve"]
BY_STEPS = ["forward", "backward", "rmp0", "foba", "srr"]


def drawn(seed, n, m, kind=float, q=0):
    """Correlated columns of all norms, and a target (or q of them) that is half noise."""
    rng = np.random.default_rng([seed, n, m, q])

    def normal(*shape):
        real = rng.standard_normal(shape)
        return real + 1j * rng.standard_normal(shape) if kind is complex else real

    A = (normal(n, m) + 0.7 * normal(n, 1)) * 10.0 ** rng.uniform(-2, 2, m)
    X = np.zeros((m, max(q, 1)), kind)
    X[rng.choice(m, 4, replace=False)] = normal(4, max(q, 1))
    Y = (A / np.linalg.norm(A, axis=0)) @ X
    Y = Y + 0.5 * np.linalg.norm(Y) / np.sqrt(Y.size) * normal(*Y.shape)
    return A, Y if q else Y[:, 0]


def augmented(A, y, ridge):
    """[A; √ridge diag(‖a_j‖)] and zeros below y: its least squares are the ridge regression."""
    below = np.sqrt(ridge) * np.diag(np.linalg.norm(A, axis=0))
    return np.vstack([A, below]), np.concatenate([y, np.zeros((len(below), *y.shape[1:]))])


def ridge_fit(A, y, support, ridge):
    """Coefficients, ‖r‖² and trace of the hat matrix from the normal equations."""
    norms = np.linalg.norm(A[:, support], axis=0)
    U = A[:, support] / norms
    root = np.linalg.solve(U.conj().T @ U + ridge * np.eye(len(support)), U.conj().T)
    z = root @ y
    return (z.T / norms).T, np.linalg.norm(y - U @ z) ** 2, np.trace(U @ root).real


def call(name, y):
    """A way to stop each algorithm."""
    if name in ("forward", "backward", "srr"):
        return {"sparsity": 4}
    return {"delta": 0.15 * Unit(np.ones((len(y), 1)), y).scale}


def agrees(solution, A, y, reference, rtol=1e-7):
    """Support and coefficients are those of the reference; the figures are those of the fit."""
    np.testing.assert_array_equal(solution.support, reference.support)
    np.testing.assert_allclose(solution.coef, reference.coef, rtol=rtol, atol=rtol * 1e-3)
    assert solution.check(A, y).ok


def test_these_take_a_ridge():
    assert {name for name in ALGORITHMS if ALGORITHMS[name].takes("ridge")} == set(TAKE_RIDGE)


@pytest.mark.parametrize("ridge", RIDGES)
@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("shape", [(30, 12), (14, 30)], ids=["tall", "wide"])
@pytest.mark.parametrize("name", BY_STEPS)
def test_steps_are_those_on_the_augmented_system(name, shape, kind, ridge):
    A, y = drawn(1, *shape, kind)
    words = call(name, y)
    solution = getattr(sparsewise, name)(A, y, ridge=ridge, **words)
    agrees(solution, A, y, REFERENCES[name](*augmented(A, y, ridge), **words))


@pytest.mark.parametrize("name", BY_STEPS)
def test_several_targets(name):
    A, Y = drawn(2, 20, 12, q=3)
    words, ridge = call(name, Y), 0.5
    solution = getattr(sparsewise, name)(A, Y, ridge=ridge, **words)
    agrees(solution, A, Y, REFERENCES[name](*augmented(A, Y, ridge), **words))
    weighted = Targets(Y, weights=[1.0, 2.0, 0.5])
    below = np.zeros((A.shape[1], 3))
    reference = REFERENCES[name](
        augmented(A, Y, ridge)[0], Targets(np.vstack([Y, below]), weights=[1.0, 2.0, 0.5]), **words
    )
    agrees(getattr(sparsewise, name)(A, weighted, ridge=ridge, **words), A, weighted, reference)


@pytest.mark.parametrize("name", BY_STEPS)
def test_constraints(name):
    A, y = drawn(3, 24, 12)
    words = call(name, y) | {"include": [7, 2], "exclude": [0, 5]}
    solution = getattr(sparsewise, name)(A, y, ridge=0.3, **words)
    agrees(solution, A, y, REFERENCES[name](*augmented(A, y, 0.3), **words))
    assert {2, 7} <= set(solution.support.tolist())


STORAGES = {
    "csc": sparse.csc_array,
    "csr": sparse.csr_array,
    "operator": aslinearoperator,
    "single": lambda A: A.astype(np.float32),
}


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("name", BY_STEPS)
def test_storages(name, storage):
    A, y = drawn(4, 26, 12)
    words = call(name, y)
    stored = STORAGES[storage](A)
    solution = getattr(sparsewise, name)(stored, y, ridge=0.3, **words)
    single = storage == "single"
    reference = REFERENCES[name](*augmented(A, y, 0.3), **words)
    np.testing.assert_array_equal(solution.support, reference.support)
    np.testing.assert_allclose(solution.coef, reference.coef, rtol=1e-3 if single else 1e-7)
    assert solution.check(stored, y).ok


def test_a_large_matrix_is_met_by_guesses_and_checks():
    rng = np.random.default_rng(5)
    A = rng.standard_normal((300, 400)) + rng.standard_normal((300, 1))
    y = A[:, :12].sum(axis=1) + 10 * rng.standard_normal(300)
    solution = forward(A, y, sparsity=30, ridge=0.4)
    plain = forward(*augmented(A, y, 0.4), sparsity=30)
    assert [step.column for step in solution.path] == [step.column for step in plain.path]
    np.testing.assert_allclose(solution.coef, plain.coef, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", TAKE_RIDGE)
def test_a_ridge_of_zero_changes_no_digit(name):
    A, y = drawn(6, 30, 12)
    words = {} if name in ("solve", "stepwise") else call(name, y)
    algorithm = getattr(sparsewise, name)
    plain, zero = algorithm(A, y, **words), algorithm(A, y, ridge=0.0, **words)
    np.testing.assert_array_equal(plain.coef, zero.coef)
    assert zero.ridge == 0.0
    assert zero.df == zero.support.size


@pytest.mark.parametrize("name", TAKE_RIDGE)
def test_loss_and_df_are_those_of_the_hat_matrix(name):
    A, y = drawn(7, 30, 12)
    words = {"criterion": "aic"} if name in ("solve", "stepwise") else call(name, y)
    solution = getattr(sparsewise, name)(A, y, ridge=0.2, **words)
    coef, rss, df = ridge_fit(A, y, solution.support, 0.2)
    np.testing.assert_allclose(solution.coef[solution.support], coef, rtol=1e-9)
    assert solution.residual_norm**2 == pytest.approx(rss)
    assert solution.df == pytest.approx(df)
    assert solution.ridge == 0.2
    assert solution.check(A, y).ok
    for model in solution.path.models():
        assert model.loss == pytest.approx(ridge_fit(A, y, model.support, 0.2)[1])


@pytest.mark.parametrize("name", ["forward", "backward", "rmp0"])
def test_recorded_df_is_that_of_each_model(name):
    A, y = drawn(8, 30, 12)
    solution = getattr(sparsewise, name)(A, y, ridge=0.2, include=[3], **call(name, y))
    stretches = solution.path._stretches
    recorded = np.concatenate([one.df for one in stretches if one.action != "start"])
    wanted = [ridge_fit(A, y, model.support, 0.2)[2] for model in solution.path.models()]
    np.testing.assert_allclose(recorded, wanted)


def test_a_larger_ridge_shrinks():
    A, y = drawn(9, 30, 12)
    norms = np.linalg.norm(A, axis=0)
    sizes = [
        np.linalg.norm(norms * forward(A, y, sparsity=12, ridge=ridge).coef)
        for ridge in (0.0, 0.1, 1.0, 10.0, 1e6)
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < 1e-4 * sizes[0]


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_the_ridge_has_no_unit(scale):
    A, y = drawn(10, 30, 12)
    one, other = forward(A, y, sparsity=4, ridge=0.3), forward(scale * A, y, sparsity=4, ridge=0.3)
    np.testing.assert_allclose(other.coef * scale, one.coef)
    other = forward(A, scale * y, sparsity=4, ridge=0.3)
    np.testing.assert_allclose(other.coef / scale, one.coef)


def test_residual_bounds_the_residual_alone():
    A, y = drawn(11, 30, 12)
    bound = 0.7 * np.linalg.norm(y)
    there = forward(A, y, residual=bound, ridge=0.1)
    assert there.residual_norm <= bound < np.sqrt(there.path.losses[-2])
    back = sparsewise.backward(A, y, residual=bound, ridge=0.1)
    assert back.residual_norm <= bound
    full = sparsewise.backward(A, y, sparsity=0, ridge=0.1).path
    beyond = next(step.loss for step in full if step.size < back.support.size)
    assert beyond > bound**2


def test_copies_share_what_one_would_have():
    A, y = drawn(12, 30, 6)
    twice = np.column_stack([A, A[:, 0]])
    both = forward(twice, y, sparsity=2, ridge=0.5, include=[0, 6])
    assert both.coef[0] == pytest.approx(both.coef[6])
    assert both.check(twice, y).ok


def test_more_columns_than_rows():
    A, y = drawn(13, 10, 25)
    all_columns = forward(A, y, sparsity=25, ridge=0.1)
    assert all_columns.support.size == 25
    np.testing.assert_allclose(all_columns.coef, ridge_fit(A, y, np.arange(25), 0.1)[0], rtol=1e-8)


# --- criteria, search, certificates ---------------------------------------------------------------


def naive_stepwise(A, y, ridge, cost):
    """Single steps by ‖r‖² and df, each fit from scratch."""
    m, support = A.shape[1], []

    def objective(S):
        z = ridge_fit(A, y, S, ridge)[0] * np.linalg.norm(A[:, S], axis=0)
        return ridge_fit(A, y, S, ridge)[1] + ridge * np.linalg.norm(z) ** 2

    def price(S):
        return cost(*ridge_fit(A, y, S, ridge)[1:])

    while True:
        more = [sorted([*support, j]) for j in range(m) if j not in support]
        less = [[i for i in support if i != j] for j in support]
        steps = [min(some, key=objective) for some in (less, more) if some]
        best = min(steps, key=price)
        if price(best) >= price(support):
            return support
        support = best


@pytest.mark.parametrize("ridge", RIDGES)
@pytest.mark.parametrize("criterion", ["aic", "bic"])
def test_stepwise_judges_models_by_residual_and_trace(criterion, ridge):
    A, y = drawn(14, 30, 9)
    n, each = len(y), {"aic": 2.0, "bic": np.log(30)}[criterion]
    rounds = []
    solution = stepwise(A, y, criterion=criterion, ridge=ridge, watch=rounds.append)
    wanted = naive_stepwise(A, y, ridge, lambda rss, df: n * np.log(rss / n) + each * df)
    assert solution.support.tolist() == wanted
    last = rounds[-1]
    for moves, after in (
        (last.additions, lambda j: [*last.order, j]),
        (last.deletions, lambda j: [i for i in last.order if i != j]),
    ):
        for j, rss, cost in zip(moves.columns, moves.rss, moves.cost, strict=True):
            _, loss, df = ridge_fit(A, y, after(j), ridge)
            assert rss == pytest.approx(loss)
            assert cost == pytest.approx(n * np.log(loss / n) + each * df)


@pytest.mark.parametrize("ridge", RIDGES)
@pytest.mark.parametrize("kind", [float, complex])
def test_solve_minimises_its_score_of_the_penalised_objective(kind, ridge):
    A, y = drawn(15, 30, 9, kind)
    solution = solve(A, y, ridge=ridge, criterion="bic")
    assert solution.check(A, y).ok
    plain = solve(*augmented(A, y, ridge), sigma=solution.sigma, criterion="bic")
    known = solve(A, y, ridge=ridge, sigma=solution.sigma, criterion=plain.goal.charge)
    np.testing.assert_array_equal(known.support, plain.support)
    np.testing.assert_allclose(known.coef, plain.coef, rtol=1e-8)


@pytest.mark.parametrize("name", ["forward", "srr"])
def test_certificates_are_of_the_augmented_problem(name):
    A, y = drawn(16, 30, 9)
    solution = getattr(sparsewise, name)(A, y, sparsity=3, ridge=0.5)
    certificate = solution.certificate(A, y, time_limit=None)
    plain = certify(*augmented(A, y, 0.5), solution.support, time_limit=None)
    assert certificate.status == plain.status
    assert certificate.better == plain.better
    assert certificate.ridge == 0.5
    assert "at this ridge" in str(certificate)
    assert certificate.residual_norm == pytest.approx(plain.residual_norm)


def test_check_notices_what_is_no_ridge_fit():
    A, y = drawn(17, 30, 9)
    plain = forward(A, y, sparsity=3)
    wrong = type(plain)(**{**vars(plain), "ridge": 0.5})
    assert not wrong.check(A, y).ok


@pytest.mark.parametrize("ridge", [-1.0, np.inf, np.nan])
def test_bad_ridges_are_refused(ridge):
    A, y = drawn(18, 12, 5)
    with pytest.raises(InputError, match="ridge"):
        forward(A, y, sparsity=2, ridge=ridge)
    with pytest.raises(TypeError, match="ridge"):
        forward(A, y, sparsity=2, ridge="much")


def test_at_low_signal_to_noise_a_ridge_predicts_better():
    """Hazimeh and Mazumder (2020): there, ℓ0 alone overfits, and ℓ0ℓ2 does not."""
    n, m, k, draws = 60, 40, 8, 40
    errors = {(name, ridge): 0.0 for name in ("forward", "solve") for ridge in (0.0, 2.0)}
    for seed in range(draws):
        rng = np.random.default_rng([19, seed])
        root = np.linalg.cholesky(0.7 ** np.abs(np.subtract.outer(np.arange(m), np.arange(m))))
        A = rng.standard_normal((n, m)) @ root.T
        x = np.zeros(m)
        x[:: m // k] = 1.0
        signal = A @ x
        y = signal + np.std(signal) * rng.standard_normal(n) / np.sqrt(0.5)  # SNR 1/2
        for name, ridge in errors:
            words = {"sparsity": k} if name == "forward" else {"criterion": "aic", "effort": 2}
            error = root.T @ (getattr(sparsewise, name)(A, y, ridge=ridge, **words).coef - x)
            errors[name, ridge] += float(error @ error) / draws
    assert errors["forward", 2.0] < 0.8 * errors["forward", 0.0]
    assert errors["solve", 2.0] < errors["solve", 0.0]


def test_the_noise_of_a_search_is_that_of_the_residual():
    """Whatever the ridge term adds to the objective."""
    rng = np.random.default_rng(5)
    A = rng.standard_normal((60, 30))
    y = A[:, :4] @ [2.0, -1.0, 1.0, 3.0] + 0.5 * rng.standard_normal(60)
    solution = solve(A, y, ridge=0.3)
    assert solution.sigma == pytest.approx(solution.residual_norm / np.sqrt(60 - solution.df))
    assert solution.check(A, y).ok
