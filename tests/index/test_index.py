"""Building an index and keeping it up to date: the same bits for the same files, however they came to be there."""

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import inorder
from inorder.cli.commands.inspect_glance import described
from inorder.cli.data_dir import Dataset
from inorder.index.connection import opened
from inorder.index.draft import published
from inorder.index.stage import plan, sinks, stage
from inorder.index.verify import problems
from tests.index.desk import Desk

FILES = {
    "core/lamp.py": "import math\n\n\nclass Lamp:\n    def light(self):\n        return trim(1)\n\n\ndef trim(n): 1\n",
    "core/horn.js": "export function blast(seconds) {\n  return wait(seconds);\n}\n",
    "tide.go": "package tide\n\nfunc High(day int) int {\n\treturn day\n}\n",
    "notes.txt": "Nothing but words in here.\n",
    "broken.py": "def half(:\n    pass\n",
    "odd.unknown": "one\ntwo\nthree\n",
}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path)
    for name, text in FILES.items():
        desk.write(name, text)
    return desk


def build(desk: Desk, data: Path | None = None, **options: object) -> inorder.StageOutcome:
    """Run the stage in this process, with threads."""
    data = data or desk.data
    opened.cache_clear()
    known = {"data": data, "policy": "io", "workers": 2, "progress": "none", "telemetry": False, "fsync": "off"}
    assert stage.finish is not None
    finish = stage.finish
    outcome = inorder.run_stage(
        plan([desk.source], data),
        stage.worker,
        inorder.StageOptions(**(known | options)),  # type: ignore[arg-type]
        sinks=sinks(data),
        finish=lambda: finish(data),
    )
    opened.cache_clear()
    return outcome


def content_hash(data: Path) -> str:
    connection = sqlite3.connect(published(str(data)))
    try:
        assert list(problems(connection)) == []
        [(found,)] = connection.execute("SELECT value FROM meta WHERE name = 'content_hash'").fetchall()
    finally:
        connection.close()
    return str(found)


