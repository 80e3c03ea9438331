"""Publishing an index: killed at any step it repeats nothing; a lost file of vectors is noticed and written again."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import inorder
from inorder.documents.embed import stored
from inorder.index.connection import open_index
from inorder.index.drafts.draft import IndexSink
from inorder.index.stage import plan, sinks, stage
from inorder.index.vectors.update import FILES_MAX
from tests.index.documents import add_document
from tests.index.project import Project
from tests.index.published import list_names, read_whole_index
from tests.index.test_draft import begun, built, success
from tests.support.command_line import GUARD_S
from tests.support.python_path import prepend_path
from tests.support.sqlite_calls import SqliteCalls
from tests.support.system_calls import SystemCalls

FILES = {"lamp.py": "def light():\n    return wick()\n", "tide.txt": "High water at noon.\n", "horn.py": "x = 1\n"}
DOCUMENTS = {"docs/a": ("the keeper of the lamp", "oil and wick"), "docs/b": ("fog and horn",)}
COUNT = len(FILES) + len(DOCUMENTS)
LONG = tuple(f"{number} tides" for number in range(24))
"""The chunks of a document, beside which those of others are few."""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path)
    for name, text in FILES.items():
        project.write(name, text)
    for name, texts in DOCUMENTS.items():
        add_document(project.data, name, *texts)
    return project


def build(
    project: Project, data: Path, finish: Callable[[Path], None] | None = stage.finish, **options: Any
) -> inorder.StageOutcome:
    """Run the stage in this process."""
    assert finish is not None
    publish = finish
    open_index.cache_clear()
    outcome = inorder.run_stage(
        plan([project.source], data),
        stage.worker,
        inorder.StageOptions(data=data, policy="io", workers=1, progress="none", telemetry=False, **options),
        sinks=sinks(data),
        finish=lambda: publish(data),
    )
    open_index.cache_clear()
    return outcome


def count_files(project: Project) -> int:
    """How many files with vectors there are."""
    return len(list(project.data.glob("index.vectors.*")))


def made(data: Path) -> list[str]:
    """Every item that was ever processed, once for each time."""
    rows = map(json.loads, (data / "manifests" / "index.jsonl").read_text(encoding="utf-8").splitlines())
    return sorted(row["doc_id"] for row in rows if row["status"] == "success")


class Snapshots:
    """Copies of DATA, which are what a SIGKILL at that moment leaves."""

    def __init__(self, data: Path, folder: Path) -> None:
        self._data = data
        self._folder = folder
        self.taken: dict[str, Path] = {}

    def take(self, moment: str) -> None:
        number = len(self.taken)
        self.taken[f"{number}: {moment}"] = Path(
            shutil.copytree(self._data, self._folder / str(number), ignore=shutil.ignore_patterns("*.lock"))
        )


def take_snapshots(project: Project, snapshots: Snapshots, monkeypatch: pytest.MonkeyPatch) -> None:
    """Build the index, and copy DATA before every step from the last entry on: system calls and SQL statements."""

    class Connection(sqlite3.Connection):
        def execute(self, sql: str, *arguments: Any) -> sqlite3.Cursor:  # type: ignore[override]
            snapshots.take(sql)
            return super().execute(sql, *arguments)

    complete = IndexSink.complete

    def completing(sink: IndexSink) -> None:
        snapshots.take("the last entry is applied")
        complete(sink)
        snapshots.take("the draft is complete")

    def finishing(data: Path) -> None:
        snapshots.take("the journal has ended")
        calls.before = lambda operation: snapshots.take(" ".join(operation))
        connect = sqlite3.connect
        assert stage.finish is not None
        with monkeypatch.context() as inner:
            inner.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **{"factory": Connection, **k}))
            stage.finish(data)
        calls.before = lambda operation: None
        snapshots.take("everything is published")

    with monkeypatch.context() as patch:
        patch.setattr(IndexSink, "complete", completing)
        calls = SystemCalls(patch, project.data)
        build(project, project.data, finishing)


@pytest.mark.slow
@pytest.mark.req("IDX-2", "IDX-3", "JRN-7")
@pytest.mark.parametrize("kind", ["first", "rewritten", "added", "merged"])
def test_killed_at_any_step_of_publishing_the_next_run_repeats_nothing(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """The vectors of an update are written with all others, or alone, or with those of the updates before."""
    count = COUNT
    if kind in ("added", "merged"):
        add_document(project.data, "docs/long", *LONG)
        count += 1
    if kind != "first":
        build(project, project.data)
        for number in range(FILES_MAX if kind == "merged" else 0):
            add_document(project.data, "docs/b", f"fog {number}")
            add_document(project.data, f"docs/c{number}", f"horn {number}")
            build(project, project.data)
            count += 2
        assert count_files(project) == (1 + FILES_MAX if kind == "merged" else 1)
        project.write("lamp.py", "def dark():\n    return 0\n")
        add_document(project.data, "docs/b", "neither fog nor horn")
        count += 2
    snapshots = Snapshots(project.data, tmp_path / "killed")
    take_snapshots(project, snapshots, monkeypatch)
    wanted, processed = read_whole_index(project.data), made(project.data)
    assert len(processed) == count
    assert count_files(project) == {"first": 1, "rewritten": 1, "added": 2, "merged": 2}[kind]
    assert len(snapshots.taken) > 25
    for moment, data in snapshots.taken.items():
        build(project, data)
        assert made(data) == processed, moment
        assert read_whole_index(data) == wanted, moment


@pytest.mark.req("IDX-2", "JRN-7")
def test_killed_between_the_end_of_the_journal_and_publishing_the_next_run_repeats_nothing(project: Project) -> None:
    class KilledError(Exception):
        """The process is gone."""

    def die(data: Path) -> None:
        raise KilledError

    with pytest.raises(KilledError):
        build(project, project.data, die)
    assert not (project.data / "index.sqlite").exists()
    assert build(project, project.data).succeeded == 0
    assert len(made(project.data)) == COUNT
    assert read_whole_index(project.data)


def test_a_complete_draft_that_is_locked_is_kept_and_a_damaged_one_is_made_again(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(data: Path) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(project, project.data, die)
    draft = project.data / "index.draft.sqlite"
    connect = sqlite3.connect
    reader = connect(draft)
    reader.execute("BEGIN IMMEDIATE")
    with monkeypatch.context() as patch:
        patch.setattr(
            sqlite3, "connect", lambda *arguments, **options: connect(*arguments, **(options | {"timeout": 0}))
        )
        with pytest.raises(inorder.BusyError, match="another program has locked it"):
            build(project, project.data)
    reader.close()
    assert draft.exists()
    with draft.open("r+b") as file:
        file.seek(4096)
        file.write(b"damage" * 4096)
    assert build(project, project.data).succeeded == COUNT
    assert read_whole_index(project.data)


@pytest.mark.req("IDX-3")
def test_everything_is_durable_before_it_is_published_and_what_is_old_is_removed_after_it(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = SystemCalls(monkeypatch, project.data)
    SqliteCalls(calls, monkeypatch)
    build(project, project.data)
    [old] = project.data.glob("index.vectors.*")
    matrix = ("sync", "index.vectors.new"), ("rename", old.name), ("sync", "index.draft.sqlite-wal")
    assert _find_order(calls.log, *matrix, ("sync", "index.draft.sqlite"), ("rename", "index.sqlite"))
    assert calls.log[calls.log.index(("rename", "index.sqlite")) - 1] == ("sync", "index.draft.sqlite")
    for name in (old.name, "index.sqlite"):
        assert calls.log[calls.log.index(("rename", name)) + 1] == ("sync_directory", ".")
    add_document(project.data, "docs/b", "neither fog nor horn")
    calls.log.clear()
    build(project, project.data)
    monkeypatch.undo()
    [new] = project.data.glob("index.vectors.*")
    matrix = ("sync", "index.vectors.new"), ("rename", new.name), ("sync", "index.sqlite-wal")
    removed = ("unlink", "index.draft.sqlite"), ("sync_directory", "."), ("unlink", old.name)
    assert _find_order(calls.log, *matrix, ("sync", "index.sqlite"), *removed)
    assert calls.log[calls.log.index(("rename", new.name)) + 1] == ("sync_directory", ".")


@pytest.mark.req("IDX-3")
def test_a_further_file_of_vectors_is_durable_before_the_database_names_it_and_removed_after_it_does_not(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_document(project.data, "docs/long", *LONG)
    build(project, project.data)
    [first] = project.data.glob("index.vectors.*")
    names = []
    calls = SystemCalls(monkeypatch, project.data)
    SqliteCalls(calls, monkeypatch)
    for text in ("fog", "horn"):  # the second one leaves no row of the first one alive
        add_document(project.data, "docs/b", text)
        calls.log.clear()
        build(project, project.data)
        [new] = set(project.data.glob("index.vectors.*")) - {first}
        names.append(new.name)
        matrix = ("sync", "index.vectors.new"), ("rename", new.name), ("sync", "index.sqlite-wal")
        assert _find_order(calls.log, *matrix, ("sync", "index.sqlite"), ("unlink", "index.draft.sqlite"))
        assert calls.log[calls.log.index(("rename", new.name)) + 1] == ("sync_directory", ".")
    removed = ("unlink", "index.draft.sqlite"), ("sync_directory", "."), ("unlink", names[0])
    assert _find_order(calls.log, ("sync", "index.sqlite"), *removed)
    assert ("unlink", first.name) not in calls.log


def _find_order(log: Sequence[tuple[str, str]], *wanted: tuple[str, str]) -> bool:
    """Whether the calls were made in this order, with others between them."""
    calls = iter(log)
    return all(call in calls for call in wanted)


def test_the_log_of_an_old_draft_is_gone_for_good_before_a_new_draft_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite would apply the log to the new draft."""
    data = tmp_path / "data"
    data.mkdir()
    built(data, [success(0, "a")])
    sink = begun(data, [success(0, "b")])
    killed = {path: path.read_bytes() for path in data.glob("index.draft.sqlite*")}
    sink.close()
    for path, found in killed.items():
        path.write_bytes(found)
    assert {path.name for path in killed} >= {"index.draft.sqlite", "index.draft.sqlite-wal"}
    calls = SystemCalls(monkeypatch, data)
    SqliteCalls(calls, monkeypatch)
    again = begun(data, [success(0, "c")])
    placed = calls.log.index(("create", "index.draft.sqlite"))
    for path in killed:
        removed = calls.log.index(("unlink", path.name))
        assert ("sync_directory", ".") in calls.log[removed:placed]
    again.close()


