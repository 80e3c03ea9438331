"""Bugs in the real filesystem."""

from tests.mutants.mutant import Mutant

HOST_MUTANTS: tuple[Mutant, ...] = ()
