"""Bugs in the stage runner."""

from tests.mutants.mutant import Mutant

STAGE_MUTANTS: tuple[Mutant, ...] = ()
