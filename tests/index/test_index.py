"""Building an index and keeping it up to date: the same bits for the same files, however they came to be there."""

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

import inorder
from inorder.cli.commands.data.inspect import describe
from inorder.cli.data_dir import DataDirectory
from inorder.index.connection import open_index
from inorder.index.drafts.publishing import published_path
from inorder.index.stage import plan, sinks, stage
from inorder.index.step import derive_chunk_id
from inorder.index.verify import find_problems
from tests.index.project import Project
from tests.support.command_line import GUARD_S
from tests.support.python_path import prepend_path

pytestmark = pytest.mark.process

FILES = {
    "core/lamp.py": "import math\n\n\nclass Lamp:\n    def light(self):\n        return trim(1)\n\n\ndef trim(n): 1\n",
    "core/horn.js": "export function blast(seconds) {\n  return wait(seconds);\n}\n",
    "tide.go": "package tide\n\nfunc High(day int) int {\n\treturn day\n}\n",
    "notes.txt": "Nothing but words in here.\n",
    "broken.py": "def half(:\n    pass\n",
    "odd.unknown": "one\ntwo\nthree\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path)
    for name, text in FILES.items():
        project.write(name, text)
    return project


def build(project: Project, data: Path | None = None, **options: object) -> inorder.StageOutcome:
    """Run the stage in this process, with threads."""
    data = data or project.data
    open_index.cache_clear()
    known = {"data": data, "policy": "io", "workers": 2, "progress": "none", "telemetry": False, "fsync": "off"}
    assert stage.finish is not None
    finish = stage.finish
    outcome = inorder.run_stage(
        plan([project.source], data),
        stage.worker,
        inorder.StageOptions(**(known | options)),  # type: ignore[arg-type]
        sinks=sinks(data),
        finish=lambda: finish(data),
    )
    open_index.cache_clear()
    return outcome


def content_hash(data: Path) -> str:
    connection = sqlite3.connect(published_path(str(data)))
    try:
        assert list(find_problems(connection)) == []
        [(found,)] = connection.execute("SELECT value FROM meta WHERE name = 'content_hash'").fetchall()
    finally:
        connection.close()
    return str(found)


@pytest.mark.req("IDX-1", "IDX-2")
def test_every_file_is_in_the_index_or_listed_with_a_reason(project: Project) -> None:
    (project.source / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0")
    project.write("skipped/a.py", "x = 1\n")
    project.write(".gitignore", "skipped/\n")
    project.index()
    rows = project.rows()
    assert {name for name, row in rows.items() if row["status"] == "success"} == {f"src/{name}" for name in FILES}
    assert rows["src/picture.png"]["status"] == "skip"
    assert rows["src/picture.png"]["reason"]
    assert not [name for name in rows if "skipped" in name]
    assert project.call("verify").returncode == 0


@pytest.mark.req("IDX-4")
def test_files_without_a_grammar_and_with_errors_are_found_all_the_same(project: Project) -> None:
    project.index()
    for word, name in (("three", "odd.unknown"), ("half", "broken.py"), ("words", "notes.txt")):
        assert project.ask("search", word, "--mode", "lexical")["hits"][0]["item_id"] == f"src/{name}"


@pytest.mark.req("IDX-3")
def test_what_has_not_changed_is_not_done_again(project: Project) -> None:
    build(project)
    before = os.stat(published_path(str(project.data)))
    outcome = build(project)
    assert (outcome.succeeded, outcome.skipped) == (0, len(FILES))
    assert os.stat(published_path(str(project.data))) == before
    project.write("tide.go", "package tide\n")
    (project.source / "notes.txt").unlink()
    outcome = build(project)
    assert outcome.succeeded == 2


@pytest.mark.req("IDX-3")
def test_an_update_equals_a_build_from_scratch_after_any_edits(project: Project, tmp_path: Path) -> None:
    rng = random.Random(5)
    build(project)
    for step in range(200):
        for _ in range(rng.randint(1, 3)):
            edit(project, rng)
        build(project)
        if step % 10 == 9:
            fresh = tmp_path / f"fresh-{step}"
            build(project, fresh)
            assert content_hash(project.data) == content_hash(fresh), f"after step {step}"
            shutil.rmtree(fresh)


def edit(project: Project, rng: random.Random) -> None:
    """Add, change, rename or delete a file."""
    files = sorted(path for path in project.source.rglob("*") if path.is_file())
    kind = rng.choice(("add", "change", "rename", "delete")) if len(files) > 2 else "add"
    name = f"made/{rng.randrange(20)}.{rng.choice(('py', 'js', 'go', 'txt'))}"
    if kind == "add":
        project.write(
            name, "".join(f"def f{rng.randrange(9)}():\n    return g{rng.randrange(9)}()\n\n" for _ in range(5))
        )
        return
    path = rng.choice(files)
    if kind == "change":
        path.write_text(path.read_text() + f"// {rng.randrange(99)}\n")
    elif kind == "rename":
        target = project.source / name
        target.parent.mkdir(exist_ok=True)
        path.rename(target)
    else:
        path.unlink()


@pytest.mark.req("IDX-3")
@pytest.mark.parametrize(
    ("options", "hash_seed"),
    [
        (("--workers", "1"), "0"),
        (("--workers", "5", "--schedule", "sjf"), "1"),
        (("--workers", "2", "--max-queue", "1", "--policy", "io"), "random"),
    ],
)
def test_the_index_does_not_depend_on_how_it_was_made(project: Project, options: list[str], hash_seed: str) -> None:
    build(project, project.folder / "other")
    project.index(*options, PYTHONHASHSEED=hash_seed)
    assert content_hash(project.data) == content_hash(project.folder / "other")


@pytest.mark.req("IDX-2", "IDX-3", "JRN-7")
@pytest.mark.parametrize("kills", [1, 5])
def test_killed_again_and_again_it_is_the_same_index(project: Project, kills: int) -> None:
    """Each kill comes when the manifest has grown a little further. Until the end, readers see what was before."""
    for number in range(60):
        project.write(f"more/{number}.py", f"def f{number}():\n    return {number}\n" * 20)
    build(project, project.folder / "undisturbed")
    for number in range(kills):
        kill_after(project, 10 * (number + 1))
        assert not (project.data / "index.sqlite").exists()
    project.index()
    assert content_hash(project.data) == content_hash(project.folder / "undisturbed")
    assert len(project.rows()) == len(FILES) + 60
    assert not list(project.data.glob("index.draft*"))


def kill_after(project: Project, rows: int) -> None:
    manifest = project.data / "manifests" / "index.jsonl"
    command = [
        sys.executable,
        "-m",
        "inorder",
        "index",
        "src",
        "--data",
        str(project.data),
        "--quiet",
        "--max-queue",
        "2",
    ]
    process = subprocess.Popen(command, cwd=project.folder, stderr=subprocess.DEVNULL)
    while process.poll() is None and not (manifest.exists() and manifest.read_bytes().count(b"\n") >= rows):
        os.sched_yield()
    assert process.poll() is None, "it had ended before it was killed"
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=GUARD_S)


@pytest.mark.req("IDX-4", "CMP-3")
def test_a_grammar_that_kills_its_worker_costs_its_file_the_grammar_and_nothing_else(project: Project) -> None:
    (project.folder / "sitecustomize.py").write_text(
        "import os, sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'tree_sitter_go':\n"
        "            os._exit(9)\n"
        "sys.meta_path.insert(0, Finder())\n"
    )
    project.index("--workers", "1", PYTHONPATH=prepend_path(project.folder))
    row = project.rows()["src/tide.go"]
    assert row["status"] == "success"
    assert row["warnings"] == ["its grammar crashed or took too long: cut by lines"]
    assert {each["status"] for each in project.rows().values()} == {"success"}
    assert project.ask("search", "High day")["hits"][0]["item_id"] == "src/tide.go"


def test_two_at_once_on_the_same_data_is_said_in_one_line(project: Project) -> None:
    from inorder.host.lock import Lock

    (project.data / "locks").mkdir(parents=True)
    lock = Lock(str(project.data / "locks" / "index.lock"), "stage index")
    try:
        ended = project.call("index", "src")
    finally:
        lock.release()
    assert ended.returncode == 5
    assert len(ended.stderr.strip().splitlines()) == 1


def test_a_glance_says_what_is_in_the_index(project: Project) -> None:
    build(project)
    [found] = [each["contents"] for each in describe(DataDirectory(str(project.data)), "index")["stages"]]
    assert (found["documents"], found["files"], found["chunks"] >= len(FILES)) == (0, len(FILES), True)
    assert found["languages"] == {"python": 2, "javascript": 1, "go": 1, "text": 1, "other": 1}
    assert found["symbols"] >= 4


@pytest.mark.req("IDX-3")
@pytest.mark.parametrize("text", ["", "def lamp(): pass\n", "größe = '灯'\n" * 40])
def test_the_id_of_a_chunk_is_a_uuid_of_its_place_and_text(text: str) -> None:
    name = f"src/a.py\0{7}\0{text}"
    expected = uuid.uuid5(uuid.UUID("0f4c8d0e-3c57-5a4e-8a1f-5e9b6f0d2c11"), name)
    assert derive_chunk_id("src/a.py", 7, text) == str(expected)
