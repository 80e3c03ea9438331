"""`inorder run SRC --to` with worker processes, killed at random moments: it ends like an undisturbed run."""

import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.connectors.drivers import open_drivers
from tests.connectors.run_targets import RunTarget, open_target

pytestmark = [pytest.mark.process, pytest.mark.slow]
KILLS = 5
TESTS = int(os.environ.get("KILLS", "20")) // KILLS
DOCUMENTS = 24
PROCESSES = {
    "INORDER_POLICY": "cpu",
    "INORDER_WORKERS": "2",
    "INORDER_QUIET": "true",
    "INORDER_WINDOWS_ENTRIES": "4",
    "INORDER_WINDOWS_ADAPTIVE": "false",
}


@pytest.fixture(params=["postgres", "lance", "s3"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RunTarget]:
    with open_target(request.param, tmp_path) as target:
        yield target


def change(sources: Path, chance: random.Random, edition: int) -> None:
    """Documents that change, come and go."""
    for number in range(DOCUMENTS):
        path = sources / f"{number:03}.md"
        if edition and chance.random() < 0.2:
            path.unlink(missing_ok=True)
        elif not edition or chance.random() < 0.3:
            parts = range(1 + chance.randrange(4))
            path.write_text("\n\n".join(f"# Part {part} of {number}\n\nEdition {edition}." for part in parts))


@pytest.mark.parametrize("seed", range(TESTS))
def test_a_run_with_worker_processes_that_is_killed_again_and_again_ends_like_an_undisturbed_one(
    target: RunTarget, seed: int, tmp_path: Path
) -> None:
    chance, kills, edition = random.Random(seed), 0, 0
    sources = tmp_path / "src"
    sources.mkdir()

    def find_line(place: str) -> list[str]:
        return ["run", str(sources), "--data", str(tmp_path / place), *target.find_arguments(place)]

    with open_drivers(tmp_path, {**PROCESSES, **target.environment}, *target.modules) as drivers:
        change(sources, chance, edition)
        began_s = time.monotonic()
        assert drivers.run(*find_line("timed")) == 0, drivers.log.read_text()
        duration_s = time.monotonic() - began_s
        while kills < KILLS:
            change(sources, chance, edition)
            edition += 1
            code = -signal.SIGKILL
            while code != 0 and kills < KILLS:
                code, duration_s = drivers.run_or_kill(find_line("killed"), chance, duration_s)
                kills += code != 0
        for place in ("killed", "undisturbed"):
            assert drivers.run(*find_line(place)) == 0, drivers.log.read_text()
    assert target.read("killed") == target.read("undisturbed")
