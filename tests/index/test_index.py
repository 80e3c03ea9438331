"""Building an index and keeping it up to date: the same bits for the same files, however they came to be there."""

import json
import random
import shutil
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from inorder.index.step import derive_chunk_id
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


@pytest.mark.req("IDX-1", "IDX-2")
def test_every_file_is_in_the_index_or_listed_with_a_reason(project: Project) -> None:
    (project.source / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0")
    project.write("skipped/a.py", "x = 1\n")
    project.write(".gitignore", "skipped/\n")
    outcome = project.index()
    rows = project.rows()
    assert {name for name, row in rows.items() if row["status"] == "success"} == {f"src/{name}" for name in FILES}
    [reason] = [reason for reason, types in outcome["not_read"].items() if ".png" in types]
    assert reason
    assert not [name for name in rows if "skipped" in name]
    assert project.content_hash()


@pytest.mark.req("IDX-4")
def test_files_without_a_grammar_and_with_errors_are_found_all_the_same(project: Project) -> None:
    project.index()
    for word, name in (("three", "odd.unknown"), ("half", "broken.py"), ("words", "notes.txt")):
        assert project.ask("search", word, "--mode", "lexical")["hits"][0]["item_id"] == f"src/{name}"


@pytest.mark.req("IDX-3")
def test_what_has_not_changed_is_not_done_again(project: Project) -> None:
    project.build()
    before = project.content_hash()
    outcome = project.build()
    assert (outcome.counts.unchanged, outcome.steps) == (len(FILES), {})
    assert (outcome.generation, project.content_hash()) == (1, before)
    project.write("tide.go", "package tide\n")
    (project.source / "notes.txt").unlink()
    outcome = project.build()
    assert (outcome.counts.changed, outcome.counts.removed) == (1, 1)
    assert outcome.steps["index"].files == 1


@pytest.mark.req("IDX-3")
def test_an_update_equals_a_build_from_scratch_after_any_edits(project: Project, tmp_path: Path) -> None:
    rng = random.Random(5)
    project.build()
    for step in range(100):
        for _ in range(rng.randint(1, 7)):
            edit(project, rng)
        project.build()
        if step % 5 == 4:
            fresh = tmp_path / f"fresh-{step}"
            project.build(fresh)
            assert project.content_hash() == project.content_hash(fresh), f"after step {step}"
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
        (("--workers", "5", "--set", "schedule=sjf"), "1"),
        (("--workers", "2", "--set", "max_queue=1", "--policy", "io"), "random"),
    ],
)
def test_the_index_does_not_depend_on_how_it_was_made(project: Project, options: list[str], hash_seed: str) -> None:
    project.build(project.folder / "other")
    project.index("--dense", "hash:16", *options, PYTHONHASHSEED=hash_seed)
    assert project.content_hash() == project.content_hash(project.folder / "other")


@pytest.mark.req("IDX-2", "IDX-3", "JRN-7")
@pytest.mark.parametrize("kills", [1, 5])
def test_killed_again_and_again_it_is_the_same_index(project: Project, kills: int) -> None:
    """Each kill comes when the manifest has grown a little further."""
    for number in range(60):
        project.write(f"more/{number}.py", f"def f{number}():\n    return {number}\n" * 20)
    project.build(project.folder / "undisturbed")
    for number in range(kills):
        kill_after(project, 10 * (number + 1))
    project.index("--dense", "hash:16")
    assert project.content_hash() == project.content_hash(project.folder / "undisturbed")
    lines = (project.data / "manifests/index.jsonl").read_text().splitlines()
    names = [row["doc_id"] for row in map(json.loads, lines) if row["status"] == "success"]
    assert len(names) == len(set(names)) == len(FILES) + 60


KILLED_AT_ROWS = """
import os, signal, sys
from inorder.cli.app import run_program
from inorder.sinks.manifest import ManifestSink
rows, manifest = int(sys.argv.pop(1)), sys.argv.pop(1)
apply = ManifestSink.apply

def apply_and_die(self, entries):
    position = apply(self, entries)
    if os.path.exists(manifest) and open(manifest, "rb").read().count(b"\\n") >= rows:
        os.kill(os.getpid(), signal.SIGKILL)
    return position

ManifestSink.apply = apply_and_die
run_program()
"""


def kill_after(project: Project, rows: int) -> None:
    """Run, in a process that kills itself when the manifest has so many rows."""
    manifest = str(project.data / "manifests" / "index.jsonl")
    command = ["run", "src", "--dense", "hash:16", "--data", str(project.data), "--quiet", "--set", "max_queue=2"]
    program = [sys.executable, "-c", KILLED_AT_ROWS, str(rows), manifest, *command]
    ended = subprocess.run(program, cwd=project.folder, stderr=subprocess.PIPE, timeout=GUARD_S, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr


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


def test_a_worker_that_ends_leaves_a_file_without_a_grammar_as_it_is(project: Project) -> None:
    shutil.rmtree(project.folder / "src")
    (project.folder / "src").mkdir()
    (project.folder / "src" / "tide.xyz").write_text("High water at noon\n")
    (project.folder / "sitecustomize.py").write_text(
        "import os\n"
        "def end(path, *rest, open=os.open, **options):\n"
        "    opened = open(path, *rest, **options)\n"
        "    if '/parsing-' in str(path):\n"
        "        os._exit(9)\n"
        "    return opened\n"
        "os.open = end\n"
    )
    project.index("--workers", "1", PYTHONPATH=prepend_path(project.folder))
    assert project.rows()["src/tide.xyz"]["warnings"] == []


def test_two_at_once_on_the_same_data_is_said_in_one_line(project: Project) -> None:
    from inorder.host.lock import Lock

    (project.data / "locks").mkdir(parents=True)
    lock = Lock(str(project.data / "locks" / "run.lock"), "run")
    try:
        ended = project.call("run", "src")
    finally:
        lock.release()
    assert ended.returncode == 5
    assert len(ended.stderr.strip().splitlines()) == 1


def test_a_glance_says_what_is_in_the_index(project: Project) -> None:
    project.build()
    [found] = [each["contents"] for each in project.ask("inspect", "--stage", "index")["library"]["steps"]]
    assert (found["documents"], found["files"], found["chunks"] >= len(FILES)) == (1, len(FILES) - 1, True)
    assert found["languages"] == {"python": 2, "javascript": 1, "go": 1, "other": 1}
    assert found["symbols"] >= 4


@pytest.mark.req("IDX-3")
@pytest.mark.parametrize("text", ["", "def lamp(): pass\n", "größe = '灯'\n" * 40])
def test_the_id_of_a_chunk_is_a_uuid_of_its_place_and_text(text: str) -> None:
    name = f"src/a.py\0{7}\0{text}"
    expected = uuid.uuid5(uuid.UUID("0f4c8d0e-3c57-5a4e-8a1f-5e9b6f0d2c11"), name)
    assert derive_chunk_id("src/a.py", 7, text) == str(expected)
