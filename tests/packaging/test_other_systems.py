"""Programs on systems that have less than Linux: a start-up module (`macos`, `windows`) hides the rest from them.

It shows that nothing needs what is hidden. It does not show that the system itself does what Linux does.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.python_path import prepend_path

pytestmark = [pytest.mark.req("PKG-1"), pytest.mark.process, pytest.mark.slow]
GUARD_S = 120
ELSEWHERE = (
    "are supported on Linux and macOS, and not on this system (win32); threads are: inorder.imap with where='threads'"
)

ITEMS = """
import os, sys, time
import inorder

def work(item):
    if item == "fail":
        raise ValueError("a bad item")
    if item == "crash":
        os._exit(3)
    if item == "hang":
        time.sleep(3600)
    return {"large": bytes(3_000_000), "close": os.close(1) if item == "close" else None}.get(item, item)

if __name__ == "__main__":
    assert sys.platform == "darwin" and not hasattr(os, "memfd_create") and not os.path.exists("/proc/self")
    items = ["one", "fail", "crash", "hang", "large", "close", "two"]
    options = inorder.RunOptions(memory_bytes_max=2**40)
    results = inorder.imap(work, items, workers=2, timeout_s=3, errors="yield", options=options)
    for item, result in zip(items, results):
        is_error = isinstance(result, inorder.ItemError)
        print(item, result.message if is_error else len(result), file=sys.stderr)
"""
STAGE = """
import inorder

def write(item, ctx):
    with open(ctx.output("text"), "w") as file:
        file.write(item.item_id)

if __name__ == "__main__":
    items = [inorder.WorkItem(item_id=name, outputs={"text": f"{name}.txt"}) for name in "abc"]
    options = inorder.StageOptions(data="data", policy="cpu", workers=2, progress="none", memory_bytes_max=2**40)
    for _ in range(2):
        outcome = inorder.run_stage(inorder.StagePlan("write", items), write, options)
        print(outcome.succeeded, outcome.skipped, outcome.failed)
"""
UNLOADABLE = """
import inorder, os, sys
module = ["import os, sys", "if not hasattr(sys, 'is_driver'): os._exit(7)", "def double(n): return 2 * n"]
with open("unloadable.py", "w") as file:
    file.write(chr(10).join(module))
sys.is_driver = True
from unloadable import double
try:
    list(inorder.imap(double, [1], workers=1))
except inorder.InfrastructureError as error:
    print(error)
"""
THREADS = """
import inorder, sys, time
from inorder.lanes import Lane, LaneConfig

def work(number):
    if number == 3:
        raise ValueError("a bad item")
    return 2 * number

if __name__ == "__main__":
    assert sys.platform == "win32"
    for name in inorder.__all__:
        getattr(inorder, name)
    for options in ({"where": "threads", "workers": 2, "timeout_s": 60}, {"where": "inline"}):
        results = inorder.imap(work, range(5), errors="yield", **options)
        print(*[result if isinstance(result, int) else result.message for result in results])
    with Lane(LaneConfig(name="net", max_concurrency=2)) as lane:
        print(lane.submit(work, 21).result())
"""
REFUSED = {
    "worker processes": "inorder.imap(abs, [1])",
    "locked files": "inorder.imap(abs, [1], where='threads', journal='journal')",
    "stages": "inorder.run_stage(inorder.StagePlan('write', []), print)",
    "datasets": "inorder.open('.')",
}


class Machine:
    """A folder on a machine with another system."""

    def __init__(self, folder: Path, system: str) -> None:
        self.folder = folder
        hidden = Path(__file__).with_name(system)
        self._environment = {**os.environ, "PYTHONPATH": prepend_path(hidden)}

    def run(self, *arguments: str, code: int = 0) -> tuple[str, str]:
        """Run the interpreter; return stdout and stderr."""
        ended = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=GUARD_S,
        )
        assert ended.returncode == code, ended.stdout + ended.stderr
        return ended.stdout, ended.stderr

    def run_program(self, text: str) -> tuple[str, str]:
        """Run a program that is a file, as worker processes need it."""
        (self.folder / "program.py").write_text(text)
        return self.run("program.py")


@pytest.fixture
def mac(tmp_path: Path) -> Machine:
    return Machine(tmp_path, "macos")


@pytest.fixture
def windows(tmp_path: Path) -> Machine:
    return Machine(tmp_path, "windows")


def test_processes_contain_bad_items_without_what_only_linux_has(mac: Machine) -> None:
    _, said = mac.run_program(ITEMS)
    assert said.splitlines() == [
        "one 3",
        "fail ValueError: a bad item",
        "crash its worker died twice while running it, the second time in isolation: the process exited with status 3",
        "hang exceeded its time limit of 3000 ms",
        "large 3000000",
        "close closed stdout",
        "two 3",
    ]


def test_a_process_that_cannot_start_is_named_without_what_only_linux_has(mac: Machine) -> None:
    said, _ = mac.run_program(UNLOADABLE)
    assert said.startswith("cannot start a worker process: the process exited with status 7 during startup")


def test_a_stage_runs_without_what_only_linux_has(mac: Machine) -> None:
    assert mac.run_program(STAGE)[0].split() == ["3", "0", "0", "0", "3", "0"]


def test_a_folder_is_indexed_and_searched_without_what_only_linux_has(mac: Machine) -> None:
    docs = mac.folder / "docs"
    docs.mkdir()
    (docs / "log.md").write_text("# Log\n\nThe fog horn was started at dusk.\n")
    (docs / "keeper.py").write_text("def light_lamp(lamp):\n    return lamp\n")
    for counted in ("2 files: 2 new", "2 files: 2 unchanged"):
        said = "".join(mac.run("-m", "inorder", "run", "docs", "--dense", "hash", "--workers", "2"))
        assert counted in said
        assert "warning" not in said
    assert mac.run("-m", "inorder", "search", "fog horn", "-k", "1")[0].startswith("docs/log.md")
    mac.run("-m", "inorder", "verify")


def test_threads_and_lanes_work_without_posix(windows: Machine) -> None:
    results = "0 2 4 ValueError: a bad item 8"
    assert windows.run_program(THREADS)[0].splitlines() == [results, results, "42"]


@pytest.mark.parametrize("what", REFUSED)
def test_what_needs_posix_says_so_in_one_line(windows: Machine, what: str) -> None:
    program = f"import inorder\ntry:\n    {REFUSED[what]}\nexcept inorder.OperatorError as error:\n    print(error)"
    assert windows.run("-c", program)[0] == f"{what} {ELSEWHERE}\n"


@pytest.mark.parametrize("arguments", [["run", "docs"], ["search", "fog"], ["watch", "docs"], ["inspect"]])
def test_a_command_that_needs_posix_says_so_in_one_line(windows: Machine, arguments: list[str]) -> None:
    assert windows.run("-m", "inorder", *arguments, code=2) == ("", f"inorder: commands {ELSEWHERE}\n")


def test_the_version_can_be_asked_for_without_posix(windows: Machine) -> None:
    assert windows.run("-m", "inorder", "--version")[0].startswith("inorder ")
