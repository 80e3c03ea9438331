"""Bugs in the command line."""

from tests.mutants.mutant import Mutant

CLI_MUTANTS: tuple[Mutant, ...] = ()
