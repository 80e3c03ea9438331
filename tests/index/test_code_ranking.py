"""The order of answers from source code: names and paths count, not words alone."""

import math
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from inorder.index.ranking.code_signals import RankedCode, adjust
from inorder.index.ranking.file_kinds import STEP, find_factor
from inorder.index.search import SearchOptions, search
from inorder.library.opening import find_index
from tests.pipeline.folders import FolderRuns

FILES = {
    "pool/connector.py": "class Connector:\n    def connect(self):\n        return open_socket()\n",
    "pool/session.py": "def get(url):\n    connector = Connector()\n    return connector.connect(url)\n",
    "pool/__init__.py": "from .connector import Connector\nfrom .session import get\n",
    "tests/test_connector.py": "def test_connector():\n    connector = Connector()\n    Connector().connect()\n"
    "    assert Connector().connect() == Connector().connect()\n",
}


@pytest.fixture
def runs(tmp_path: Path) -> FolderRuns:
    runs = FolderRuns(tmp_path, dense="none")
    for name, text in FILES.items():
        runs.write(f"a/{name}", text)
    runs.run("a")
    return runs


def ask(runs: FolderRuns, question: str) -> list[str]:
    """The files of the answer, best first."""
    hits = search(find_index(str(runs.data)), question, SearchOptions(mode="lexical")).hits
    return list(dict.fromkeys(hit.item_id.removeprefix("a/") for hit in hits))


def test_a_definition_comes_before_its_tests_and_its_uses(runs: FolderRuns) -> None:
    assert ask(runs, "Connector")[0] == "pool/connector.py"
    assert ask(runs, "how does the Connector connect")[0] == "pool/connector.py"


def test_tests_come_first_if_they_are_asked_for(runs: FolderRuns) -> None:
    assert ask(runs, "tests of the connector")[0] == "tests/test_connector.py"


def test_an_answer_says_what_the_adjustment_was(runs: FolderRuns) -> None:
    [hit, *_] = search(find_index(str(runs.data)), "Connector", SearchOptions(mode="lexical")).hits
    assert hit.reasons[0] == "defines Connector: x3"
    assert hit.reasons[1] == "path has connector: x2"
    assert hit.score == pytest.approx(sum(hit.shares.values()))


REPOSITORY = {
    "src/pool.py": "def drain_pool():\n    wait_for_connections()\n    close_connections()\n",
    "docs/pool.md": "# The connection pool\n\nDrain the pool to close connections. Wait for the connections.\n",
    "CHANGES.md": "# 2.1\n\nDrain the pool: wait for connections, close connections of the pool.\n",
    "lib.rs": "pub fn drain_pool() {\n    wait();\n}\n",
    "mod.rs": "pub mod drain_pool;\n",
}


@pytest.fixture
def repository(tmp_path: Path) -> FolderRuns:
    runs = FolderRuns(tmp_path, dense="none")
    for name, text in REPOSITORY.items():
        runs.write(f"a/{name}", text)
    runs.run("a")
    return runs


def scores(runs: FolderRuns, question: str) -> dict[str, float]:
    hits = search(find_index(str(runs.data)), question, SearchOptions(mode="lexical")).hits
    return {hit.item_id.removeprefix("a/"): hit.score for hit in reversed(hits)}


@pytest.mark.slow
def test_the_question_shifts_the_weight_of_documents_beside_code(repository: FolderRuns) -> None:
    neutral = scores(repository, "drain pool connections")
    code = scores(repository, "where is the function implemented that drains pool connections")
    prose = scores(repository, "how do I drain pool connections")
    shares = [found["docs/pool.md"] / found["src/pool.py"] for found in (code, neutral, prose)]
    assert shares == sorted(shares)
    assert shares[0] < shares[1] < shares[2]
    assert all(set(found) >= {"docs/pool.md", "src/pool.py", "CHANGES.md"} for found in (neutral, code, prose))


@pytest.mark.slow
def test_a_list_of_changes_comes_last_unless_changes_are_asked_for(repository: FolderRuns) -> None:
    before = scores(repository, "drain pool connections")
    assert before["CHANGES.md"] < before["docs/pool.md"]
    asked = scores(repository, "which release drains pool connections")
    assert asked["CHANGES.md"] / asked["docs/pool.md"] == pytest.approx(
        2 * before["CHANGES.md"] / before["docs/pool.md"], rel=0.2
    )
    hits = search(find_index(str(repository.data)), "drain pool connections", SearchOptions(mode="lexical")).hits
    [changes] = [hit for hit in hits if hit.item_id == "a/CHANGES.md"]
    assert changes.reasons == ["document beside code: x0.5"]
    assert changes.score == pytest.approx(sum(changes.shares.values()))


@pytest.mark.slow
def test_a_file_with_the_name_of_a_list_of_exports_that_has_code_is_source(repository: FolderRuns) -> None:
    hits = search(find_index(str(repository.data)), "drain_pool", SearchOptions(mode="lexical")).hits
    reasons = {hit.item_id: " ".join(hit.reasons) for hit in hits}
    assert "list of exports" not in reasons["a/lib.rs"]
    assert "list of exports" in reasons["a/mod.rs"]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("connection pool", 0),
        ("where is parse_header", -2),
        ("how do I install it", 2),
        ("KeyError in src/app/views.py", -3),
        ("how are routes registered", -1),
        ("what is a blueprint", 1),
    ],
)
def test_signs_of_a_question_add_up(question: str, expected: int) -> None:
    assert find_factor(question) == pytest.approx(math.exp(STEP * expected))


