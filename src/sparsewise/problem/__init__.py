"""A design and a target, checked once; what a caller tells about them."""
