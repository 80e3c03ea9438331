"""Names, paths, times, sizes and kinds of files at the limits of the system. No such input ends a run."""

import builtins
import errno
import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import inorder
from inorder.files import listing
from inorder.pipeline import visit
from inorder.pipeline.sources import walk
from tests.documents.workspace import PROSE, Workspace
from tests.support.in_process import run_in_process

pytestmark = [pytest.mark.req("ROB-1"), pytest.mark.slow]

GOOD = {
    "a-good.md": f"# A\n\n{PROSE * 9}",
    "z-good.html": f"<p>{PROSE * 9}</p>",
    "m-good.py": "def lamp() -> int:\n    return 1\n",
}
YEAR_S = 31_556_952
NAME_BYTES_MAX = 255


class _LimitRun:
    """A folder of files at a limit among good ones, and what a run made of them."""

    def __init__(self, workspace: Workspace, sources: tuple[str, ...] = ("docs",), *options: str) -> None:
        for name, text in GOOD.items():
            workspace.write(name, text)
        command = [
            "run",
            *sources,
            "--policy",
            "io",
            "--workers",
            "2",
            "--data",
            "data",
            "--quiet",
            "--set",
            "fsync=off",
            *options,
        ]
        environment = {"PATH": os.environ["PATH"], "HOME": str(workspace.folder)}
        self.code, _, self.errors = run_in_process(command, workspace.folder, environment)
        self.files = workspace.files()
        self.reasons = workspace.reasons()
        self.failed_steps = {
            step for file in self.files.values() for step, state in file.states.items() if state.category
        }
        assert {self.status(f"docs/{name}") for name in GOOD} == {"read"}, self.errors
        checked, found, _ = run_in_process(["verify", "--data", "data"], workspace.folder, environment)
        assert checked == 0, found
        self.staged = [path for path in (workspace.data / ".staging").rglob("*") if path.is_file()]

    def status(self, doc_id: str) -> str:
        file = self.files[doc_id]
        return "failed" if file.is_failed else "not read" if file.reason else "read"

    def reason(self, doc_id: str) -> str:
        categories = [state.category for state in self.files[doc_id].states.values() if state.category]
        return ": ".join([*categories, self.reasons[doc_id]])


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def test_the_library_holds_results_of_files_with_the_longest_names(workspace: Workspace) -> None:
    name = f"{'n' * (NAME_BYTES_MAX - 3)}.md"
    workspace.write(name, "# Long\n\ntext")
    run = _LimitRun(workspace)
    assert (run.status(f"docs/{name}"), run.code) == ("read", 0)


def _write_at_depth(folder: Path, sizes: list[int], name: str) -> str:
    """Write a file below nested folders whose names have these sizes; return its path from the folder."""
    before = Path.cwd()
    try:
        os.chdir(folder)
        for size in sizes:
            Path("d" * size).mkdir(exist_ok=True)
            os.chdir("d" * size)
        Path(name).write_text(f"# Deep {name}\n\n{PROSE}")
    finally:
        os.chdir(before)
    return "/".join(["d" * size for size in sizes] + [name])


