"""Asking an index of the bundled sample, documents and code."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from inorder.library import connection as library_connection
from inorder.library.connection import connect_library
from inorder.library.schema import APPLICATION_ID
from tests.index.project import Project
from tests.library.libraries import write
from tests.library.making import make_document
from tests.support.command_line import GUARD_S

pytestmark = pytest.mark.process

REPOSITORY = Path(__file__).parents[2]
SAMPLE = REPOSITORY / "examples" / "sample"
QUESTIONS = [json.loads(line) for line in (REPOSITORY / "examples" / "questions.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project(tmp_path_factory.mktemp("sample"))
    ended = project.call("run", str(SAMPLE), "--quiet")
    assert ended.returncode == 3, ended.stderr
    return project


def mean_reciprocal_rank(project: Project, mode: str) -> float:
    """Of the file that is expected, over all questions."""
    from inorder.index.search import SearchOptions, search
    from inorder.library.opening import find_index

    total = 0.0
    for asked in QUESTIONS:
        hits = search(find_index(str(project.data)), asked["question"], SearchOptions(mode=mode, count=50)).hits
        files = list(dict.fromkeys(hit.item_id for hit in hits))
        total += 1 / (files.index(asked["path"]) + 1) if asked["path"] in files else 0.0
    return total / len(QUESTIONS)


@pytest.mark.req("IDX-5", "SEA-2")
def test_both_together_answer_at_least_as_well_as_words_alone(project: Project) -> None:
    assert len(QUESTIONS) == 40
    found = {mode: mean_reciprocal_rank(project, mode) for mode in ("lexical", "dense", "hybrid", "auto")}
    print(f"mean reciprocal rank: {found}")
    assert found["hybrid"] >= found["lexical"] > 0.9
    assert found["auto"] >= max(found.values()) - 0.005


@pytest.mark.req("IDX-5")
def test_documents_and_code_are_found_alike(project: Project) -> None:
    found = project.ask("search", "fog horn blast seconds", "-k", "20")
    assert {hit["only"] for hit in found["hits"]} == {"code", "document"}
    [code, *_] = project.ask("search", "fog horn blast", "--only", "code", "--language", "c")["hits"]
    assert code["item_id"] == "sample/code/foghorn.c"
    assert code["start"] >= 1
    [document, *_] = project.ask("search", "fog", "--only", "document", "--path", "sample/web/*")["hits"]
    assert document["item_id"] == "sample/web/fog-signals.html"
    assert document["context"].startswith("How the fog signals work")


@pytest.mark.parametrize("mode", ["lexical", "dense", "hybrid"])
def test_every_mode_gives_the_same_answer_each_time_with_its_reasons(project: Project, mode: str) -> None:
    first, second = (project.ask("search", "who winds the clockwork", "--mode", mode) for _ in range(2))
    assert first == second
    assert len(first["hits"]) >= 5
    lists = {"lexical": {"lexical"}, "dense": {"dense"}, "hybrid": {"lexical", "dense"}}[mode]
    assert set().union(*(hit["ranks"] for hit in first["hits"])) == lists
    for hit in first["hits"]:
        assert hit["score"] == pytest.approx(sum(hit["shares"].values()), abs=1e-5)


def test_people_see_where_it_is_and_the_lines_that_say_it(project: Project) -> None:
    ended = project.call("search", "which function plans the rota", "--explain", "-k", "1", "--only", "code")
    assert ended.returncode == 0
    mode, first, score, reasons, *lines = ended.stdout.splitlines()
    assert mode == (
        "searched by words and vectors: the index has vectors, made by static; language of the question: en"
    )
    path, _, line = first.split()[0].rpartition(":")
    assert path.endswith("sample/code/rota.py")
    assert score.startswith("    score ")
    assert "words 1.000 (rank 1)" in score
    assert "path has rota" in reasons
    shown = (SAMPLE / "code" / "rota.py").read_text().splitlines()
    numbers = [int(text.split()[0]) for text in lines]
    assert numbers == list(range(numbers[0], numbers[0] + 3))
    assert int(line) in numbers
    for text in lines:
        number, _, said = text.strip().partition(" ")
        assert said.strip() == shown[int(number) - 1].strip()
    assert "\x1b" not in ended.stdout


@pytest.mark.req("IDX-5")
def test_names_are_looked_up_exactly(project: Project) -> None:
    symbols = project.ask("symbols", "code/rota.py")["symbols"]
    assert symbols
    name = symbols[0]["name"]
    [place, *_] = project.ask("search", f"def:{name}")["places"]
    assert place["item_id"] == "sample/code/rota.py"
    assert project.ask("search", f"sym:{name[:4].upper()}")["places"]
    with closing(connect_library(str(project.data))) as connection:
        [called] = connection.execute("SELECT name FROM callees LIMIT 1").fetchone()
    assert all(each["name"] == called for each in project.ask("search", f"ref:{called}")["places"])
    graph = project.ask("graph", called)
    assert graph["callers"]


def test_a_typing_mistake_gets_a_suggestion(project: Project) -> None:
    ended = project.call("search", "barometr", "--mode", "lexical")
    assert (ended.returncode, "baromet" in ended.stdout) == (0, True)
    assert "did you mean: baromet" in ended.stderr
    ended = project.call("search", "zzzqqqxx", "--mode", "lexical")
    assert (ended.returncode, ended.stdout) == (3, "")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("search", ""), "the query contains no word to search for"),
        (("search", "sym:"), "sym: needs a name to look for"),
        (("search", "lamp", "--mode", "magic"), "--mode must be one of auto, hybrid, lexical, dense"),
        (("search", "lamp", "--only", "prose"), "--only must be code or document"),
        (("symbols", "nowhere.py"), "no definitions of nowhere.py in the index"),
        (("graph", "nowhere"), "no function, method or class nowhere in the index"),
    ],
)
def test_wrong_usage_is_one_line(project: Project, arguments: list[str], complaint: str) -> None:
    ended = project.call(*arguments)
    assert ended.returncode == 2
    assert complaint in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1


def broken(data: Path, kind: str) -> None:
    data.mkdir()
    path = data / "library.sqlite"
    if kind == "foreign":
        path.write_bytes(b"this is no database at all, but it is long enough to look at")
    elif kind == "other":
        sqlite3.connect(path).execute("CREATE TABLE t (x)").connection.commit()
    elif kind == "newer":
        connection = sqlite3.connect(path)
        connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
        connection.execute("PRAGMA user_version=99")
        connection.execute("CREATE TABLE t (x)")
        connection.close()
    elif kind == "damaged":
        write(data, make_document("a", "lamp " * 9000))
        content = path.read_bytes()
        page = int.from_bytes(content[16:18], "big")
        path.write_bytes(content[:page] + bytes(len(content) - page))


@pytest.mark.parametrize(
    ("kind", "complaint"),
    [
        ("missing", "no index in"),
        ("foreign", "is damaged (file is not a database); remove it and run `inorder run SRC` again"),
        ("other", "is a database, but not a library of inorder"),
        ("newer", "was written by a newer version of inorder"),
        ("damaged", "blocks are not those that were written, the first at byte 8192); remove it and run"),
    ],
)
def test_an_index_that_cannot_be_asked_is_said_to_be_so_in_one_line(tmp_path: Path, kind: str, complaint: str) -> None:
    project = Project(tmp_path)
    broken(project.data, kind)
    ended = project.call("search", "lamp")
    assert ended.returncode == (6 if "remove it" in complaint else 2)
    assert complaint in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("kind", ["foreign", "damaged"])
def test_a_damaged_index_stops_a_run_and_is_built_again_once_it_is_removed(tmp_path: Path, kind: str) -> None:
    project = Project(tmp_path)
    broken(project.data, kind)
    project.write("lamp.py", "def lamp(): pass\n")
    ended = project.call("run", "src", "--policy", "io", "--quiet")
    assert ended.returncode == 6, ended.stderr
    path = project.data / "library.sqlite"
    assert ended.stderr.startswith(f"inorder: {path} is damaged (")
    assert "); remove it and run `inorder run SRC` again" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
    path.unlink()
    project.index("--policy", "io")
    assert project.call("search", "lamp").returncode == 0


def test_an_index_that_is_locked_is_an_error_of_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library_connection, "_LOCKED_S", 0.05)
    project = Project(tmp_path)
    project.data.mkdir()
    write(project.data, make_document("a", "lamp"))
    holder = sqlite3.connect(project.data / "library.sqlite", isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    ended = project.call("search", "lamp")
    holder.close()
    assert ended.returncode == 5
    assert "another program has locked it" in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1


def test_the_index_can_be_asked_from_anywhere_with_data(project: Project, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "inorder", "search", "lens", "--data", str(project.data), "--json"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=GUARD_S, check=False)
    assert ended.returncode == 0
