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
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from commands import Cost, make_environment, measure_python
from notes import NOTE_BYTES, change_notes, make_notes

CHANGES = 3
RACY_S = 2.5
"""How long to wait before the first run. What was written just before a run is read again by the next one: its
timestamps do not show every change. Documents are rarely that new."""


def run(sources: Path, data: Path, environment: dict[str, str]) -> Cost:
    """Run all stages in a process of their own."""
    arguments = ["-m", "inorder", "run", str(sources), "--data", str(data), "--quiet", "--dense", "hash"]
    return measure_python(arguments, environment)


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
    make_notes(folder / "compiling", 1)
    run(folder / "compiling", folder / "compiling data", environment)
    make_notes(sources, count)
    time.sleep(RACY_S)
    first = run(sources, data, environment)
    files, size = count_bytes(data)
    again = run(sources, data, environment)
    changes = []
    for change in range(1, CHANGES + 1):
        change_notes(sources, count, change)
        changes.append(run(sources, data, environment))
    return {
        "documents": count,
        "processor_ms": first.processor_s * 1000 / count,
        "wall_ms": first.wall_s * 1000 / count,
        "files": files,
        "disk": size / (count * NOTE_BYTES),
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
