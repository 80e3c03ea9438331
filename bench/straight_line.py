"""What `inorder run` costs beside a straight line through the same functions, in processor time.

    python bench/straight_line.py [--documents N] [--rounds N] [--json]

The *straight line* is one loop in one process. The bytes of each note go through the Markdown reader, the chunker, the
detection of the language, the counting of terms and the static vectors; the rows go into SQLite, with a commit for
every 500 notes. At the end the terms are inverted, the vectors are written and the index is published, and a search
must find a note in it. `inorder run` takes the same folder through all steps, with a new DATA.

Both are processes of their own, measured from start to end with all their children. They take turns. The notes are
those of `notes.py`. The modules are compiled before, as those of an installed package are. For each round:

* `straight_s`, `run_s`: seconds of processor time
* `straight_ms`, `run_ms`: milliseconds of processor time per note
* `ratio`: how many times as much processor time the run takes (target: at most 2.0)
"""

import argparse
import json
import os
import shutil
import sqlite3
import tempfile
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import numpy as np
from commands import make_environment, measure_python
from notes import make_notes
from straight_rows import INDEXES, TABLES, RowWriter, hash_content

from inorder.documents.chunk.chunks import Chunk, build_chunks
from inorder.documents.chunk.pieces import read_pieces
from inorder.documents.chunk.tokens import count_words
from inorder.documents.doctags.docling_json import write_json
from inorder.documents.embed.providers.registry import open_dense
from inorder.documents.readers.registry import load_reader
from inorder.index.hits import Filters
from inorder.index.lexical.inversion import merge_segments
from inorder.index.lexical.languages import detect_language
from inorder.index.query import parse_query
from inorder.index.ranking.retrieval import Searcher
from inorder.index.rows import DOCUMENT, ChunkRow, FileRows
from inorder.index.schema import write_meta
from inorder.index.vector_files import PREFIX, MatrixWriter
from inorder.index.vectors.row_chunks import RowList
from inorder.index.vectors.table import describe_vectors

COMMIT_NOTES = 500
TOKENS_MIN, TOKENS_MAX = 256, 512
PROVIDER = "static"


def take_straight_line(sources: Path, data: Path) -> None:
    """Make an index of the notes in a folder, and search it."""
    data.mkdir()
    provider = open_dense(PROVIDER)
    vectors = MatrixWriter(f"{data}/{PREFIX}new")
    with (
        closing(vectors),
        closing(sqlite3.connect(data / "straight.sqlite", isolation_level=None)) as connection,
    ):
        connection.executescript(f"PRAGMA page_size=8192;PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;{TABLES}")
        writer = RowWriter(connection)
        first = writer.next_chunk
        paths = sorted(sources.rglob("*.md"))
        for start in range(0, len(paths), COMMIT_NOTES):
            connection.execute("BEGIN")
            for path in paths[start : start + COMMIT_NOTES]:
                content = path.read_bytes()
                chunks = chunk_note(f"{sources.name}/{path.relative_to(sources)}", content)
                writer.add_file(make_rows(chunks), sha256(content).hexdigest())
                vectors.append(provider.embed([chunk.text for chunk in chunks]).astype("<f4").tobytes())
            connection.execute("COMMIT")
        connection.execute("BEGIN")
        writer.invert()
        publish(connection, str(data), vectors, np.arange(first, writer.next_chunk), provider.dimensions)
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA journal_mode=DELETE")
    question = chunks[0].text.split()[0]
    if not find_notes(data, question):
        raise SystemExit(f"the straight line does not find {question!r}")


def find_notes(data: Path, question: str) -> list[str]:
    """Search by words and vectors. Returns the ids of notes."""
    with closing(sqlite3.connect(data / "straight.sqlite")) as connection:
        connection.create_function("location", 3, lambda kind, item_id, path: path)
        hits = Searcher(connection, str(data)).search(parse_query(question), "hybrid", 10, Filters())
        return [hit.item_id for hit in hits]


def chunk_note(doc_id: str, content: bytes) -> list[Chunk]:
    """Read a note, and split it into chunks."""
    document = load_reader("markdown")(content, Path(doc_id).stem)
    return build_chunks(doc_id, read_pieces(write_json(document)), count_words, TOKENS_MIN, TOKENS_MAX)


def make_rows(chunks: list[Chunk]) -> FileRows:
    """The rows of a note."""
    doc_id = chunks[0].doc_id
    return FileRows(
        item_id=doc_id,
        kind=DOCUMENT,
        language=detect_language("\n".join(chunk.text for chunk in chunks)),
        lines=0,
        note="",
        chunks=[
            ChunkRow(
                chunk_id=chunk.chunk_id,
                kind="section",
                name="",
                context=" > ".join([*chunk.section_path, doc_id]),
                start=chunk.start,
                end=chunk.end,
                pages="",
                text=chunk.text,
            )
            for chunk in chunks
        ],
    )


def publish(connection: sqlite3.Connection, data: str, vectors: MatrixWriter, chunks: np.ndarray, width: int) -> None:
    """Complete the database: the vectors of all chunks, its indexes, and what describes it as a whole."""
    rows = RowList(connection, len(chunks))
    rows.add(chunks)
    rows.finish(vectors.finish(data))
    describe_vectors(connection, width, PROVIDER)
    merge_segments(connection)
    for statement in INDEXES:
        connection.execute(statement)
    write_meta(connection, "content_hash", hash_content(connection))
    languages = connection.execute("SELECT DISTINCT language FROM files WHERE language != '' ORDER BY language")
    write_meta(connection, "languages", " ".join(language for (language,) in languages))


def measure(count: int, rounds: int, folder: Path) -> dict[str, list[float]]:
    """Measure all rounds."""
    environment = make_environment(folder)
    make_notes(folder / "compiling", 1)
    measure_round(folder / "compiling", folder / "compiled data", environment)
    sources = folder / "notes"
    make_notes(sources, count)
    found = [measure_round(sources, folder / f"round {number}", environment) for number in range(rounds)]
    return {
        "straight_s": [straight_s for straight_s, _ in found],
        "run_s": [run_s for _, run_s in found],
        "straight_ms": [straight_s * 1000 / count for straight_s, _ in found],
        "run_ms": [run_s * 1000 / count for _, run_s in found],
        "ratio": [run_s / straight_s for straight_s, run_s in found],
    }


def measure_round(sources: Path, folder: Path, environment: dict[str, str]) -> tuple[float, float]:
    """The seconds of processor time of the straight line, and of the run."""
    folder.mkdir()
    straight = measure_python([__file__, "--take", str(sources), str(folder / "straight")], environment)
    arguments = ["run", str(sources), "--data", str(folder / "data"), "--quiet", "--dense", PROVIDER]
    run = measure_python(["-m", "inorder", *arguments], environment)
    shutil.rmtree(folder)
    return straight.processor_s, run.processor_s


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--take", type=Path, nargs=2, metavar=("NOTES", "DATA"), help="take the straight line only")
    chosen = parser.parse_args()
    if chosen.take:
        take_straight_line(*chosen.take)
        return
    folder = Path(tempfile.mkdtemp(prefix="inorder-bench-", dir=os.environ.get("TMPDIR")))
    try:
        found = measure(chosen.documents, chosen.rounds, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if chosen.json:
        print(json.dumps({"documents": chosen.documents, **found}))
        return
    for name, values in found.items():
        print(f"{name:12}" + "".join(f"{value:10.3f}" for value in values))


if __name__ == "__main__":
    main()