@pytest.mark.process
@pytest.mark.req("IDX-2", "JRN-7")
@pytest.mark.parametrize("moment", ["before", "after"])
def test_killed_at_the_rename_the_command_repeats_nothing(project: Project, moment: str) -> None:
    (project.folder / "sitecustomize.py").write_text(
        "import os, signal\n"
        "replace = os.replace\n"
        "def killing(old, new):\n"
        "    if str(new).endswith('/index.sqlite'):\n"
        f"        if {moment == 'after'}: replace(old, new)\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    replace(old, new)\n"
        "os.replace = killing\n"
    )
    command = [sys.executable, "-m", "inorder", "index", "src", "--data", str(project.data), "--quiet"]
    environment = {**os.environ, "PYTHONPATH": prepend_path(project.folder)}
    killed = subprocess.run(command, cwd=project.folder, env=environment, check=False, timeout=GUARD_S)
    assert killed.returncode == -9
    assert (project.data / "index.sqlite").exists() == (moment == "after")
    processed = made(project.data)
    assert len(processed) == COUNT
    problems = [] if moment == "after" else [("unfinished", "index.draft.sqlite")]
    assert [(problem["kind"], problem["path"]) for problem in index_problems(project)] == problems
    assert project.index()["succeeded"] == 0
    assert made(project.data) == processed
    assert read_whole_index(project.data)
    assert index_problems(project) == []


