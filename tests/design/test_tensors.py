"""Tensors of PyTorch: read as they are where NumPy can, and otherwise named with what to call."""

from types import SimpleNamespace

import numpy as np
import pytest

import sparsewise as sw
from sparsewise import InputError


class Tensor:
    """What a tensor has that is looked at, and how it answers NumPy."""

    def __init__(self, values, *, error=None, **words):
        self.values, self.error = np.asarray(values), error
        self.shape, self.ndim, self.dtype = self.values.shape, self.values.ndim, self.values.dtype
        self.layout, self.device = "torch.strided", SimpleNamespace(type="cpu")
        self.requires_grad = self.is_meta = False
        vars(self).update(words)

    def __len__(self):
        return len(self.values)

    def __array__(self, dtype=None, copy=None):
        if self.error is not None:
            raise self.error
        return np.array(self.values, dtype)


GRADIENT = RuntimeError("Can't call numpy() on Tensor that requires grad.")
CASES = {
    "gradient": ({"requires_grad": True, "error": GRADIENT}, "requires a gradient.*detach()"),
    "bfloat16": (
        {"dtype": "torch.bfloat16", "error": TypeError("Got unsupported ScalarType BFloat16")},
        r"type bfloat16, which NumPy does not have; pass \w+\.float\(\)",
    ),
    "sparse": (
        {"layout": "torch.sparse_coo", "error": TypeError("can't convert Sparse layout tensor")},
        r"is a sparse tensor; pass \w+\.to_dense\(\)",
    ),
    "meta": (
        {"is_meta": True, "error": NotImplementedError("Cannot copy out of meta tensor")},
        "without values, on the meta device; give one with values",
    ),
    "another device": (
        {"device": SimpleNamespace(type="cuda"), "error": TypeError("can't convert cuda:0")},
        r"is on .*; pass \w+\.cpu\(\)",
    ),
    "anything else": (
        {"error": RuntimeError("Can't call numpy() on Tensor that has conjugate bit set.")},
        r"can't be read as an array of numbers: Can't call .* bit set\.$",
    ),
}
rng = np.random.default_rng(0)
A, y = rng.standard_normal((20, 4)), rng.standard_normal(20)


@pytest.mark.parametrize("case", CASES)
def test_what_numpy_cannot_read_is_named(case):
    words, match = CASES[case]
    matrix, target = Tensor(A, **words), Tensor(y, **words)
    model = sw.StepwiseRegressor().fit(A, y)
    for name, call in (
        ("A", lambda: sw.forward(matrix, y, sparsity=1)),
        ("y", lambda: sw.forward(A, target, sparsity=1)),
        ("X", lambda: sw.StepwiseRegressor().fit(matrix, y)),
        ("y", lambda: sw.RelevanceVectorRegressor().fit(A, target)),
        ("sample_weight", lambda: sw.StepwiseRegressor().fit(A, y, sample_weight=target)),
        ("X", lambda: model.predict(matrix)),
    ):
        with pytest.raises(InputError, match=match) as error:
            call()
        assert str(error.value).startswith(f"{name} ")


def test_others_are_read():
    one, other = sw.forward(Tensor(A), Tensor(y), sparsity=2), sw.forward(A, y, sparsity=2)
    np.testing.assert_array_equal(one.coef, other.coef)
    fitted = sw.StepwiseRegressor().fit(Tensor(A), Tensor(y))
    np.testing.assert_array_equal(fitted.coef_, sw.StepwiseRegressor().fit(A, y).coef_)


def test_torch_itself():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: stand-ins serve above")
    X = torch.tensor(A)
    np.testing.assert_array_equal(
        sw.forward(X, y, sparsity=2).coef, sw.forward(A, y, sparsity=2).coef
    )
    bad = {
        "gradient": X.clone().requires_grad_(),
        "bfloat16": X.bfloat16(),
        "sparse": X.to_sparse(),
        "meta": X.to("meta"),
    }
    for case, tensor in bad.items():
        with pytest.raises(InputError, match=CASES[case][1]):
            sw.StepwiseRegressor().fit(tensor, y)
