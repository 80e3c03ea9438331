"""What the library costs: synthetic notes of 400 bytes, committed, published and read back.

    python -m bench.library --files 10000 1000000

Each size runs in a process of its own, with another process that asks the library questions all the time. The notes are
made beforehand from some thousand templates, so the processor time is that of the process that writes the library.
"""

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from inorder.core.transitions import State
from inorder.index.rows import ChunkRow, FileRows
from inorder.library.connection import library_path
from inorder.library.reader import LibraryReader
from inorder.library.rows import (
    CHUNK,
    INDEX,
    FileIdentity,
    FileResult,
    LibrarySource,
    StepResult,
    StoredVectors,
    hash_content,
    make_dense_result,
    make_step_result,
    pack_rows,
)
from inorder.library.sink import LibrarySink
from inorder.sinks.base import Entry

NOTE_BYTES = 400
COMMITTED, PUBLISHED = 500, 5000
"""Notes in a commit, and between two publications."""
TEMPLATES = 2000
WORDS = 20_000
MARK = "zqmark"
"""A word of every template that each note replaces by one of its own."""


def make_words() -> list[str]:
    """Words of a language that does not exist."""
    source = random.Random(1)
    letters = "etaoinshrdlcumwfgypbvkjxqz"
    weights = range(26, 0, -1)
    return ["".join(source.choices(letters, weights, k=source.randint(2, 11))) for _ in range(WORDS)]


def make_templates(count: int, dense: int) -> list[FileResult]:
    """Visits of notes whose words are as frequent as words are."""
    source = random.Random(2)
    words = make_words()
    weights = [1 / (rank + 3) for rank in range(WORDS)]
    return [make_template(source, words, weights, dense) for _ in range(count)]


def make_template(source: random.Random, words: list[str], weights: list[float], dense: int) -> FileResult:
    """The visit of one note."""
    text = f"# {MARK}\n\n"
    while len(text) < NOTE_BYTES:
        text += " ".join(source.choices(words, weights, k=9)) + ". "
    text = text[:NOTE_BYTES]
    items = [{"self_ref": f"#/texts/{n}", "label": "text", "text": part} for n, part in enumerate(text.split("\n\n"))]
    document = make_step_result("doctags", "d1", bytes(16), msgspec.msgpack.encode(items), duration_ms=0.25)
    record = ["00000000", 70, 0, NOTE_BYTES, [MARK], [], ["#/texts/0", "#/texts/1"]]
    chunks = make_step_result(
        CHUNK, "c1", document.output, msgspec.msgpack.encode([record]), texts=[text], extras={"chunks": 1, "tokens": 70}
    )
    row = ChunkRow("", "section", "", f"{MARK} > notes {MARK} md", 0, NOTE_BYTES, "", text)
    rows = pack_rows(FileRows(item_id="", kind="document", language="en", lines=0, note="", chunks=[row]))
    steps = [document, chunks, StepResult(INDEX, "i1", chunks.output, b"", extras={"chunks": 1})]
    if dense:
        vector = StoredVectors("static", "static", dense, os.urandom(4 * dense))
        steps.append(make_dense_result("e1", chunks.output, vector, [1.0]))
    return FileResult(FileIdentity("", "document", size=NOTE_BYTES), steps, rows)


def make_note(template: FileResult, number: int) -> FileResult:
    """A note of its own: other ids, other hashes, and a word that no other has."""
    item_id = f"notes/{number // 1000:05}/note-{number:07}.md"
    digest = hash_content(item_id.encode())
    rows = template.rows
    assert rows is not None
    steps = [
        msgspec.structs.replace(step, output=hash_content(digest + bytes([at])), duration_ms=0.1)
        for at, step in enumerate(template.steps)
    ]
    steps[2].output = digest
    for step in steps[2:]:
        step.input = steps[1].output
    text = digest.hex()
    chunk_id = f"{text[:8]}-{text[8:12]}-5{text[13:16]}-8{text[17:20]}-{text[20:]}"
    return FileResult(
        FileIdentity(item_id, "document", signature=digest, sha256=digest * 2, size=NOTE_BYTES),
        steps,
        msgspec.structs.replace(
            rows,
            digest=text,
            chunks=[msgspec.structs.replace(rows.chunks[0], chunk_id=chunk_id)],
            terms=msgspec.structs.replace(
                rows.terms, vocabulary=rows.terms.vocabulary.replace(MARK, f"note{number:07}")
            ),
        ),
    )


def make_entries(templates: list[FileResult], start: int, count: int) -> list[Entry]:
    """The entries of one commit."""
    return [
        Entry(seq, State.TERMINAL_SUCCESS, payload=make_note(templates[seq % len(templates)], seq))
        for seq in range(start, start + count)
    ]


