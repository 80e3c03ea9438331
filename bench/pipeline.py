"""What the whole pipeline costs for many small documents: `inorder run`, from files to the index.

    python bench/pipeline.py [--documents N] [--json]

* `processor`: milliseconds of processor time per document, all processes together (target: at most 2.5)
* `files`: files in DATA (target: at most 40)
* `disk`: bytes in DATA per byte of text, dense vectors not counted (target: at most 6)
* `rerun`: seconds of wall and of processor time when nothing has changed (target: at most 1.5 s)
* `changed`: wall time with 1 % of the documents changed, as a part of that of the first run (target: at most 0.05); the
  median of three such runs, one after the other

Every document is Markdown of 400 bytes: a title and a few sentences of random words. Dense vectors are those of the
provider `hash`. The modules are compiled before, as those of an installed package are.
"""

import argparse
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

DOCUMENT_BYTES = 400
PER_FOLDER = 500
SHARE = 100
"""One of this many documents is changed."""
CHANGES = 3
RACY_S = 2.5
"""How long to wait before the first run. What was written just before a run is read again by the next one: its
timestamps do not show every change. Documents are rarely that new."""


class Cost(NamedTuple):
    """What one command took."""

    wall_s: float
    processor_s: float


def make_documents(folder: Path, count: int) -> None:
    """Write the documents."""
    words = make_words(random.Random(0))
    for number in range(count):
        path = folder / f"{number // PER_FOLDER:04}" / f"{number:07}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(make_text(random.Random(number), words))


def change_documents(folder: Path, count: int, change: int = 1) -> None:
    """Write one of every `SHARE` documents again, with another text for every number of a change."""
    words = make_words(random.Random(change))
    for number in range(0, count, SHARE):
        path = folder / f"{number // PER_FOLDER:04}" / f"{number:07}.md"
        path.write_text(make_text(random.Random(change * count + number), words))


def make_words(source: random.Random) -> list[str]:
    """A vocabulary of which, as in every language, few words are frequent."""
    syllables = [a + b for a in "bdfgklmnprst" for b in ("a", "e", "i", "o", "u", "an", "er")]
    return ["".join(source.choices(syllables, k=source.randint(1, 4))) for _ in range(5000)]


def make_text(source: random.Random, words: list[str]) -> str:
    """A title and sentences."""

    def pick(count: int) -> str:
        return " ".join(words[int(source.paretovariate(0.6)) % len(words)] for _ in range(count))

    text = f"# {pick(4)}\n\n"
    while len(text) < DOCUMENT_BYTES:
        text += f"{pick(12).capitalize()}.\n\n"
    return text[:DOCUMENT_BYTES]


def make_environment(folder: Path) -> dict[str, str]:
    """An environment in which compiled modules are kept in a folder."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return inherited | {"PYTHONPYCACHEPREFIX": str(folder / "compiled")}


def run(sources: Path, data: Path, environment: dict[str, str]) -> Cost:
    """Run all stages in a process of their own."""
    before, started_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [sys.executable, "-m", "inorder", "run", str(sources), "--data", str(data), "--quiet", "--dense", "hash"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(time.monotonic() - started_s, processor_s)


def count_bytes(data: Path) -> tuple[int, int]:
    """The number of files in DATA, and their bytes without the dense vectors."""
    files = [path for path in data.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files if not path.name.startswith("index.vectors."))
    return len(files), size - count_dense_bytes(data)


def count_dense_bytes(data: Path) -> int:
    """The bytes of the dense vectors in the store, as they are stored."""
    import sqlite3

    with sqlite3.connect(data / "store" / "embed.sqlite") as connection:
        query = "SELECT sum(length(content)) FROM items WHERE item_id GLOB 'dense/*'"
        return int(connection.execute(query).fetchone()[0] or 0)


def measure(count: int, folder: Path) -> dict[str, float]:
    """Measure all rows."""
    sources, data = folder / "documents", folder / "data"
    environment = make_environment(folder)
    make_documents(folder / "compiling", 1)
    run(folder / "compiling", folder / "compiling data", environment)
    make_documents(sources, count)
    time.sleep(RACY_S)
    first = run(sources, data, environment)
    files, size = count_bytes(data)
    again = run(sources, data, environment)
    changes = []
    for change in range(1, CHANGES + 1):
        change_documents(sources, count, change)
        changes.append(run(sources, data, environment))
    return {
        "documents": count,
        "processor_ms": first.processor_s * 1000 / count,
        "wall_ms": first.wall_s * 1000 / count,
        "files": files,
        "disk": size / (count * DOCUMENT_BYTES),
        "rerun_wall_s": again.wall_s,
        "rerun_processor_s": again.processor_s,
        "changed": statistics.median(changed.wall_s for changed in changes) / first.wall_s,
        "changed_processor": statistics.median(changed.processor_s for changed in changes) / first.processor_s,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="inorder-bench-", dir=os.environ.get("TMPDIR")))
    try:
        found = measure(chosen.documents, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if chosen.json:
        print(json.dumps(found))
        return
    for name, value in found.items():
        print(f"{name:18} {value:10.3f}")


if __name__ == "__main__":
    main()
