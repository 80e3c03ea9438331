"""Bugs in the index and search."""

from tests.mutants.mutant import Mutant

INDEX_MUTANTS: tuple[Mutant, ...] = ()
