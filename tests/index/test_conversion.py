"""An index of an older version is converted: nothing that it has is lost."""

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from inorder.documents.embed import stored
from inorder.errors import IntegrityError, OperatorError
from inorder.index.calls import unpack_calls
from inorder.index.connection import open_index
from inorder.index.drafts.changes import are_changes, create_changes
from inorder.index.drafts.publishing import draft_path, publish, published_path
from inorder.index.hits import Filters
from inorder.index.query import parse_query
from inorder.index.ranking.retrieval import Searcher
from inorder.index.schema import VERSION, read_meta
from inorder.index.symbols import look_up
from inorder.index.verify import find_problems
from inorder.stage.store.texts import TextReader
from tests.documents.stage_runs import StageRuns
from tests.index.project import Project
from tests.index.published import list_names
from tests.index.test_draft import begun, built, content, success
from tests.index.vectors.corpus import Corpus, Texts, make_corpus

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
    german = "Der Leuchtturm hat zwei alte Häuser, die nicht mehr bewohnt werden. " * 2
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


# ---- version 2, which had a row for each call


def downgrade(data: Path) -> None:
    """Turn a published index into one of version 2."""
    with contextlib.closing(sqlite3.connect(published_path(str(data)))) as connection:
        files = connection.execute("SELECT file, data FROM calls").fetchall()
        connection.executescript(
            "DROP TABLE calls; DROP TABLE callees; CREATE TABLE calls (file INTEGER NOT NULL, number INTEGER NOT NULL, "
            'caller TEXT NOT NULL, callee TEXT NOT NULL, line INTEGER NOT NULL, "column" INTEGER NOT NULL, '
            "PRIMARY KEY (file, number)) WITHOUT ROWID; PRAGMA user_version = 2;"
        )
        rows = [
            (file, number, call.caller, call.callee, call.line, call.column)
            for file, packed in files
            for number, call in enumerate(unpack_calls(packed))
        ]
        connection.executemany("INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?)", rows)
        connection.commit()
    open_index.cache_clear()


@pytest.fixture
def older(tmp_path: Path) -> StageRuns:
    """An index of version 2 with a source file."""
    runs = StageRuns(tmp_path)
    runs.write("a/one.py", "def outer():\n    light()\n    Light(1)\n\n\nlight()\n")
    runs.index("a")
    downgrade(runs.data)
    return runs


def find_places(runs: StageRuns) -> list[tuple[str, int]]:
    open_index.cache_clear()
    connection = open_index(published_path(str(runs.data)))
    return [(place.detail, place.line) for place in look_up(connection, parse_query("ref:LIGHT"), 10)]


@pytest.mark.req("IDX-3")
def test_a_run_without_changes_converts_the_index_and_keeps_its_content(older: StageRuns) -> None:
    before = content(older.data)
    older.index("a")
    assert find_places(older) == [("outer", 2), ("outer", 3), ("", 6)]
    assert content(older.data) == before
    with contextlib.closing(sqlite3.connect(published_path(str(older.data)))) as connection:
        assert list(find_problems(connection)) == []
        assert read_meta(connection, "schema") == str(VERSION)


@pytest.mark.req("CLI-3")
def test_calls_are_not_looked_up_in_an_index_of_version_2(older: StageRuns) -> None:
    with pytest.raises(OperatorError, match="older version of inorder: run `inorder index`"):
        find_places(older)


def test_a_complete_draft_of_an_older_version_is_made_again(older: StageRuns) -> None:
    older.write("a/two.py", "light()\n")
    draft = Path(draft_path(str(older.data)))
    create_changes(str(draft), published_path(str(older.data)))
    with contextlib.closing(sqlite3.connect(draft)) as connection:
        connection.execute("PRAGMA user_version = 2")
        connection.execute("INSERT INTO meta VALUES ('draft_is_complete', '1')")
        connection.commit()
    older.index("a")
    assert find_places(older) == [("outer", 2), ("outer", 3), ("", 6), ("", 1)]


