"""Bugs in sinks and published indexes."""

from tests.mutants.mutant import Mutant

SINKS_MUTANTS: tuple[Mutant, ...] = ()