def test_a_path_at_the_limit_of_the_system_costs_only_its_file(workspace: Workspace) -> None:
    base = len(os.fsencode(workspace.docs)) + 1
    fitting = _write_at_depth(workspace.docs, [200] * ((3_700 - base) // 201), "fits.md")
    rest = 4_090 - base - len("long.md")
    sizes = [199] * (rest // 200 - 1)
    left = rest - 200 * len(sizes) - 60  # in two parts, which are short enough wherever the folder is
    sizes += [left // 2 - 1, left - left // 2 - 1]
    tight = _write_at_depth(workspace.docs, [*sizes, 59], "long.md")
    assert 4_060 < base + len(tight) < 4_096
    beyond = _write_at_depth(workspace.docs, [198] * 25, "beyond.md")
    run = _LimitRun(workspace, ("docs",))
    assert run.status(f"docs/{fitting}") == "read"
    assert run.status(f"docs/{tight}") == "read"
    [unread] = [doc_id for doc_id in run.files if doc_id.startswith("docs/" + "d" * 198 + "/")]
    assert beyond.startswith(unread.removeprefix("docs/"))
    assert run.reason(unread) == "input: the folder cannot be read: File name too long"
    assert run.failed_steps == {"doctags"}
    assert (run.code, run.staged) == (3, [])


@pytest.fixture
def fast_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory, where there is one: thousands of folders take a minute on a disk."""
    folder = Path(tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else tmp_path))
    yield folder
    _remove_tree(folder)


@pytest.mark.slow
def test_folders_may_be_nested_deeper_than_the_stack_of_the_interpreter(fast_folder: Path) -> None:
    workspace = Workspace(fast_folder)
    deep = _write_at_depth(workspace.docs, [1] * 1_100, "deep.md")
    run = _LimitRun(workspace)
    assert run.status(f"docs/{deep}") == "read"
    assert run.code == 0


def _remove_tree(folder: Path) -> None:
    """Remove a folder, without recursion."""
    folders = [str(folder)]
    for path in folders:
        for entry in os.scandir(path):
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
            else:
                os.unlink(entry.path)
    for path in reversed(folders):
        os.rmdir(path)


@pytest.mark.slow
def test_any_time_stamp_is_accepted(workspace: Workspace) -> None:
    for year in (1901, 1969, 1970, 2039, 2263, 2400, 10_000):
        for name in (f"{year}.md", f"{year}.py"):
            workspace.write(name, "# Dated\n")
            time_s = (year - 1970) * YEAR_S
            os.utime(workspace.docs / name, (time_s, time_s))  # a file system may have a narrower range
    assert _LimitRun(workspace).code == 0
    again = _LimitRun(workspace)
    assert again.code == 0
    assert {again.status(doc_id) for doc_id in again.files} == {"read"}


def test_a_sparse_file_is_refused_without_being_read(workspace: Workspace) -> None:
    for name in ("huge.txt", "huge.bin"):
        workspace.write(name, "\0text" if name.endswith("bin") else "text")
        os.truncate(workspace.docs / name, 2**40)  # to read it would take minutes
    run = _LimitRun(workspace)
    assert run.reason("docs/huge.txt") == "input: the file has 1,099,511,627,776 bytes; the limit is 1,073,741,824"
    assert run.reason("docs/huge.bin") == "larger than 5,000,000 bytes"


def test_a_file_that_grows_while_it_is_read_costs_only_itself(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.write("growing.md", "# Grows")
    read = visit.read_content_of

    def read_and_grow(source: Any, fetcher: Any) -> bytes:
        data = read(source, fetcher)
        if str(source).endswith("growing.md"):
            with open(source, "ab") as file:
                file.write(b" on")
        return data

    monkeypatch.setattr(visit, "read_content_of", read_and_grow)
    assert "changed while it was read" in _LimitRun(workspace).reason("docs/growing.md")
    monkeypatch.undo()
    _LimitRun(workspace)
    assert inorder.open(workspace.data).get("docs/growing.md").text == "Grows on"


def test_what_is_no_regular_file_is_never_opened(workspace: Workspace) -> None:
    os.mkfifo(workspace.docs / "pipe.md")
    before = Path.cwd()
    os.chdir(workspace.docs)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket.md")
    os.chdir(before)
    run = _LimitRun(workspace, ("docs", "/dev/zero", "/dev/tty"))
    for doc_id in ("docs/pipe.md", "docs/socket.md", "zero", "tty"):
        assert run.reason(doc_id) == "not a regular file"


def test_a_file_and_a_folder_without_permission_cost_only_themselves(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refused here by this test: to the superuser the system refuses nothing."""
    workspace.write("closed/inner.md", "# Inner")
    workspace.write("secret.md", "# Secret")
    closed, secret = str(workspace.docs / "closed"), str(workspace.docs / "secret.md")
    read, open_file = walk.list_folder, open

    def read_listing(path: str) -> listing.FolderListing:
        if path.rstrip("/") == closed:
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return read(path)

    monkeypatch.setattr(walk, "list_folder", read_listing)

    def open_others(path: Any, *arguments: Any, **options: Any) -> Any:
        if path == secret:
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return open_file(path, *arguments, **options)

    monkeypatch.setattr(builtins, "open", open_others)
    run = _LimitRun(workspace)
    assert run.reason("docs/closed") == "input: the folder cannot be read: Permission denied"
    assert run.reason("docs/secret.md") == "input: the file cannot be read: Permission denied"


@pytest.mark.slow
def test_any_owner_and_any_inode_is_accepted(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace.write("foreign.md", "# Foreign")
    if os.geteuid() == 0:
        os.chown(workspace.docs / "foreign.md", 2**32 - 2, 2**32 - 2)
    real = os.stat

    def stat_with_large_inode(path: Any, *arguments: Any, **options: Any) -> os.stat_result:
        found = real(path, *arguments, **options)
        if not str(path).endswith("foreign.md"):
            return found
        fields = list(found[:10])
        fields[1] = 2**64 - 1
        times = {name: getattr(found, name) for name in ("st_mtime_ns", "st_ctime_ns", "st_atime_ns")}
        return os.stat_result(fields, times)

    monkeypatch.setattr(os, "stat", stat_with_large_inode)
    for _ in range(2):
        run = _LimitRun(workspace)
    assert run.status("docs/foreign.md") == "read"
    assert run.code == 0
