"""The version of the package, where everyone may import it from."""

__version__ = "0.1.0"
