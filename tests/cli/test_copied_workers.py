"""The worker processes of a run are copies of its own process: those of a first run from the start, those of a later
one as soon as it finds a change."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command_line import GUARD_S, CommandLine, clean_environment

pytestmark = [
    pytest.mark.process,
    pytest.mark.req("STL-1"),
    pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux"),
]
PROGRAM = """
import sys
from inorder.cli.app import run_command
from inorder.engines.process.worker_process import WorkerProcess
from inorder.stage import file_stat

made = []
initialize = WorkerProcess.__init__


def note(process, function_pickle, *arguments):
    kind = "copied" if function_pickle is None else "started"
    made.append(f"{kind}-with-numpy" if "numpy" in sys.modules else kind)
    initialize(process, function_pickle, *arguments)


if __name__ == "__main__":
    file_stat.RACY_NS = -(10**12)  # files that were just written count as unchanged
    WorkerProcess.__init__ = note
    code = run_command(sys.argv[1:])
    print(*made, *{"numpy"}.intersection(sys.modules))
    sys.exit(code)
"""


def run(cli: CommandLine, name: str = "run", workers: int = 1) -> list[str]:
    """Run all stages, or one. Returns how its processes were made, and `numpy` if it was loaded."""
    (cli.folder / "program.py").write_text(PROGRAM)
    command = [sys.executable, "program.py", name, "docs", "-q", "--workers", str(workers)]
    ended = subprocess.run(
        command, cwd=cli.folder, env=clean_environment(), capture_output=True, text=True, timeout=GUARD_S, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return (ended.stdout + ended.stderr).split()


def write(folder: Path, title: str) -> None:
    folder.mkdir(exist_ok=True)
    for name in ("a", "b", "c"):
        (folder / f"{name}.md").write_text(f"# {title}\n\nWords of document {name}.\n")


def test_a_first_run_copies_its_process_for_each_worker(cli: CommandLine) -> None:
    write(cli.folder / "docs", "First")
    (cli.folder / "docs" / "horn.py").write_text("def sound():\n    return 'fog'\n")
    assert run(cli, "index", workers=3) == ["copied", "copied", "copied", "numpy"]
    assert [row["status"] for row in cli.rows("index")] == ["success"] * 4
    assert run(cli, "index", workers=3) == [], "there is nothing to do"


def test_a_later_run_has_copies_as_soon_as_it_finds_a_change(cli: CommandLine) -> None:
    write(cli.folder / "docs", "First")
    assert run(cli) == ["copied", "started", "numpy"], "the one that counts the corpus is started later"
    write(cli.folder / "docs", "Second")
    assert run(cli) == ["copied-with-numpy", "copied-with-numpy", "numpy"], "it is imported once"
    assert run(cli) == [], "NumPy is slow to import, and nothing needs it"
    assert [row["status"] for row in cli.rows("doctags")] == [*["success"] * 6, *["skip"] * 3]
    assert "Second" in cli.run("show", "docs/a.md").out
    assert cli.run("verify").code == 0


@pytest.mark.parametrize("threads", ["2", "1"])
def test_a_run_is_copied_whatever_the_number_of_threads_of_numpy(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch, threads: str
) -> None:
    """A process with several threads cannot be copied, so NumPy is not imported before if it starts some."""
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", threads)
    write(cli.folder / "docs", "First")
    run(cli)
    write(cli.folder / "docs", "Second")
    kind = "copied-with-numpy" if threads == "1" else "copied"
    assert run(cli) == [kind, kind, "numpy"]


@pytest.mark.parametrize(("changed", "workers", "copies"), [(9, 2, 2), (10, 2, 3), (10, 1, 2)])
def test_a_run_that_finds_many_changes_has_a_second_copy_for_documents(
    cli: CommandLine, changed: int, workers: int, copies: int
) -> None:
    """Each folder with a change counts once. Another copy counts the corpus."""
    folders = [cli.folder / "docs" / f"{number:02}" for number in range(30)]
    (cli.folder / "docs").mkdir()
    for folder in folders:
        write(folder, f"First {folder.name}")
    run(cli, workers=workers)
    for folder in folders[:changed]:
        write(folder, f"Second {folder.name}")
    assert run(cli, workers=workers) == ["copied-with-numpy"] * copies + ["numpy"]
    statuses = [row["status"] for row in cli.rows("doctags")][-3 * len(folders) :]
    assert statuses == ["success"] * 3 * changed + ["skip"] * 3 * (len(folders) - changed)
    assert cli.run("verify").code == 0


def test_a_new_file_is_work_for_certain(cli: CommandLine) -> None:
    write(cli.folder / "docs", "First")
    run(cli)
    (cli.folder / "docs" / "0.md").write_text("# New")
    assert run(cli)[0] == "copied-with-numpy"