def adjusted(question: str, *chunks: tuple[str, str], scores: list[float] | None = None) -> list[float]:
    values = np.array(scores or [1.0] * len(chunks))
    found = adjust(question, [RankedCode(f"root/{path}", name) for path, name in chunks], values)
    return [round(float(score), 6) for score in found.scores]


def test_further_chunks_of_a_file_are_worth_half_of_the_one_before() -> None:
    found = adjusted("lamp", ("a.py", ""), ("a.py", ""), ("a.py", ""), ("b.py", ""), scores=[1.0, 1.0, 1.0, 1.0])
    best, second, third, other = found
    assert best == 1.0
    assert other > second
    assert third == pytest.approx(second / 2, abs=1e-5)


def test_the_best_chunk_of_code_keeps_its_score_unless_it_is_the_definition_asked_for() -> None:
    assert max(adjusted("lamp wick", ("lamp/wick.py", ""), ("b.py", ""))) == 1.0
    assert max(adjusted("light_lamp", ("a.py", "Keeper.light_lamp"), ("b.py", ""))) == 3.0
    assert max(adjusted("where is light_lamp called", ("a.py", "light_lamp"), ("b.py", ""))) > 2.0


@pytest.mark.parametrize(
    ("path", "question", "is_lower"),
    [
        ("src/tests/lamp.py", "lamp", True),
        ("pkg/lamp_test.go", "lamp", True),
        ("web/lamp.spec.ts", "lamp", True),
        ("src/test/java/LampTest.java", "lamp", True),
        ("examples/lamp.py", "lamp", True),
        ("examples/lamp.py", "an example of a lamp", False),
        ("pkg/legacy/lamp.py", "lamp", True),
        ("pkg/legacy/lamp.py", "the deprecated lamp", False),
        ("pkg/__init__.py", "lamp", True),
        ("src/latest/lamp.py", "lamp", False),
        ("src/contest/lamp.py", "lamp", False),
        ("src/protest.py", "lamp", False),
    ],
)
def test_side_files_are_worth_less_unless_they_are_asked_for(path: str, question: str, is_lower: bool) -> None:
    plain = "plain/lamp.py" if path.endswith("lamp.py") else "plain/other.py"
    [side, other] = adjusted(question, (path, ""), (plain, ""))
    assert (side < other * 0.8) == is_lower


def test_nothing_that_matches_stays_nothing() -> None:
    assert adjusted("lamp") == []
    assert adjusted("lamp", ("a.py", ""), scores=[0.0]) == [0.0]


@pytest.mark.slow
def test_documents_keep_their_scores(runs: FolderRuns) -> None:
    runs.write("docs/lamp.md", "# Connector\n\nThe connector connects.\n")
    runs.run("a", "docs")
    hits = search(find_index(str(runs.data)), "connector", SearchOptions(mode="lexical")).hits
    [document] = [hit for hit in hits if hit.file_kind == "document"]
    assert document.reasons == []
    assert set(document.shares) == {"lexical"}


# ---- an index that is older than its sources


def warnings(runs: FolderRuns, question: str = "Connector") -> list[str]:
    return search(find_index(str(runs.data)), question).warnings


def set_time(path: Path, seconds_later: int, runs: FolderRuns) -> None:
    now_ns = (runs.data / "library.sqlite").stat().st_mtime_ns + seconds_later * 10**9
    os.utime(path, ns=(now_ns, now_ns))


@pytest.mark.slow
def test_a_file_that_changed_or_went_is_named(runs: FolderRuns) -> None:
    for path in (runs.folder / "a").rglob("*.py"):
        set_time(path, -60, runs)
    assert warnings(runs) == []
    changed = runs.folder / "a" / "pool" / "connector.py"
    set_time(changed, 60, runs)
    (runs.folder / "a" / "pool" / "session.py").unlink()
    assert warnings(runs) == [
        f"{changed} changed since the index was made; run `inorder run SRC` to update it",
        f"{changed.with_name('session.py')} was removed since the index was made; run `inorder run SRC` to update it",
    ]
    assert warnings(runs, "def:Connector") == warnings(runs)[:1]


@pytest.mark.process
def test_a_working_tree_on_another_commit_is_named(runs: FolderRuns) -> None:
    assert not any("commit" in warning for warning in warnings(runs))
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    for arguments in (("init", "-q"), (*identity, "commit", "-q", "--allow-empty", "-m", "first")):
        subprocess.run(["git", *arguments], cwd=runs.folder, check=True)
    set_time(runs.folder / ".git" / "logs" / "HEAD", -60, runs)
    assert not any("commit" in warning for warning in warnings(runs))
    set_time(runs.folder / ".git" / "logs" / "HEAD", 60, runs)
    expected = f"{runs.folder} is on another commit than when it was indexed; run `inorder run SRC`"
    assert expected in warnings(runs)
    linked = runs.folder.parent / "elsewhere"
    (runs.folder / ".git").rename(linked)
    (runs.folder / ".git").write_text(f"gitdir: {linked}\n")
    assert expected in warnings(runs)
