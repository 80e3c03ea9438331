"""Rows per second into PostgreSQL with pgvector.

All writers get the same chunks and vectors, and write to the same server, one after the other, each to an empty table.
LangChain and LlamaIndex get them as Python objects in memory. inorder reads them from DATA, counts terms in worker
processes, and builds its two full-text indexes, all of which is part of its time. The server runs with its defaults,
except that it waits for the disk at no commit: the disk of the machine is not what is compared.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import psycopg

ROOT = Path(__file__).parents[2]
DIMENSIONS = 384
ROUNDS = 3
_WORDS = 2000
_PARAGRAPHS = 8
sys.path.insert(0, str(ROOT))


class Chunks(NamedTuple):
    """The chunks of all documents."""

    ids: list[str]
    texts: list[str]
    vectors: list[list[float]]
    metadata: list[dict[str, Any]]


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Run all writers in turn, a few times. Prints a table, and returns the rates."""
    from tests.connectors.postgres.server import PostgresServer

    folder = Path(tempfile.mkdtemp(prefix="inorder-bench-"))
    server = PostgresServer(listens=True)
    try:
        server.execute("ALTER SYSTEM SET synchronous_commit = off")
        server.execute("SELECT pg_reload_conf()")
        make_data(folder, options.documents)
        chunks = read_chunks(folder / "data")
        rates: dict[str, list[float]] = {}
        for round_number in range(ROUNDS):
            for name, write in WRITERS.items():
                database = f"bench_{len(rates)}_{round_number}_{time.monotonic_ns()}"
                server.create_database(database)
                server.execute("CREATE EXTENSION vector", database)
                started_s = time.perf_counter()
                write(server, database, chunks, folder / "data")
                seconds = time.perf_counter() - started_s
                rates.setdefault(name, []).append(len(chunks.ids) / seconds)
                server.execute(f'DROP DATABASE "{database}" WITH (FORCE)')
    finally:
        server.close()
        shutil.rmtree(folder, ignore_errors=True)
    result = {name: round(statistics.median(found)) for name, found in rates.items()}
    if not options.json:
        print(f"{len(chunks.ids)} chunks of {options.documents} documents, {DIMENSIONS} dimensions, median of {ROUNDS}")
        for name, rate in result.items():
            print(f"  {name:<32} {rate:>8,} rows/s")
    return {"chunks": len(chunks.ids), "dimensions": DIMENSIONS, "rows_per_s": result}


def make_data(folder: Path, documents: int) -> None:
    """DATA with documents of random words, chunked and embedded."""
    random = np.random.default_rng(7)
    words = [
        "".join(chr(97 + each) for each in random.integers(0, 26, size)) for size in random.integers(3, 10, _WORDS)
    ]
    (folder / "docs").mkdir()
    for number in range(documents):
        chosen = random.zipf(1.3, (_PARAGRAPHS, 60)) % _WORDS
        text = "\n\n".join(" ".join(words[each] for each in paragraph) + "." for paragraph in chosen)
        (folder / "docs" / f"{number:06}.md").write_text(f"# Note {number}\n\n{text}\n")
    command = [sys.executable, "-m", "inorder", "run", "docs", "--data", "data", "--quiet", "--tokens-max", "128"]
    subprocess.run([*command, "--dense", f"hash:{DIMENSIONS}"], cwd=folder, check=True)


def read_chunks(data: Path) -> Chunks:
    """All chunks of DATA as Python objects."""
    from inorder.targets.difference import list_all
    from inorder.targets.index_reader import IndexReader

    reader = IndexReader(str(data))
    chunks = Chunks([], [], [], [])
    for listed in list_all(reader.list_documents):
        document = reader.read(listed.doc_id)
        assert document is not None
        for chunk in document.chunks:
            chunks.ids.append(chunk.chunk_id)
            chunks.texts.append(chunk.text)
            chunks.vectors.append(np.frombuffer(chunk.vector, "<f4").tolist())
            chunks.metadata.append(
                {"doc_id": document.doc_id, "headings": chunk.headings, "start": chunk.start, "end": chunk.end}
            )
    reader.close()
    return chunks


def write_inorder(server: Any, database: str, chunks: Chunks, data: Path) -> None:
    """`inorder export`, in a process of its own."""
    command = [
        sys.executable,
        "-m",
        "inorder",
        "export",
        "--data",
        str(data),
        "--to",
        server.address(database),
        "--json",
    ]
    done = subprocess.run(command, check=True, capture_output=True)
    assert json.loads(done.stdout)["failed"] == 0
    with psycopg.connect(server.address(database)) as connection:
        assert connection.execute("SELECT count(*) FROM inorder.chunks").fetchone() == (len(chunks.ids),)


def write_llama_index(server: Any, database: str, chunks: Chunks, data: Path, *, hybrid: bool) -> None:
    """LlamaIndex: `PGVectorStore.add`."""
    from llama_index.core.schema import TextNode
    from llama_index.vector_stores.postgres import PGVectorStore

    store = PGVectorStore.from_params(
        host="127.0.0.1",
        port=str(server.port),
        database=database,
        user="postgres",
        password="none",
        table_name="chunks",
        embed_dim=DIMENSIONS,
        hybrid_search=hybrid,
        text_search_config="simple",
    )
    store.add(
        [
            TextNode(id_=chunk_id, text=text, embedding=vector, metadata=metadata)
            for chunk_id, text, vector, metadata in zip(*chunks, strict=True)
        ]
    )


def write_langchain(server: Any, database: str, chunks: Chunks, data: Path) -> None:
    """LangChain: `PGVectorStore.add_embeddings`."""
    from langchain_core.embeddings import DeterministicFakeEmbedding
    from langchain_postgres import PGEngine, PGVectorStore

    engine = PGEngine.from_connection_string(f"postgresql+psycopg://postgres@127.0.0.1:{server.port}/{database}")
    engine.init_vectorstore_table("chunks", DIMENSIONS)
    store = PGVectorStore.create_sync(engine, DeterministicFakeEmbedding(size=DIMENSIONS), "chunks")
    store.add_embeddings(chunks.texts, chunks.vectors, chunks.metadata, chunks.ids)


def write_old_langchain(server: Any, database: str, chunks: Chunks, data: Path) -> None:
    """LangChain: `PGVector.add_embeddings`, the class that `PGVectorStore` replaces."""
    from langchain_core.embeddings import DeterministicFakeEmbedding
    from langchain_postgres import PGVector

    store = PGVector(
        embeddings=DeterministicFakeEmbedding(size=DIMENSIONS),
        connection=f"postgresql+psycopg://postgres@127.0.0.1:{server.port}/{database}",
        embedding_length=DIMENSIONS,
        create_extension=False,
    )
    store.add_embeddings(chunks.texts, chunks.vectors, chunks.metadata, chunks.ids)


WRITERS: dict[str, Callable[[Any, str, Chunks, Path], None]] = {
    "inorder export": write_inorder,
    "LlamaIndex PGVectorStore": lambda *given: write_llama_index(*given, hybrid=False),
    "LlamaIndex, with full text": lambda *given: write_llama_index(*given, hybrid=True),
    "LangChain PGVectorStore": write_langchain,
    "LangChain PGVector": write_old_langchain,
}
