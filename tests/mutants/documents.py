"""Bugs in reading and chunking documents."""

from tests.mutants.mutant import Mutant

DOCUMENTS_MUTANTS: tuple[Mutant, ...] = ()