@pytest.mark.process
@pytest.mark.req("CLI-3")
def test_the_command_says_that_it_converts_the_index(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write("lamp.py", "light()\n")
    project.index()
    downgrade(project.data)
    ended = project.call("index", "src", "--quiet")
    assert ended.returncode == 0
    line = f"converting {project.data}/index.sqlite, which was written by an older version of inorder"
    assert [each for each in ended.stderr.splitlines() if "converting" in each] == [line]
    assert "converting" not in project.call("index", "src", "--quiet").stderr


# ---- version 3, in which the texts of documents were not compressed


@pytest.mark.req("IDX-3")
def test_texts_of_version_3_are_found_before_and_after_its_conversion(written: Path) -> None:
    built(written, [success(0, "src/new.py", "def fog_horn(): pass")])
    before = content(written)
    with contextlib.closing(sqlite3.connect(published_path(str(written)))) as connection:
        [stored] = connection.execute("SELECT text FROM chunks WHERE chunk_id = 'one'").fetchone()
        assert isinstance(stored, bytes)
        connection.execute("UPDATE chunks SET text = ? WHERE chunk_id = 'one'", (TextReader(connection).read(stored),))
        connection.executescript("DROP TABLE dictionaries; PRAGMA user_version = 3;")
    assert find(written, "Haus") == ["old/guide.md"]
    built(written, [success(0, "src/new.py", "def fog_horn(): pass")])
    assert find(written, "Haus") == ["old/guide.md"]
    assert content(written) == before
    with contextlib.closing(sqlite3.connect(published_path(str(written)))) as connection:
        assert list(find_problems(connection)) == []
        assert connection.execute("PRAGMA user_version").fetchone() == (VERSION,)


# ---- version 4, which had a row for each term and segment


@pytest.fixture
def older_terms(tmp_path: Path) -> StageRuns:
    """An index of version 4 with a source file."""
    runs = StageRuns(tmp_path)
    runs.write("a/one.py", "def outer():\n    light()\n")
    runs.index("a")
    with contextlib.closing(sqlite3.connect(published_path(str(runs.data)))) as connection:
        connection.executescript(
            "DROP TABLE term_blocks; CREATE TABLE postings (segment INTEGER NOT NULL, term TEXT NOT NULL, "
            "count INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (segment, term)) WITHOUT ROWID; "
            "INSERT INTO postings VALUES (1, 'light', 1, x'000001'); PRAGMA user_version = 4;"
        )
    open_index.cache_clear()
    return runs


@pytest.mark.req("IDX-3")
def test_terms_of_version_4_are_found_after_its_conversion(older_terms: StageRuns) -> None:
    before = content(older_terms.data)
    older_terms.index("a")
    assert find(older_terms.data, "light") == ["a/one.py"]
    assert content(older_terms.data) == before
    with contextlib.closing(sqlite3.connect(published_path(str(older_terms.data)))) as connection:
        assert list(find_problems(connection)) == []
        assert connection.execute("SELECT name FROM sqlite_master WHERE name = 'postings'").fetchall() == []


@pytest.mark.req("CLI-3")
def test_a_search_in_an_index_of_version_4_says_what_to_do(older_terms: StageRuns) -> None:
    with pytest.raises(OperatorError, match="older version of inorder: run `inorder index`"):
        find(older_terms.data, "light")


# ---- version 5, which had all vectors in one file


def downgrade_vectors(data: Path) -> None:
    """Turn a published index whose vectors are in one file into one of version 5."""
    with contextlib.closing(sqlite3.connect(published_path(str(data)), isolation_level=None)) as connection:
        names = list_names(connection)
        assert len(names) <= 1
        connection.execute("INSERT INTO meta VALUES ('vectors_file', ?)", ("".join(names),))
        connection.executescript(
            "ALTER TABLE vectors RENAME TO new; CREATE TABLE vectors (chunks BLOB NOT NULL); "
            "INSERT INTO vectors SELECT chunks FROM new; DROP TABLE new; DROP TABLE vector_files; "
            "DELETE FROM meta WHERE name = 'vectors_left_out'; PRAGMA user_version = 5;"
        )
        if not names:
            connection.execute("INSERT INTO vectors VALUES (x'')")
    open_index.cache_clear()


@pytest.fixture
def older_vectors(tmp_path: Path) -> Corpus:
    """An index of version 5 with documents."""
    corpus = make_corpus(tmp_path / "data")
    downgrade_vectors(corpus.data)
    return corpus


@pytest.mark.req("IDX-3")
@pytest.mark.parametrize("changes", [{}, {"03": ["lamp"], "04": None}], ids=["unchanged", "changed"])
def test_vectors_of_version_5_are_found_before_its_conversion_and_copied_by_it(
    older_vectors: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Texts]
) -> None:
    corpus = older_vectors
    before = corpus.search("tide 7", "dense")
    assert len(before) == 20
    loaded: list[str] = []
    load = stored.load_dense

    def note(source: Any) -> Any:
        loaded.append(Path(str(source)).stem)
        return load(source)

    monkeypatch.setattr(stored, "load_dense", note)
    if changes:
        corpus.change(changes)
    else:
        publish(str(corpus.data))
    assert loaded == [name for name, texts in changes.items() if texts]
    with corpus.open() as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (VERSION,)
        assert read_meta(connection, "vectors_file") == ""
        assert connection.execute("SELECT name FROM sqlite_master WHERE name = 'vectors_5'").fetchall() == []
    assert corpus.read() == corpus.build_fresh(tmp_path / "fresh").read()
    if not changes:
        assert corpus.search("tide 7", "dense") == before


