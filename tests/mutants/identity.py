"""Bugs in what makes an item, a plan or a configuration another one."""

from tests.mutants.mutant import Mutant

IDENTITY_MUTANTS: tuple[Mutant, ...] = ()
