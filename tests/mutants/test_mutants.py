"""Every hand-written bug is noticed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.mutants.adoption import ADOPTION_MUTANTS
from tests.mutants.core import CORE_MUTANTS
from tests.mutants.dataset import DATASET_MUTANTS
from tests.mutants.host import HOST_MUTANTS
from tests.mutants.identity import IDENTITY_MUTANTS
from tests.mutants.journal import JOURNAL_MUTANTS
from tests.mutants.library import LIBRARY_MUTANTS
from tests.mutants.mutant import Mutant
from tests.mutants.runner import ROOT, ForkServer, link_source, replaced
from tests.mutants.sinks import SINKS_MUTANTS

ALL = (
    *CORE_MUTANTS,
    *JOURNAL_MUTANTS,
    *HOST_MUTANTS,
    *SINKS_MUTANTS,
    *IDENTITY_MUTANTS,
    *ADOPTION_MUTANTS,
    *LIBRARY_MUTANTS,
    *DATASET_MUTANTS,
)
SEEDS = 1500
BROKEN_PROMISE = 6
TESTS_FAILED = 1
TIMEOUT_S = 100
"""A bug that makes a test hang is caught after so long."""
OPTIONS = ("-q", "-p", "no:cacheprovider", "--requirements=off")


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    found = ForkServer()
    yield found
    found.close()


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the source, of which each test replaces a piece for a while."""
    return link_source(tmp_path_factory.mktemp("mutants"))


@contextmanager
def mutated(source: Path, mutant: Mutant) -> Iterator[None]:
    file = source / "inorder" / mutant.file
    count = file.read_text(encoding="utf-8").count(mutant.old)
    assert count == 1, f"{mutant.file} no longer holds the piece that {mutant.name!r} replaces"
    with replaced(file, mutant.old, mutant.new):
        yield


@pytest.mark.parametrize("mutant", ALL, ids=lambda mutant: mutant.name.replace(" ", "-"))
def test_the_bug_is_caught(mutant: Mutant, server: ForkServer, source: Path, tmp_path: Path) -> None:
    with mutated(source, mutant):
        if mutant.caught_by == "sim":
            hunt = server.run_simulator(source, tmp_path, "hunt", "--count", str(SEEDS))
            assert hunt.code == BROKEN_PROMISE, hunt.output
            assert "replay it with: python -m inorder.sim run" in hunt.output
        else:
            tests = str(ROOT / mutant.caught_by)
            run = server.run_tests(source, tmp_path, tests, "-x", "--timeout", str(TIMEOUT_S), *OPTIONS)
            assert run.code == TESTS_FAILED, run.output


def test_the_unharmed_source_passes(server: ForkServer, source: Path, tmp_path: Path) -> None:
    """The first seeds are enough here: `tests/sim/test_seeds.py` runs all of them."""
    hunt = server.run_simulator(source, tmp_path, "hunt", "--count", "50")
    assert (hunt.code, hunt.output) == (0, "50 seeds kept every promise\n")
    tests = str(ROOT / "tests" / "core" / "test_ledger.py")
    run = server.run_tests(source, tmp_path, tests, *OPTIONS)
    assert run.code == 0, run.output


def test_a_copy_is_as_before_when_its_mutant_is_gone(source: Path) -> None:
    mutant = ALL[0]
    file = source / "inorder" / mutant.file
    before = {path: path.stat().st_ino for path in source.rglob("*") if path.is_file()}
    with mutated(source, mutant):
        assert file.stat().st_ino != before[file]
        assert (ROOT / "src/inorder" / mutant.file).read_text(encoding="utf-8").count(mutant.old) == 1
    assert file.read_bytes() == (ROOT / "src/inorder" / mutant.file).read_bytes()
    assert {path for path in source.rglob("*") if path.is_file()} == before.keys()


def test_there_are_at_least_200_and_no_two_are_the_same() -> None:
    assert len(ALL) >= 200
    assert len({(mutant.file, mutant.old, mutant.new) for mutant in ALL}) == len(ALL)