@pytest.mark.req("IDX-1", "IDX-2")
def test_every_file_is_in_the_index_or_listed_with_a_reason(desk: Desk) -> None:
    (desk.source / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0")
    desk.write("skipped/a.py", "x = 1\n")
    desk.write(".gitignore", "skipped/\n")
    desk.index()
    rows = desk.rows()
    assert {name for name, row in rows.items() if row["status"] == "success"} == {f"src/{name}" for name in FILES}
    assert rows["src/picture.png"]["status"] == "skip"
    assert rows["src/picture.png"]["reason"]
    assert not [name for name in rows if "skipped" in name]
    assert desk.call("verify").returncode == 0


@pytest.mark.req("IDX-4")
def test_files_without_a_grammar_and_with_errors_are_found_all_the_same(desk: Desk) -> None:
    desk.index()
    for word, name in (("three", "odd.unknown"), ("half", "broken.py"), ("words", "notes.txt")):
        assert desk.ask("search", word, "--mode", "lexical")["hits"][0]["item_id"] == f"src/{name}"


@pytest.mark.req("IDX-3")
def test_what_has_not_changed_is_not_done_again(desk: Desk) -> None:
    build(desk)
    before = os.stat(published(str(desk.data)))
    outcome = build(desk)
    assert (outcome.succeeded, outcome.skipped) == (0, len(FILES))
    assert os.stat(published(str(desk.data))) == before
    desk.write("tide.go", "package tide\n")
    (desk.source / "notes.txt").unlink()
    outcome = build(desk)
    assert outcome.succeeded == 2


@pytest.mark.req("IDX-3")
def test_an_update_equals_a_build_from_scratch_after_any_edits(desk: Desk, tmp_path: Path) -> None:
    rng = random.Random(5)
    build(desk)
    for step in range(200):
        for _ in range(rng.randint(1, 3)):
            edit(desk, rng)
        build(desk)
        if step % 10 == 9:
            fresh = tmp_path / f"fresh-{step}"
            build(desk, fresh)
            assert content_hash(desk.data) == content_hash(fresh), f"after step {step}"
            shutil.rmtree(fresh)


def edit(desk: Desk, rng: random.Random) -> None:
    """Add, change, rename or delete a file."""
    files = sorted(path for path in desk.source.rglob("*") if path.is_file())
    kind = rng.choice(("add", "change", "rename", "delete")) if len(files) > 2 else "add"
    name = f"made/{rng.randrange(20)}.{rng.choice(('py', 'js', 'go', 'txt'))}"
    if kind == "add":
        desk.write(name, "".join(f"def f{rng.randrange(9)}():\n    return g{rng.randrange(9)}()\n\n" for _ in range(5)))
        return
    path = rng.choice(files)
    if kind == "change":
        path.write_text(path.read_text() + f"// {rng.randrange(99)}\n")
    elif kind == "rename":
        target = desk.source / name
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
def test_the_index_does_not_depend_on_how_it_was_made(desk: Desk, options: list[str], hash_seed: str) -> None:
    build(desk, desk.folder / "other")
    desk.index(*options, PYTHONHASHSEED=hash_seed)
    assert content_hash(desk.data) == content_hash(desk.folder / "other")


@pytest.mark.req("IDX-2", "IDX-3", "JRN-7")
@pytest.mark.parametrize("kills", [1, 5])
def test_killed_again_and_again_it_is_the_same_index(desk: Desk, kills: int) -> None:
    """Each kill comes when the manifest has grown a little further. Until the end, readers see what was before."""
    for number in range(60):
        desk.write(f"more/{number}.py", f"def f{number}():\n    return {number}\n" * 20)
    build(desk, desk.folder / "undisturbed")
    for number in range(kills):
        killed(desk, 10 * (number + 1))
        assert not (desk.data / "index.sqlite").exists()
    desk.index()
    assert content_hash(desk.data) == content_hash(desk.folder / "undisturbed")
    assert len(desk.rows()) == len(FILES) + 60
    assert not list(desk.data.glob("index.draft*"))


def killed(desk: Desk, rows: int) -> None:
    manifest = desk.data / "manifests" / "index.jsonl"
    command = [sys.executable, "-m", "inorder", "index", "src", "--data", str(desk.data), "--quiet", "--max-queue", "2"]
    process = subprocess.Popen(command, cwd=desk.folder, stderr=subprocess.DEVNULL)
    while process.poll() is None and not (manifest.exists() and manifest.read_bytes().count(b"\n") >= rows):
        os.sched_yield()
    assert process.poll() is None, "it had ended before it was killed"
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=60)


@pytest.mark.req("IDX-4", "CMP-3")
def test_a_grammar_that_kills_its_worker_costs_its_file_the_grammar_and_nothing_else(desk: Desk) -> None:
    (desk.folder / "sitecustomize.py").write_text(
        "import os, sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'tree_sitter_go':\n"
        "            os._exit(9)\n"
        "sys.meta_path.insert(0, Finder())\n"
    )
    desk.index("--workers", "1", PYTHONPATH=str(desk.folder))
    row = desk.rows()["src/tide.go"]
    assert row["status"] == "success"
    assert row["warnings"] == ["its grammar crashed or took too long: cut by lines"]
    assert {each["status"] for each in desk.rows().values()} == {"success"}
    assert desk.ask("search", "High day")["hits"][0]["item_id"] == "src/tide.go"


def test_two_at_once_on_the_same_data_is_said_in_one_line(desk: Desk) -> None:
    from inorder.host.lock import Lock

    (desk.data / "locks").mkdir(parents=True)
    lock = Lock(str(desk.data / "locks" / "index.lock"), "stage index")
    try:
        ended = desk.call("index", "src")
    finally:
        lock.release()
    assert ended.returncode == 5
    assert len(ended.stderr.strip().splitlines()) == 1


def test_a_glance_says_what_is_in_the_index(desk: Desk) -> None:
    build(desk)
    [found] = [each["contents"] for each in described(Dataset(str(desk.data)), "index")["stages"]]
    assert (found["documents"], found["files"], found["chunks"] >= len(FILES)) == (0, len(FILES), True)
    assert found["languages"] == {"python": 2, "javascript": 1, "go": 1, "text": 1, "other": 1}
    assert found["symbols"] >= 4
