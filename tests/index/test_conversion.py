"""An index of an older version is converted: nothing that it has is lost."""

import sqlite3
from pathlib import Path

import pytest

from inorder.errors import OperatorError
from inorder.index.drafts.publishing import draft_path, publish, published_path
from inorder.index.hits import Filters
from inorder.index.query import parse_query
from inorder.index.ranking.retrieval import Searcher
from inorder.index.verify import find_problems
from tests.index.test_draft import begun, built, success

SCHEMA_V1 = Path(__file__).with_name("schema_v1.sql").read_text(encoding="utf-8")


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A published index of version 1 with a document and a source file."""
    connection = sqlite3.connect(published_path(str(tmp_path)))
    connection.executescript(SCHEMA_V1)
    connection.executemany(
        "INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, '', 'sha', 'cfg', 'digest')",
        [(1, "old/guide.md", "document", "guide.md", "", 0), (2, "old/lamp.py", "code", "/src/lamp.py", "python", 1)],
    )
    german = "Der Leuchtturm hat zwei alte Häuser, die nicht mehr bewohnt werden"
    connection.executemany(
        "INSERT INTO chunks VALUES (?, ?, ?, 0, ?, ?, ?, 0, 9, ?, ?)",
        [
            (1, "one", 1, "section", "", "Guide", "3", german),
            (2, "two", 2, "function", "trim_wick", "lamp py", "wick", "def trimWick(): pass"),
        ],
    )
    connection.execute("INSERT INTO lookup (lookup) VALUES ('rebuild')")
    connection.execute(
        "INSERT INTO symbols VALUES (2, 0, 'trim_wick', 'trim_wick', 'function', 1, 1, 'def trimWick()')"
    )
    connection.execute("CREATE TABLE inorder_position (sink TEXT PRIMARY KEY, end INT, offset INT, checksum INT)")
    connection.commit()
    connection.close()
    return tmp_path


def find(data: Path, question: str) -> list[str]:
    connection = sqlite3.connect(published_path(str(data)))
    connection.create_function("location", 3, lambda kind, item_id, path: path)
    try:
        hits = Searcher(connection, str(data)).search(parse_query(question), "lexical", 10, Filters())
    finally:
        connection.close()
    return [hit.item_id for hit in hits]


@pytest.mark.req("IDX-3")
def test_files_that_are_not_indexed_again_are_still_found(written: Path) -> None:
    built(written, [success(0, "src/new.py", "def fog_horn(): pass")])
    assert find(written, "wick") == ["old/lamp.py"]
    assert find(written, "Haus") == ["old/guide.md"]
    assert find(written, "fog horn") == ["src/new.py"]
    connection = sqlite3.connect(published_path(str(written)))
    [language] = connection.execute("SELECT language FROM files WHERE item_id = 'old/guide.md'").fetchone()
    assert language == "de"
    [pages] = connection.execute("SELECT pages FROM chunks WHERE chunk_id = 'one'").fetchone()
    assert pages == "3"
    assert list(find_problems(connection)) == []
    connection.close()


@pytest.mark.req("CLI-3")
def test_a_search_before_the_conversion_says_what_to_do(written: Path) -> None:
    with pytest.raises(OperatorError, match="older version of inorder: run `inorder index`"):
        find(written, "wick")


def test_a_draft_of_an_older_version_is_not_resumed(written: Path) -> None:
    Path(draft_path(str(written))).write_bytes(Path(published_path(str(written))).read_bytes())
    begun(written, [success(0, "src/new.py")]).close()
    publish(str(written))
    assert sorted(find(written, "lamp wick")) == ["old/lamp.py", "src/new.py"]
