"""The numerics that algorithms share."""
