"""The sink of the guide, attached as the guide says: from Python and from the command line, twice, and after a kill."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.support.command_line import GUARD_S

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "your-own-sink.md"
COUNT = 40
KILL = """
import os, signal, sys
from pathlib import Path
import inorder, words

when, number, write = sys.argv[1], int(sys.argv[2]), words.write_atomic
left = iter(range(number))

def write_or_die(*arguments):
    is_last = next(left, None) is None
    if not is_last or when == "after":
        write(*arguments)
    if is_last:
        os.kill(os.getpid(), signal.SIGKILL)

words.write_atomic = write_or_die
options = inorder.StageOptions(data=Path("DATA"), windows=inorder.Windows(entries=4))
plan = words.plan([Path("sources")], Path("DATA"))
inorder.run_stage(plan, words.count_words, options, sinks=words.open_sinks(Path("DATA")))
"""


class Job:
    """A folder with the module of the page, and sources."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sources, self.data = folder / "sources", folder / "DATA"
        self.sources.mkdir()
        for number in range(COUNT):
            self.write(number, "word " * number)
        [sink, attached, _, _] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
        self._source = sink + attached
        (folder / "words.py").write_text(self._source, encoding="utf-8")

    def write(self, number: int, text: str) -> None:
        (self.sources / f"{number:02}.txt").write_text(text, encoding="utf-8")

    def load(self) -> Any:
        module = ModuleType("words")
        exec(compile(self._source, str(PAGE), "exec"), vars(module))
        return module

    def start(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *arguments]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=GUARD_S, check=False)

    def words(self) -> list[int]:
        """What a reader finds, in the order of the plan."""
        (end, _, _), results = json.loads((self.data / "words.json").read_text())
        assert end == COUNT
        assert [(seq, payload["name"]) for seq, payload in results] == [(n, f"{n:02}.txt") for n in range(COUNT)]
        return [payload["words"] for _, payload in results]


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path)


@pytest.mark.req("API-3")
def test_the_sink_of_the_guide_works_twice(job: Job) -> None:
    for _ in range(2):
        assert job.load().run([job.sources], job.data).succeeded == COUNT
        assert job.words() == list(range(COUNT))
    job.write(0, "one two three")
    job.load().run([job.sources], job.data)
    assert job.words() == [3, *range(1, COUNT)]


@pytest.mark.process
@pytest.mark.req("API-3")
def test_the_command_line_opens_the_sink_of_the_guide_twice(job: Job) -> None:
    for _ in range(2):
        ran = job.start("-m", "inorder", "stage", "words:stage", "sources", "--data", "DATA")
        assert ran.returncode == 0, ran.stderr
        assert job.words() == list(range(COUNT))


@pytest.mark.process
@pytest.mark.req("API-3", "JRN-7")
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("number", [1, 3])
def test_the_sink_of_the_guide_goes_on_after_a_kill(job: Job, when: str, number: int) -> None:
    killed = job.start("-c", KILL, when, str(number))
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    outcome = job.load().run([job.sources], job.data)
    assert (outcome.scheduled, outcome.failed) == (COUNT, 0)
    assert (outcome.resumed_at or 0) > 0 or number == 1
    assert job.words() == list(range(COUNT))
    assert job.load().run([job.sources], job.data).succeeded == COUNT
    assert job.words() == list(range(COUNT))