@pytest.mark.req("IDX-3")
def test_a_draft_for_an_index_of_version_5_has_the_changes_only(older_vectors: Corpus) -> None:
    """It is converted in the transaction that publishes them, and not copied."""
    begun(older_vectors.data, [success(0, "src/new.py")]).close()
    with contextlib.closing(sqlite3.connect(draft_path(str(older_vectors.data)))) as draft:
        assert are_changes(draft)
    publish(str(older_vectors.data))
    assert "src/new.py" in find(older_vectors.data, "lamp")


@pytest.mark.req("IDX-3", "IDX-5")
@pytest.mark.parametrize("is_altered", [False, True], ids=["lost", "altered"])
def test_vectors_of_version_5_that_are_not_as_they_were_written_are_read_from_the_documents(
    older_vectors: Corpus, tmp_path: Path, is_altered: bool
) -> None:
    [file] = older_vectors.list_files()
    data = bytearray(Path(file.path).read_bytes())
    data[7] ^= 1
    Path(file.path).unlink()
    if is_altered:
        Path(file.path).write_bytes(data)
    else:
        with pytest.raises(IntegrityError, match="is missing; run `inorder index` to write it again"):
            older_vectors.search("tide", "dense")
    publish(str(older_vectors.data))
    assert older_vectors.read() == older_vectors.build_fresh(tmp_path / "fresh").read()


@pytest.mark.req("IDX-3")
def test_an_index_of_version_5_without_vectors_is_converted(tmp_path: Path) -> None:
    built(tmp_path, [success(0, "src/old.py")])
    before = content(tmp_path)
    downgrade_vectors(tmp_path)
    publish(str(tmp_path))
    assert content(tmp_path) == before
    built(tmp_path, [success(0, "src/new.py", "def fog_horn(): pass")])
    assert find(tmp_path, "fog horn") == ["src/new.py"]
    with contextlib.closing(sqlite3.connect(published_path(str(tmp_path)))) as connection:
        assert list(find_problems(connection)) == []
        assert list_names(connection) == []
