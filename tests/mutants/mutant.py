"""A bug written by hand, plausible enough that someone could make it.

A mutant replaces one piece of one file. The simulator, or the tests named, must notice. When the source changes so
that a piece is no longer there, the mutant's test fails and the mutant is to be brought up to date.
"""

from typing import NamedTuple


class Mutant(NamedTuple):
    """One bug."""

    name: str
    file: str
    """Below `src/inorder`."""
    old: str
    new: str
    caught_by: str = "sim"
    """`sim`: the seeds; otherwise a test file, or one test of it (`tests/x/test_y.py::test_z`)."""
