"""Every hand-written bug is noticed."""

import os
import subprocess
import sys
from collections.abc import Iterator
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
from tests.mutants.runner import ROOT, PytestServer, link_source
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
def server() -> Iterator[PytestServer]:
    found = PytestServer()
    yield found
    found.close()


def _mutated_copy(mutant: Mutant, place: Path) -> Path:
    copy = link_source(place)
    file = copy / "inorder" / mutant.file
    source = file.read_text(encoding="utf-8")
    assert source.count(mutant.old) == 1, f"{mutant.file} no longer holds the piece that {mutant.name!r} replaces"
    for outdated in (file, *(file.parent / "__pycache__").glob(f"{file.stem}.*")):
        outdated.unlink()
    file.write_text(source.replace(mutant.old, mutant.new), encoding="utf-8")
    return copy


def _hunt(source: Path, place: Path, seeds: int = SEEDS) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "inorder.sim", "hunt", "--count", str(seeds)]
    return subprocess.run(command, env=environment, cwd=place, capture_output=True, text=True, timeout=110, check=False)


@pytest.mark.parametrize("mutant", ALL, ids=lambda mutant: mutant.name.replace(" ", "-"))
def test_the_bug_is_caught(mutant: Mutant, server: PytestServer, tmp_path: Path) -> None:
    source = _mutated_copy(mutant, tmp_path)
    if mutant.caught_by == "sim":
        hunt = _hunt(source, tmp_path)
        assert hunt.returncode == BROKEN_PROMISE, hunt.stdout + hunt.stderr
        assert "replay it with: python -m inorder.sim run" in hunt.stdout
    else:
        tests = str(ROOT / mutant.caught_by)
        run = server.run(source, tmp_path, tests, "-x", "--timeout", str(TIMEOUT_S), *OPTIONS)
        assert run.code == TESTS_FAILED, run.output


def test_the_unharmed_source_passes(server: PytestServer, tmp_path: Path) -> None:
    """The first seeds are enough here: `tests/sim/test_seeds.py` runs all of them."""
    hunt = _hunt(ROOT / "src", tmp_path, seeds=50)
    assert hunt.returncode == 0, hunt.stdout + hunt.stderr
    assert hunt.stdout == "50 seeds kept every promise\n"
    tests = str(ROOT / "tests" / "core" / "test_ledger.py")
    run = server.run(link_source(tmp_path), tmp_path, tests, *OPTIONS)
    assert run.code == 0, run.output


def test_there_are_at_least_200_and_no_two_are_the_same() -> None:
    assert len(ALL) >= 200
    assert len({(mutant.file, mutant.old, mutant.new) for mutant in ALL}) == len(ALL)
