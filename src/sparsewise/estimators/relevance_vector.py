"""Relevance vector regression: a function as a sparse sum of kernels at training points."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial
from itertools import count
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular
from scipy.spatial import cKDTree
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.gaussian_process.kernels import Kernel as ProcessKernel
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from sparsewise import plan
from sparsewise._typing import Array
from sparsewise._util.parameters import check_number
from sparsewise._util.progress import waiting
from sparsewise.algorithms import ALGORITHMS
from sparsewise.algorithms.fast_sbl import climb, fast_sbl
from sparsewise.algorithms.registry import Family
from sparsewise.algorithms.rmp import match_relevance
from sparsewise.design import Centred, Design
from sparsewise.design.base import fold
from sparsewise.design.kernel_matrix import Kernel, KernelDesign, evaluate, row_blocks
from sparsewise.engine.bayes.evidence import Evidence
from sparsewise.engine.bayes.kernel_noise import Inferred, follow, infer_kernel_noise
from sparsewise.engine.bayes.left_out import dispersion
from sparsewise.errors import InputError, Parameter
from sparsewise.estimators.dtypes import check_real
from sparsewise.estimators.inputs import check_range
from sparsewise.estimators.kernel_functions import (
    PROFILES,
    Scaled,
    Stationary,
    median_distance,
    spreads,
)
from sparsewise.estimators.requirements import check_one_target
from sparsewise.estimators.state import in_precision, reset_on_failure
from sparsewise.problem.problem import Problem, problem
from sparsewise.results import BayesianSolution, Check, Solution, Stop
from sparsewise.suffstats.triangle import condense_design


def _algorithms(family: Family, parameter: str) -> list[str]:
    """Those of a family that take this parameter."""
    return [a.name for a in ALGORITHMS.values() if a.family is family and a.takes(parameter)]


FLOATING = (np.float64, np.float32)
"""What X may be without being converted."""

BAYESIAN = _algorithms(Family.BAYESIAN, "sigma")
STEPWISE = _algorithms(Family.STEPWISE, "delta")


SCREENED = 256
"""Candidates, drawn at random, from which the noise is inferred where all would take too long."""


def _go_on(algorithm: str, evidence: Evidence) -> Stop:
    """The steps of a Bayesian algorithm from a model that is there already."""
    if ALGORITHMS[algorithm].function is fast_sbl:
        return climb(evidence, count())
    return match_relevance(evidence)


class Exact(NamedTuple):
    """What predictions are made of, in double precision."""

    coef: Array
    means: Array  # of the kernels
    level: float  # of y
    level_variance: float
    noise: float
    triangle: Array  # R of (RᵀR)⁻¹, the covariance of the weights in units of the noise's
    dispersion: float = 1.0


# scikit-learn ships no types: its base classes are Any to the checker.
@dataclass(eq=False, repr=False)
class RelevanceVectorRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Regression by a few kernels, each centred at a training point.

    The model is y = b + Σ_j w_j k(x, c_j) + e, with candidates c_j among the training points, most
    w_j zero, a flat prior on b and noise e of standard deviation σ. Distances are meant to compare:
    where the length scale is found from the data, too, features are brought to a common scale first
    (`scale`), so that their units don't matter.

    Parameters
    ----------
    kernel : {"matern12", "matern32", "matern52", "rbf"}, scikit-learn kernel or callable
        Matérn of smoothness 1/2, 3/2 or 5/2, or the squared exponential, by name; a kernel of
        `sklearn.gaussian_process.kernels`, with its hyper-parameters as they are; or a function
        ``k(X, Y)`` that returns the array of shape (len(X), len(Y)).
    length_scale : float or "median"
        Of a kernel by name. "median": the median distance between training points.
    scale : bool
        Whether features are divided by their standard deviations first (relative to the geometric
        mean of all, so that features that are alike stay as they are). With a median length scale
        alone: one that is given, and a kernel that is an object or function, are for X as it is.
    algorithm : {"rmp", "fast_sbl", "sbl", "rmp0", "foba", "forward"}
        The first three are Bayesian and find the noise themselves; the others are stepwise and
        need `delta`.
    sigma : float, optional
        Standard deviation of the noise, in the units of y, for a Bayesian algorithm. None: it is
        found from the data, as described below.
    delta : float, optional
        What a kernel must lower the norm of the residual by, in squares and the units of y: for a
        stepwise algorithm, which needs it. A kernel fitted to noise alone is worth about σ²; σ
        times √(2 log m), with m candidates, keeps most such kernels out.
    n_candidates : int, optional
        How many training points, drawn at random, may be chosen. None: all.
    fit_intercept : bool
        Whether the model has a constant b.
    cache_size : float
        Megabytes for values of the kernel. All n x m are computed once and kept if they fit; else
        their triangle (of QR), if m x m fit and m is at most n/2. Otherwise they are computed anew,
        tile by tile, in each pass of the algorithm, which takes far longer.
    certify : bool
        Whether to ask, too, if the chosen kernels are the best of their number, at O(n m²).
    random_state : int, RandomState or None
        Draws the candidates, the points of the median where there are more than 1,000, and what the
        noise is found with. None: other candidates in each fit, but the same of the others.

    Attributes
    ----------
    relevance_ : ndarray of shape (k,)
        The chosen training points, by row, ascending.
    relevance_vectors_ : ndarray of shape (k, n_features_in_)
        These points.
    coef_ : ndarray of shape (k,)
        Their weights w.
    intercept_ : float
        The constant b.
    noise_ : float
        The standard deviation σ of the noise, in the units of y. Stepwise: that of the residual,
        with a degree of freedom less for each weight and the intercept.
    sigma_ : float
        The same.
    dispersion_ : float
        What the standard deviations of predictions are multiplied by, 1 or more: how far points lie
        from the model, in units of the deviation stated, once they are left out.
    log_evidence_ : float
        Log marginal likelihood of y at this σ, of what the intercept leaves; of a Bayesian
        algorithm alone.
    candidates_ : ndarray of shape (m,)
        The training points that could be chosen, by row, ascending.
    solution_ : Solution
        What the algorithm returned, its columns being the candidates: path, stop, evidence.
    certificate_ : Certificate
        Whether no other choice of as many candidates fits better; only with ``certify=True``.
    length_scale_ : float or None
        The length scale used; None for a kernel that is not by name.
    scale_ : ndarray of shape (n_features_in_,) or None
        What each feature is divided by; None: by nothing.
    kernel_ : callable
        The kernel used, of points as they are.
    n_features_in_ : int
        Features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X had them.

    Notes
    -----
    With ``sigma=None``, σ comes from Tipping's updates of all prior variances and of σ² together,

        γ_j ← μ_j² / (1 - Σ_jj/γ_j)        σ² ← ‖r‖² / (n - Σ_j (1 - Σ_jj/γ_j)),

    μ and Σ being posterior mean and covariance. Smooth kernels see the noise as it is that way;
    rough ones can follow it, and leave less. How much is asked of y in random order and with random
    signs, which is noise of a known size: if a share ρ of that is seen (a mean over several such
    targets), σ is what was seen of y, divided by ρ. The algorithm then runs at this σ, from the
    empty model and from what the updates have left; the higher evidence decides. Of more than 512
    points 256 candidates at random begin, and as the others come in, σ² falls to the maximum of
    the evidence with them. What kernels at training points can't express is part of the noise.

    References
    ----------
    Tipping (2001), Sparse Bayesian Learning and the Relevance Vector Machine. Ament and Gomes
    (2021), Sparse Bayesian Learning via Stepwise Regression.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsewise.estimators import RelevanceVectorRegressor
    >>> X = np.linspace(-10, 10, 200)[:, None]
    >>> y = np.sinc(X[:, 0] / np.pi) + 0.1 * np.random.default_rng(0).standard_normal(200)
    >>> model = RelevanceVectorRegressor("rbf", length_scale=2.0).fit(X, y)
    >>> mean, std = model.predict(X, return_std=True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [StrOptions(set(PROFILES)), callable],
        "length_scale": [Interval(Real, 0, None, closed="neither"), StrOptions({"median"})],
        "scale": ["boolean"],
        "algorithm": [StrOptions({*BAYESIAN, *STEPWISE})],
        "sigma": [Interval(Real, 0, None, closed="neither"), None],
        "delta": [Interval(Real, 0, None, closed="left"), None],
        "n_candidates": [Interval(Integral, 1, None, closed="left"), None],
        "fit_intercept": ["boolean"],
        "cache_size": [Interval(Real, 0, None, closed="left")],
        "certify": ["boolean"],
        "random_state": ["random_state"],
    }

    kernel: str | Kernel = "matern32"
    _: KW_ONLY
    length_scale: float | str = "median"
    scale: bool = True
    algorithm: str = "rmp"
    sigma: float | None = None
    delta: float | None = None
    n_candidates: int | None = None
    fit_intercept: bool = True
    cache_size: float = 200
    certify: bool = False
    random_state: int | np.random.RandomState | None = None

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Choose relevance vectors and their weights.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Training points.
        y : array-like of shape (n,)
            Targets.

        Returns
        -------
        RelevanceVectorRegressor
            The estimator itself.
        """
        with reset_on_failure(self):
            self._validate_params()
            self._parameters()  # refused before any work
            check_one_target(y, "RelevanceVectorRegressor takes")
            check_real(X, "X", self.algorithm)
            check_real(y, "y", self.algorithm)
            rows, target = validate_data(self, X, y, dtype=FLOATING, y_numeric=True)
            check_range(rows, target)
            # In double: smooth kernels are close to dependent, and what single precision saves in
            # memory it more than loses in columns measured anew.
            points, values = rows.astype(np.float64, copy=False), target.astype(np.float64)
            self.candidates_ = self._candidates(len(points))
            self.kernel_, self.length_scale_, self.scale_ = self._kernel(points)
            design = self._design(points, points[self.candidates_])
            target, level = self._without_mean(design, values)
            data = self._at_hand(design, target)
            self.solution_: Solution = self._solved(points, target, data)
            if self.certify:
                self.certificate_ = self.solution_.certificate(*data, swaps=True)
            self.relevance_ = self.candidates_[self.solution_.support]
            self.relevance_vectors_ = rows[self.relevance_]
            self._keep(points, values, target, level, rows.dtype)
        return self

    def predict(self, X: ArrayLike, return_std: bool = False) -> Array | tuple[Array, Array]:
        """The expected target at each point, and how far observations scatter about it.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Where to predict.
        return_std : bool
            Whether to return standard deviations, too.

        Returns
        -------
        mean : ndarray of shape (n,)
            The expected targets.
        std : ndarray of shape (n,)
            Of a new observation: noise, and uncertainty of weights and intercept, times
            `dispersion_`. Only if `return_std`.
        """
        check_is_fitted(self)
        check_real(X, "X", self.algorithm)
        rows = validate_data(self, X, dtype=FLOATING, reset=False)
        dtype = np.result_type(rows.dtype, self.coef_.dtype)
        mean, variance = self._expected(rows.astype(np.float64, copy=False), return_std)
        std = self._exact_.dispersion * self._exact_.noise * np.sqrt(variance)
        return (mean.astype(dtype), std.astype(dtype)) if return_std else mean.astype(dtype)

    def check(self, X: ArrayLike, y: ArrayLike) -> Check:
        """Whether the solution holds, recomputed from the data it was fitted to alone.

        Parameters
        ----------
        X : array-like of shape (n, p)
            The training points, as in `fit`.
        y : array-like of shape (n,)
            Their targets.

        Returns
        -------
        Check
            What was found: residual, and of a Bayesian algorithm posterior, evidence, and by how
            much that could still rise.
        """
        check_is_fitted(self)
        rows, target = validate_data(self, X, y, dtype=FLOATING, y_numeric=True, reset=False)
        points = rows.astype(np.float64, copy=False)
        design = self._design(points, points[self.candidates_])
        target, _ = self._without_mean(design, target.astype(np.float64))
        found: Check = self.solution_.check(*self._at_hand(design, target))
        return found

    @property
    def sigma_(self) -> float:
        """Standard deviation of the noise."""
        check_is_fitted(self)
        return self.noise_

    @property
    def log_evidence_(self) -> float:
        """Log marginal likelihood."""
        check_is_fitted(self)
        if not isinstance(self.solution_, BayesianSolution):
            raise AttributeError(f"{self.algorithm} maximises no evidence.")
        return float(self.solution_.log_evidence)

    def _expected(self, points: Array, with_variance: bool) -> tuple[Array, Array]:
        """Expected targets, and the variance of observations in units of the noise's."""
        exact = self._exact_
        mean = np.full(len(points), exact.level)
        # That of the mean of y is 1/n.
        variance = np.full(len(points), 1.0 + exact.level_variance)
        vectors, k = self.relevance_vectors_.astype(np.float64, copy=False), exact.coef.size
        for rows in row_blocks(0, len(points), k) if k else ():
            K = evaluate(self.kernel_, points[rows], vectors, rows.start)
            # About the means, as in training: the sum with intercept_ is the same on paper, but
            # smooth kernels have large weights that would cancel.
            K = K - exact.means
            mean[rows] += K @ exact.coef
            if with_variance:
                half = solve_triangular(exact.triangle, K.T, trans="T")
                variance[rows] += np.square(half).sum(axis=0)
        return mean, variance

    # ------------------------------------------------------------------ before the algorithm

    def _parameters(self) -> dict[str, Any]:
        """What the algorithm takes besides the data."""
        this = Parameter("algorithm", self.algorithm)
        if self.algorithm in STEPWISE:
            if self.delta is None:
                raise InputError(
                    (this, " needs ", Parameter("delta")),
                    "give the noise's standard deviation times about 3, say, in the units of y.",
                )
            if self.sigma is not None:
                advice = this, " takes ", Parameter("delta"), " alone."
                raise InputError(f"belongs to {', '.join(BAYESIAN)}", advice, parameter="sigma")
            return {"delta": check_number(self.delta, "delta")}
        if self.delta is not None:
            advice = this, " takes ", Parameter("sigma"), ", or neither."
            raise InputError(f"belongs to {', '.join(STEPWISE)}", advice, parameter="delta")
        parameters: dict[str, Any] = {
            "sigma": None if self.sigma is None else check_number(self.sigma, "sigma")
        }
        # MacKay's updates are those of the original relevance vector machine (Tipping 2001), and
        # many times quicker than EM.
        if ALGORITHMS[self.algorithm].takes("updates"):
            parameters["updates"] = "mackay"
        return parameters

    def _candidates(self, n: int) -> Array:
        """The rows that may be chosen, ascending."""
        wanted = n if self.n_candidates is None else int(self.n_candidates)
        if wanted > n:
            raise InputError(
                f"is {wanted}, but there are only {n} training points",
                "lower it, or let None stand for all.",
                parameter="n_candidates",
            )
        if wanted == n:
            return np.arange(n)
        rng = check_random_state(self.random_state)
        return np.sort(rng.choice(n, wanted, replace=False))

    def _kernel(self, X: Array) -> tuple[Kernel, float | None, Array | None]:
        """The kernel of two sets of points, and its length scale and those of X if we set them."""
        if isinstance(self.kernel, str):
            if not isinstance(self.length_scale, str):
                length = check_number(self.length_scale, "length_scale")
                return Stationary(self.kernel, length), length, None
            # A fit should not depend on chance unless it is asked to.
            rng = check_random_state(0 if self.random_state is None else self.random_state)
            scale = spreads(X) if self.scale and X.shape[1] > 1 else None
            length = median_distance(X if scale is None else X / scale, rng)
            kernel: Kernel = Stationary(self.kernel, length)
            return (kernel if scale is None else Scaled(kernel, scale)), length, scale
        if self.length_scale != "median":
            there = "set that of a kernel object or function there, and leave "
            advice = there, Parameter("length_scale", "median"), " here."
            raise InputError("belongs to kernels by name", advice, parameter="length_scale")
        own = clone(self.kernel) if isinstance(self.kernel, ProcessKernel) else self.kernel
        return own, None, None

    def _design(self, X: Array, candidates: Array) -> Design:
        """The kernel matrix, without the intercept if there is one."""
        design = KernelDesign(self.kernel_, X, candidates)
        return Centred(design) if self.fit_intercept and len(X) > 1 else design

    def _without_mean(self, design: Design, y: Array) -> tuple[Array, float]:
        """The target without the intercept if there is one, and its mean."""
        if isinstance(design, Centred):
            return design.reflection.column(y)
        # The intercept leaves nothing of a single point.
        return (0 * y, float(y[0])) if self.fit_intercept else (y, 0.0)

    def _at_hand(self, design: Design, y: Array) -> tuple[Design, Array]:
        """The same data in the form that is quickest, as far as memory allows.

        An algorithm makes hundreds of passes, and the kernel takes ten times as long as a pass over
        its values in memory. Where those are too many, their triangle may not be.
        """
        n, m = design.shape
        room = check_number(self.cache_size, "cache_size") * 1e6 / np.dtype(np.float64).itemsize
        if n * m <= room:
            return design.stored(), y
        if plan.condenses(plan.CONDENSE_UNREAD, n, m) and m * m <= room:
            design, (y,) = condense_design(design, y[None])
        return design, y

    # ------------------------------------------------------------------ the algorithm

    def _solved(self, points: Array, target: Array, data: tuple[Design, Array]) -> Solution:
        """What the algorithm comes to; where σ is to be found, at the one that is (`kernel_noise`).

        From the empty model or from what finding σ has left, whichever has the higher evidence;
        and should the empty model be worth more, at a σ of its own, from there.
        """
        run = partial(ALGORITHMS[self.algorithm], *data)
        parameters = self._parameters()
        if self.algorithm in STEPWISE or self.sigma is not None or not target.any():
            solution: Solution = run(**parameters)
            return solution
        everything = problem(*data)
        inferred = self._inferred(points, target, everything)
        evidence = Evidence(everything, inferred.noise)
        parameters["sigma"] = evidence.sigma
        evidence.restore(inferred.columns, inferred.gamma)
        best: BayesianSolution = max(
            run(**parameters),
            evidence.solve(self.algorithm, partial(_go_on, self.algorithm, evidence)),
            key=lambda solution: solution.log_evidence,
        )
        empty = Evidence(everything, 1 / everything.design.rows)
        worth_less = best.log_evidence < empty.log_evidence
        return run(**parameters | {"sigma": empty.sigma}) if worth_less else best

    def _inferred(self, points: Array, target: Array, everything: Problem) -> Inferred:
        """σ² and where to begin; from some candidates, then with all, where there are many."""
        rng = check_random_state(0 if self.random_state is None else self.random_state)
        m, some = self.candidates_.size, np.arange(self.candidates_.size)
        if m > SCREENED and not plan.infers_from_all((len(points), m)):
            some = np.sort(rng.choice(m, SCREENED, replace=False))
        design = self._design(points, points[self.candidates_[some]])
        with waiting("inferring the noise", unasked=True):
            inferred = infer_kernel_noise(design, target, rng)
            inferred = inferred._replace(columns=some[inferred.columns])
            return inferred if some.size == m else follow(everything, inferred, match_relevance)

    # ------------------------------------------------------------------ after it

    def _keep(self, X: Array, y: Array, target: Array, level: float, dtype: np.dtype[Any]) -> None:
        """Weights, noise, intercept, and what the standard deviations of predictions need.

        With gamma the prior variances, the posterior covariance is σ² (K*K + σ² Γ⁻¹)⁻¹, and that
        is σ² (RᵀR)⁻¹ if R is the triangle of K on top of σ Γ^-½. Least squares is gamma = ∞.
        """
        solution: Any = self.solution_
        coef = np.asarray(solution.coef[solution.support], np.float64)
        n, k = len(X), coef.size
        means, R, damping = np.zeros(k), np.zeros((k, k)), np.zeros(k)
        if solution.posterior is not None:
            noise = float(solution.posterior.sigma)
            damping = noise / np.sqrt(solution.gamma[solution.support])
        else:
            freedom = n - k - bool(self.fit_intercept)
            noise = float(solution.residual_norm) / max(freedom, 1) ** 0.5
        own = data = np.empty((0, 1))
        if k:
            vectors = X[np.append(self.relevance_, self._substitutes(X))]
            design = self._design(X, vectors)
            all_means = design.means if isinstance(design, Centred) else np.zeros(2 * k)
            own = evaluate(self.kernel_, vectors[:k], vectors) - all_means
            data, means = design.triangle(target[:, None]), all_means[:k]
            R = fold(data[:k, :k], np.diag(damping))
        of_level = 1 / n if self.fit_intercept else 0.0
        self._exact_ = Exact(coef, means, level, of_level, noise, R)
        mean, variance = self._expected(X, True)
        if self.fit_intercept:
            # Predictions have the mean of y; large weights show the rounding of these means.
            level += (drift := level - float(mean.mean()))
            mean += drift
        residual, of_vectors = y - mean, (self.relevance_, R, data, own, damping**2)
        factor = dispersion(residual, variance - 1, noise, *of_vectors)
        self._exact_ = self._exact_._replace(level=level, dispersion=factor)
        self.coef_ = in_precision(dtype, coef)
        self.intercept_ = in_precision(dtype, float(level - means @ coef))
        self.noise_ = in_precision(dtype, noise)
        self.dispersion_ = factor

    def _substitutes(self, X: Array) -> Array:
        """Of each relevance vector, the nearest candidate that was not chosen, by row."""
        others = np.setdiff1d(self.candidates_, self.relevance_)
        others = others if others.size else self.candidates_
        points = X if self.scale_ is None else X / self.scale_
        return np.asarray(others[cKDTree(points[others]).query(points[self.relevance_])[1]])
