"""Experiments and benchmarks of sparsewise, beside the package: ``python -m reproduction``.

Experiments (`paper`, `beyond`, `shared_support`, or a file of your own) say how often supports are
recovered; `reproduction.benchmarks` says how long that takes, beside other packages.
"""
