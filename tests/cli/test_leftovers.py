"""What a killed run leaves in the folder for temporary files, the next one removes."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.documents.embed.servers import Script, held_by, serving
from tests.support.command_line import CommandLine

pytestmark = [pytest.mark.process, pytest.mark.req("ROB-1")]

RUN = ("run", "sources", "--policy", "cpu", "--workers", "2")


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder for temporary files, with a path that is short enough for a socket."""
    with TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder)


def test_the_next_run_removes_the_temporary_folders_of_a_killed_one(cli: CommandLine, place: Path) -> None:
    cli.source("a.md", "# Lamp\n\nA lamp.\n")
    (place / "somebody-elses").mkdir()
    gate = threading.Event()
    script = Script(held_by(gate))
    with serving(script) as url:
        program = cli.start(*RUN, "--dense", f"tei:{url}", TMPDIR=str(place))
        script.has_requests()
        program.kill()
        program.wait()
        gate.set()
        assert len(os.listdir(place)) > 1, "the run had none"
        cli.source("b.md", "# Horn\n\nA horn.\n")
        assert cli.run(*RUN, TMPDIR=str(place)).code == 0
    assert os.listdir(place) == ["somebody-elses"]
