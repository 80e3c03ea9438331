"""Every hand-written bug is noticed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants.cli import CLI_MUTANTS
from tests.mutants.core import CORE_MUTANTS
from tests.mutants.documents import DOCUMENTS_MUTANTS
from tests.mutants.engines import ENGINES_MUTANTS
from tests.mutants.host import HOST_MUTANTS
from tests.mutants.identity import IDENTITY_MUTANTS
from tests.mutants.index import INDEX_MUTANTS
from tests.mutants.journal import JOURNAL_MUTANTS
from tests.mutants.mutant import Mutant
from tests.mutants.sinks import SINKS_MUTANTS
from tests.mutants.stage import STAGE_MUTANTS
from tests.mutants.telemetry import TELEMETRY_MUTANTS
from tests.mutants.wiring import WIRING_MUTANTS

ALL = (
    *CORE_MUTANTS,
    *JOURNAL_MUTANTS,
    *HOST_MUTANTS,
    *SINKS_MUTANTS,
    *IDENTITY_MUTANTS,
    *ENGINES_MUTANTS,
    *STAGE_MUTANTS,
    *TELEMETRY_MUTANTS,
    *CLI_MUTANTS,
    *INDEX_MUTANTS,
    *DOCUMENTS_MUTANTS,
    *WIRING_MUTANTS,
)
ROOT = Path(__file__).parents[2]
SEEDS = 1500
BROKEN_PROMISE = 6
TESTS_FAILED = 1


def _mutated_copy(mutant: Mutant, place: Path) -> Path:
    copy = place / "src"
    shutil.copytree(ROOT / "src", copy, ignore=shutil.ignore_patterns("__pycache__"))
    file = copy / "inorder" / mutant.file
    source = file.read_text(encoding="utf-8")
    assert source.count(mutant.old) == 1, f"{mutant.file} no longer holds the piece that {mutant.name!r} replaces"
    file.write_text(source.replace(mutant.old, mutant.new), encoding="utf-8")
    return copy


def _run(source: Path, place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, env=environment, cwd=place, capture_output=True, text=True, timeout=110, check=False)


@pytest.mark.parametrize("mutant", ALL, ids=lambda mutant: mutant.name.replace(" ", "-"))
def test_the_bug_is_caught(mutant: Mutant, tmp_path: Path) -> None:
    source = _mutated_copy(mutant, tmp_path)
    if mutant.caught_by == "sim":
        hunt = _run(source, tmp_path, "inorder.sim", "hunt", "--count", str(SEEDS))
        assert hunt.returncode == BROKEN_PROMISE, hunt.stdout + hunt.stderr
        assert "replay it with: python -m inorder.sim run" in hunt.stdout
    else:
        tests = str(ROOT / mutant.caught_by)
        run = _run(source, ROOT, "pytest", tests, "-x", "-q", "-p", "no:cacheprovider", "--requirements=off")
        assert run.returncode == TESTS_FAILED, run.stdout + run.stderr


def test_the_unharmed_source_passes_the_same_hunt(tmp_path: Path) -> None:
    hunt = _run(ROOT / "src", tmp_path, "inorder.sim", "hunt", "--count", str(SEEDS))
    assert hunt.returncode == 0, hunt.stdout + hunt.stderr


def test_there_are_at_least_25_and_no_two_are_the_same() -> None:
    assert len(ALL) >= 25
    assert len({(mutant.file, mutant.old, mutant.new) for mutant in ALL}) == len(ALL)