def test_a_draft_of_a_run_that_was_stopped_by_its_error_budget_is_not_published(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = stage.worker

    def fail(item: inorder.WorkItem, context: inorder.StageContext) -> object:
        if item.item_id == "src/lamp.py":
            raise ValueError("broken")
        return work(item, context)

    monkeypatch.setattr("tests.index.test_publishing.stage", inorder.Stage(**{**vars_of(stage), "worker": fail}))
    outcome = build(project, project.data, error_budget=0)
    assert (outcome.stop_kind, outcome.succeeded) == ("error budget", 3)
    monkeypatch.undo()
    outcome = build(project, project.data)
    assert outcome.stop_kind is None
    assert outcome.skipped == 0
    assert read_whole_index(project.data)


def vars_of(made_of: inorder.Stage) -> dict[str, Any]:
    return {name: getattr(made_of, name) for name in ("name", "plan", "worker", "sinks", "finish", "options")}


# ---- the file of vectors

LOSSES: dict[str, Callable[[Path], object]] = {
    "missing": Path.unlink,
    "cut": lambda path: os.truncate(path, 100),
}


def index_problems(project: Project) -> list[dict[str, Any]]:
    """What `inorder verify` says of the index. Chunks and vectors were written without a manifest here."""
    answer = json.loads(project.call("verify", "--json").stdout)
    return [problem for problem in answer["problems"] if problem["kind"] != "orphaned"]


def lose(project: Project, loss: str, at: int = 0) -> Path:
    """Lose one of the files."""
    matrix = find_file(project, at)
    LOSSES[loss](matrix)
    return matrix


def find_file(project: Project, at: int) -> Path:
    """The first file with vectors, or a further one."""
    with closing(sqlite3.connect(project.data / "index.sqlite")) as connection:
        return project.data / list_names(connection)[at]


def build_two_files(project: Project) -> None:
    """Build an index whose vectors are in two files. The second one has the vector of `docs/b`."""
    add_document(project.data, "docs/long", *LONG)
    build(project, project.data)
    add_document(project.data, "docs/b", "lamp and horn")
    build(project, project.data)
    assert count_files(project) == 2


@pytest.mark.req("IDX-5")
@pytest.mark.parametrize("at", [0, 1])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_lost_file_of_vectors_is_found_by_verify_and_said_by_search_and_written_again(
    project: Project, loss: str, at: int
) -> None:
    build_two_files(project)
    before = read_whole_index(project.data)
    assert index_problems(project) == []
    matrix = lose(project, loss, at)
    [problem] = index_problems(project)
    assert problem["path"] == matrix.name
    assert problem["kind"] == {"missing": "missing", "cut": "altered"}[loss]
    assert "run `inorder index`" in problem["message"]
    hybrid = project.call("search", "lamp")
    assert hybrid.returncode == 0
    assert f"warning: hybrid search uses words only: {matrix}" in hybrid.stderr
    dense = project.call("search", "lamp", "--mode", "dense")
    assert dense.returncode == 6
    assert str(matrix) in dense.stderr
    assert "uses words only" not in project.call("search", "lamp", "--mode", "lexical").stderr
    outcome = build(project, project.data)
    assert (outcome.succeeded, outcome.skipped) == (0, COUNT + 1)
    assert read_whole_index(project.data) == before
    assert "uses words only" not in project.call("search", "lamp").stderr
    assert project.ask("search", "lamp", "--mode", "dense")["hits"]


@pytest.mark.process
@pytest.mark.req("IDX-5")
def test_the_command_writes_a_lost_file_of_vectors_again(project: Project) -> None:
    shutil.rmtree(project.data)
    project.write("notes.md", "# Notes\n\nThe keeper lights the lamp at dusk.\n")
    assert project.call("run", "src", "--quiet").returncode == 0
    assert project.call("verify").returncode == 0
    lose(project, "missing")
    assert project.call("verify").returncode == 6
    assert project.call("run", "src", "--quiet").returncode == 0
    assert read_whole_index(project.data)
    assert project.call("verify").returncode == 0


@pytest.mark.req("IDX-3")
def test_vectors_of_documents_that_have_not_changed_are_copied(
    project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    build(project, project.data)
    read: list[str] = []
    load = stored.load_dense_tables

    def load_and_note(sources: Any) -> Any:
        read.extend(Path(str(source)).name for source in sources)
        return load(sources)

    monkeypatch.setattr(stored, "load_dense_tables", load_and_note)
    [first] = project.data.glob("index.vectors.*")
    project.write("lamp.py", "def dark():\n    return None\n")
    build(project, project.data)
    assert read == []
    assert list(project.data.glob("index.vectors.*")) == [first]
    add_document(project.data, "docs/b", "neither fog nor horn", "but a bell")
    add_document(project.data, "docs/aa", "a tide table")
    build(project, project.data)
    assert read == ["aa", "b"]
    assert read_whole_index(project.data) == read_whole_index(build_again(project, tmp_path / "again"))


def build_again(project: Project, data: Path) -> Path:
    """Build an index of the same chunks and vectors elsewhere."""
    shutil.copytree(project.data, data, ignore=shutil.ignore_patterns("index.*", "journal", "manifests"))
    build(project, data)
    return data


@pytest.mark.req("IDX-3")
def test_altered_vectors_are_not_copied(project: Project, tmp_path: Path) -> None:
    build(project, project.data)
    [matrix] = project.data.glob("index.vectors.*")
    alter(matrix)
    add_document(project.data, "docs/c", "a bell")
    build(project, project.data)
    assert read_whole_index(project.data) == read_whole_index(build_again(project, tmp_path / "again"))


def alter(matrix: Path) -> None:
    data = bytearray(matrix.read_bytes())
    data[5] ^= 1
    matrix.write_bytes(data)


@pytest.mark.parametrize("at", [0, 1])
def test_altered_vectors_are_found_by_verify(project: Project, at: int) -> None:
    build_two_files(project)
    before = read_whole_index(project.data)
    matrix = find_file(project, at)
    alter(matrix)
    [problem] = index_problems(project)
    assert (problem["kind"], problem["path"]) == ("altered", matrix.name)
    assert "remove the file and run `inorder index`" in problem["message"]
    matrix.unlink()
    build(project, project.data)
    assert read_whole_index(project.data) == before
    assert index_problems(project) == []


def test_an_index_without_vectors_is_nothing_to_warn_of(project: Project) -> None:
    shutil.rmtree(project.data)
    build(project, project.data)
    assert project.call("verify").returncode == 0
    assert project.call("search", "lamp").stderr == ""
    assert project.call("search", "lamp", "--mode", "dense").stderr == ""
