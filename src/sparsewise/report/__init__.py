"""Words and tables for people: of a fitted model, its path, and the certificate of a choice."""

from sparsewise.report.certificate import Certified, show_certificate
from sparsewise.report.fit import (
    FIRST_STEPS,
    LAST_STEPS,
    WITHOUT_INTERCEPT,
    show_fit,
    show_path,
)
from sparsewise.report.model import Fit
from sparsewise.report.page import Page

__all__ = [
    "FIRST_STEPS",
    "LAST_STEPS",
    "WITHOUT_INTERCEPT",
    "Certified",
    "Fit",
    "Page",
    "show_certificate",
    "show_fit",
    "show_path",
]
