"""Exports to a real server: after each run the tables equal the index."""

from pathlib import Path

import pytest

from inorder.sinks.base import Position
from inorder.targets.base import TargetChanges, TargetLayout, TargetOptions
from inorder.targets.postgres.target import PostgresTarget, encode
from tests.connectors.postgres.exports import Corpus, export, make_texts, read_tables
from tests.connectors.postgres.server import PostgresServer
from tests.targets.harnesses import make_document


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    made = Corpus(tmp_path_factory.mktemp("corpus"))
    made.make(make_texts(12, "first"))
    return made


def test_rows_vectors_and_full_text_are_there(
    corpus: Corpus, server: PostgresServer, database: str, address: str
) -> None:
    assert export(corpus.data, address).succeeded == 12
    rows = server.execute(
        "SELECT doc_id, number, headings, vector_dims(embedding), metadata->>'language' FROM inorder.chunks "
        "WHERE fulltext @@ to_tsquery('simple', 'keeper & 7') ORDER BY doc_id, number",
        database,
    )
    assert ("docs/007.md", 0, "Part 0 of 7", 16, "en") in rows
    indexes = server.execute("SELECT indexname FROM pg_indexes WHERE schemaname = 'inorder'", database)
    assert {("chunks_fulltext",), ("terms_terms",)} <= set(indexes)
    assert ("chunks_embedding_hnsw",) not in indexes


def test_an_index_over_the_vectors_is_built_when_it_is_asked_for(
    corpus: Corpus, server: PostgresServer, database: str, address: str
) -> None:
    export(corpus.data, address)
    assert export(corpus.data, address, hnsw=True).scheduled == 0
    query = "SELECT indexdef FROM pg_indexes WHERE indexname = 'chunks_embedding_hnsw'"
    [(definition,)] = server.execute(query, database)
    assert "USING hnsw" in str(definition)


def test_updates_and_removals_give_what_a_first_export_gives(
    tmp_path: Path, server: PostgresServer, database: str, address: str
) -> None:
    corpus = Corpus(tmp_path)
    corpus.make(make_texts(12, "first"))
    export(corpus.data, address)
    texts = make_texts(14, "first") | {"003.md": "# Changed\n\nOther words.", "008.md": "Shorter."}
    del texts["005.md"]
    corpus.make(texts)
    assert export(corpus.data, address).succeeded == 5
    export(corpus.data, address, collection="fresh")
    assert read_tables(server, database) == read_tables(server, database, "fresh")
    assert export(corpus.data, address).scheduled == 0


def test_another_provider_needs_another_collection_or_a_new_start(
    tmp_path: Path, server: PostgresServer, database: str, address: str
) -> None:
    corpus = Corpus(tmp_path)
    corpus.make(make_texts(3, "first"))
    export(corpus.data, address)
    before = read_tables(server, database)
    corpus.dense = "hash:32"
    corpus.run()
    with pytest.raises(ValueError, match=r"has vectors with 16 dimensions, made by hash:16, and the index has 32"):
        export(corpus.data, address)
    assert read_tables(server, database) == before
    assert export(corpus.data, address, recreate=True).succeeded == 3
    [(dimensions,)] = server.execute("SELECT DISTINCT vector_dims(embedding) FROM inorder.chunks", database)
    assert dimensions == 32


def test_an_index_without_vectors_needs_no_extension(
    tmp_path: Path, server: PostgresServer, database: str, address: str
) -> None:
    corpus = Corpus(tmp_path)
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "a.py").write_text("def lamp():\n    return 1\n")
    corpus.run("code")
    assert export(corpus.data, address).succeeded == 1
    assert server.execute("SELECT 1 FROM pg_extension WHERE extname = 'vector'", database) == []
    corpus.make(make_texts(2, "first"))
    assert export(corpus.data, address).succeeded == 2
    assert len(read_tables(server, database)["documents"]) == 3


def test_characters_that_the_server_refuses_are_replaced(server: PostgresServer, database: str, address: str) -> None:
    document = make_document(1)
    document.chunks[0].text = document.chunks[0].headings = "a\0b \ud800 €𝄞"
    target = PostgresTarget(address, TargetOptions())
    target.open(TargetLayout(dimensions=0, provider=""))
    target.write(TargetChanges([encode(document)], [document.doc_id], []), Position(1, 1, 1))
    target.close()
    rows = server.execute("SELECT text, metadata->>'headings' FROM inorder.chunks WHERE number = 0", database)
    assert rows == [("a\ufffdb \ufffd €𝄞",) * 2]
