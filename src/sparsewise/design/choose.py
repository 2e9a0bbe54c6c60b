"""Conversion of the user's A to a Design."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from sparsewise._typing import Array
from sparsewise.design.base import FLOATS, Design, working_type
from sparsewise.design.dense import DenseDesign
from sparsewise.design.operator import OperatorDesign
from sparsewise.design.sparse import SparseDesign
from sparsewise.errors import InputError, InputTypeError

COMPLEX = (complex, np.complexfloating)


def as_design(A: Any) -> Design:
    """The matrix A behind the common interface, without a copy where it is floating point.

    Parameters
    ----------
    A : array-like, scipy.sparse matrix or array, LinearOperator, Dask collection or Design
        Of shape (n, m). Integers and booleans are promoted to float64.

    Returns
    -------
    Design
        A itself if it is a Design. Column norms are cached, so that one design serves many targets;
        the data behind it must not change meanwhile. Measuring the norms of an operator takes a
        product per column; pass known ones to `OperatorDesign`.
    """
    if type(A) is np.ndarray:
        return DenseDesign(as_floats(A, "A"))
    if isinstance(A, Design):
        return A
    if is_dask(A):
        from sparsewise.design.dask import DaskDesign, as_dask_array

        return DaskDesign(as_dask_array(A, "A")[0])
    if _is_scipy_sparse(A):
        return SparseDesign(A.astype(working_type(A.dtype, "A"), copy=False))
    if hasattr(A, "matvec") and hasattr(A, "rmatvec") and hasattr(A, "shape"):
        return OperatorDesign(A)
    return DenseDesign(as_floats(A, "A"))


def as_floats(values: Any, name: str) -> Array:
    """An array of a floating-point type, the same memory where possible."""
    if type(values) is not np.ndarray:
        if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
            raise InputError(
                f"has {np.sum(values.mask)} masked entries",
                "fill or drop them first.",
                parameter=name,
            )
        if is_tensor(values):
            _check_tensor(values, name)
        try:
            values = np.asarray(values)
        except (ValueError, TypeError, RuntimeError) as error:
            kind = InputError if isinstance(error, ValueError) else InputTypeError
            message = " ".join(str(error).split()).rstrip(".")
            raise kind(
                f"can't be read as an array of numbers: {message}.", parameter=name
            ) from None
    if values.dtype.char in FLOATS:  # in any byte order: the design avoids a copy
        return values
    if values.dtype.kind == "O":
        return _from_objects(values, name)
    return values.astype(working_type(values.dtype, name))


def is_tensor(values: Any) -> bool:
    """Whether it is a tensor of PyTorch, which need not be installed."""
    return hasattr(values, "requires_grad") and hasattr(values, "layout")


def _check_tensor(tensor: Any, name: str) -> None:
    """Refuse a tensor that NumPy can't read as it is, with the call that helps."""
    for is_so, wrong, advice in (
        (tensor.is_meta, "is a tensor without values, on the meta device", "give one with values."),
        (
            str(tensor.layout) != "torch.strided",
            "is a sparse tensor",
            f"pass {name}.to_dense(), or a sparse matrix of SciPy.",
        ),
        (tensor.device.type != "cpu", f"is on {tensor.device}", f"pass {name}.cpu()."),
        (
            tensor.requires_grad,
            "is a tensor that requires a gradient, and none is computed here",
            f"pass {name}.detach().",
        ),
        (
            str(tensor.dtype) == "torch.bfloat16",
            "is of type bfloat16, which NumPy does not have",
            f"pass {name}.float().",
        ),
    ):
        if is_so:
            raise InputTypeError(wrong, advice, parameter=name)


def _from_objects(values: Array, name: str) -> Array:
    """Python numbers of any kind as float64, or complex128 if any is complex."""
    try:
        numbers = values.astype(np.complex128)
    except OverflowError:
        raise InputError(
            "holds numbers too large for a floating-point number.", parameter=name
        ) from None
    except (TypeError, ValueError) as error:
        message = " ".join(str(error).split())
        raise InputTypeError(
            f"holds objects that aren't numbers ({message}).", parameter=name
        ) from None
    return numbers if any(isinstance(v, COMPLEX) for v in values.flat) else numbers.real.copy()


def is_dask(A: Any) -> bool:
    """Whether A is a Dask array, data frame or series."""
    module = sys.modules.get("dask.dataframe")
    is_frame = module is not None and isinstance(A, (module.DataFrame, module.Series))
    return is_frame or is_dask_array(A)


def is_dask_array(A: Any) -> bool:
    """Whether A is a dask.array; if it is, the module has been imported already."""
    module = sys.modules.get("dask.array")
    return module is not None and isinstance(A, module.Array)


def _is_scipy_sparse(A: Any) -> bool:
    # If A is sparse, scipy.sparse has been imported already; otherwise spare the import.
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(A))