def ask(data: str) -> None:
    """Ask the library questions until it is gone."""
    reader = None
    while os.path.exists(data):
        if reader is None and os.path.exists(library_path(data)):
            try:
                reader = LibraryReader(data)
            except Exception:
                reader = None
        if reader is not None:
            reader.read_generation()
            for item_id in islice_ids(reader):
                reader.read_result(item_id, CHUNK)
        time.sleep(0.02)


def islice_ids(reader: LibraryReader) -> Iterator[str]:
    """The first page of documents."""
    for at, item_id in enumerate(reader.list_visible(CHUNK)):
        if at >= 100:
            return
        yield item_id


class Counters:
    """What the process has used so far."""

    def __init__(self) -> None:
        self.cpu_s = time.process_time()
        self.wall_s = time.perf_counter()
        lines = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
        self.written = int(lines["wchar"])


def measure(files: int, data: str, dense: int) -> dict[str, Any]:
    """Write a library of so many notes, and change some of them."""
    templates = make_templates(TEMPLATES, dense)
    asking = subprocess.Popen([sys.executable, "-m", "bench.library", "--ask", data])
    sink = LibrarySink(data, run_id="bench")
    sink.put_source(LibrarySource("notes", "/notes"))
    sink.roll_back(sink.origin(), ())
    cpu_s = 0.0
    written = 0
    log_bytes = 0
    publish_s: list[float] = []
    before_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    start_s = time.perf_counter()

    def step(function: Any) -> float:
        nonlocal cpu_s, written, log_bytes
        before = Counters()
        function()
        after = Counters()
        cpu_s += after.cpu_s - before.cpu_s
        written += after.written - before.written
        log_bytes = max(log_bytes, os.stat(f"{library_path(data)}-wal").st_size)
        return after.wall_s - before.wall_s

    for start in range(0, files, COMMITTED):
        entries = make_entries(templates, start, min(COMMITTED, files - start))
        step(lambda entries=entries: sink.apply(entries))
        if (start + COMMITTED) % PUBLISHED == 0:
            publish_s.append(step(sink.publish))
    finish_s = step(sink.finish)
    wall_s = time.perf_counter() - start_s
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    size = os.stat(library_path(data)).st_size
    changed = [make_note(templates[(seq + 1) % TEMPLATES], seq) for seq in range(0, files, max(1, files // 100))]
    for note in changed:
        for each in note.steps:
            each.output = hash_content(each.output)
        if note.rows is not None:
            note.rows.digest = hash_content(note.rows.digest.encode()).hex()
    sink.roll_back(sink.origin(), ())
    entries = [Entry(seq, State.TERMINAL_SUCCESS, payload=note) for seq, note in enumerate(changed)]
    before = Counters()
    sink.apply(entries)
    sink.publish()
    after = Counters()
    asking.kill()
    asking.wait()
    sink.close()
    reader = LibraryReader(data)
    began = time.process_time()
    found = sum(len(file.states) for file in reader.list_files())
    query_s = time.process_time() - began
    reader.close()
    return {
        "files": files,
        "states": found,
        "cpu_us_per_note": round(cpu_s / files * 1e6, 1),
        "wall_s": round(wall_s, 1),
        "memory_mb": round(peak_mb, 1),
        "memory_before_mb": round(before_mb, 1),
        "library_mb": round(size / 1e6, 1),
        "bytes_per_byte_of_text": round(size / files / NOTE_BYTES, 2),
        "written_per_byte_of_library": round(written / size, 2),
        "log_mb": round(log_bytes / 1e6, 1),
        "publish_s_median": round(sorted(publish_s)[len(publish_s) // 2], 3) if publish_s else 0,
        "publish_s_max": round(max(publish_s, default=0), 3),
        "finish_s": round(finish_s, 2),
        "change_of_100_wall_s": round(after.wall_s - before.wall_s, 3),
        "change_of_100_cpu_s": round(after.cpu_s - before.cpu_s, 3),
        "rerun_query_cpu_s": round(query_s, 3),
    }


def main() -> None:
    """Measure each size in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, nargs="+", default=[10_000])
    parser.add_argument("--dense", type=int, default=0, help="numbers of a dense vector; 0: no vectors")
    parser.add_argument("--folder", default=None, help="where to write the libraries")
    parser.add_argument("--one", type=int, default=0)
    parser.add_argument("--ask", default="")
    options = parser.parse_args()
    if options.ask:
        ask(options.ask)
        return
    if options.one:
        print(json.dumps(measure(options.one, options.folder, options.dense)))
        return
    for files in options.files:
        folder = tempfile.mkdtemp(prefix="library-", dir=options.folder)
        try:
            command = [sys.executable, "-m", "bench.library", "--one", str(files), "--folder", folder]
            subprocess.run([*command, "--dense", str(options.dense)], check=True)
        finally:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
