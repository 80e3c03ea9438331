"""Two runs at once that export to the same place: it ends as one of them leaves it, and never as a mix of both."""

import random
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from inorder.cli.exit_codes import Exit
from tests.connectors.drivers import open_drivers
from tests.connectors.run_targets import PACKAGES, RunTarget, open_target

pytestmark = [pytest.mark.process, pytest.mark.slow]
ROUNDS = 4
THREADS = {"INORDER_POLICY": "io", "INORDER_WORKERS": "2", "INORDER_QUIET": "true"}


@pytest.fixture(params=PACKAGES)
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RunTarget]:
    with open_target(request.param, tmp_path) as target:
        yield target


@pytest.fixture
def sources(tmp_path: Path) -> list[Path]:
    """Two folders, of which each has documents that the other one lacks, and some of the same ids."""
    folders = [tmp_path / name / "src" for name in ("one", "two")]
    for edition, folder in enumerate(folders):
        folder.mkdir(parents=True)
        for number in range(6 * edition, 6 * edition + 12):
            (folder / f"{number:03}.md").write_text(f"# Note {number}\n\nEdition {edition} tells of the fog bell.\n")
    return folders


class TwoRuns:
    """Two processes that run command lines at the same time."""

    def __init__(self, folder: Path, target: RunTarget, stack: ExitStack) -> None:
        folders = [folder / "first", folder / "second"]
        for each in folders:
            each.mkdir()
        environment = {**THREADS, **target.environment}
        self._drivers = [stack.enter_context(open_drivers(each, environment, *target.modules)) for each in folders]

    def run(self, lines: list[list[str]]) -> list[int]:
        """The exit codes of both."""
        for drivers, line in zip(self._drivers, lines, strict=True):
            drivers.start(*line)
        return [drivers.wait() for drivers in self._drivers]

    def run_alone(self, line: list[str]) -> None:
        assert self._drivers[0].run(*line) == 0, self.read_logs()

    def read_logs(self) -> list[str]:
        return [drivers.log.read_text() for drivers in self._drivers]


@pytest.fixture
def runs(tmp_path: Path, target: RunTarget) -> Iterator[TwoRuns]:
    with ExitStack() as stack:
        yield TwoRuns(tmp_path, target, stack)


def test_two_runs_on_the_same_data(runs: TwoRuns, target: RunTarget, sources: list[Path], tmp_path: Path) -> None:
    chance = random.Random(1)
    for edition in range(ROUNDS):
        for number in chance.sample(range(12), 3):
            (sources[0] / f"{number:03}.md").write_text(f"# Note {number}\n\nRound {edition}.\n")
        line = ["run", str(sources[0]), "--data", str(tmp_path / "data"), *target.find_arguments("place")]
        codes = runs.run([line, line])
        assert 0 in codes, runs.read_logs()
        assert set(codes) <= {0, Exit.IN_USE}, runs.read_logs()
        runs.run_alone(
            ["run", str(sources[0]), "--data", str(tmp_path / "alone"), *target.find_arguments("undisturbed")]
        )
        assert target.read("place") == target.read("undisturbed")


def test_two_data_with_one_target(runs: TwoRuns, target: RunTarget, sources: list[Path], tmp_path: Path) -> None:
    names = ["one", "two"]
    for source, name in zip(sources, names, strict=True):
        runs.run_alone(["run", str(source), "--data", str(tmp_path / name / "data"), *target.find_arguments(name)])
    lines = [
        ["run", str(source), "--data", str(tmp_path / name / "data"), *target.find_arguments("place")]
        for source, name in zip(sources, names, strict=True)
    ]
    for _ in range(ROUNDS):
        codes = runs.run(lines)
        assert set(codes) <= {0, Exit.IN_USE}, runs.read_logs()
        found = target.read("place")
        complete = [target.read(name) for name, code in zip(names, codes, strict=True) if code == 0]
        assert found in complete, codes
