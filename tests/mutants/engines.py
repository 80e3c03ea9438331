"""Bugs in engines and lanes."""

from tests.mutants.mutant import Mutant

ENGINES_MUTANTS: tuple[Mutant, ...] = ()
