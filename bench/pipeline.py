"""What the whole pipeline costs for many small documents: `inorder run`, from files to the index.

    python bench/pipeline.py [--documents N] [--dense PROVIDER] [--json]

* `processor_ms`, `wall_ms`: milliseconds of processor time of all processes together, and of wall time, per document
* `files`: files in DATA (target: at most 14)
* `disk`: bytes in DATA per byte of text, dense vectors not counted (target: at most 7)
* `rerun_wall_s`, `rerun_processor_s`: seconds when nothing has changed (target: at most 0.8 s)
* `changed_wall_s`, `changed_processor_s`: seconds with 1 % of the documents changed (target: at most 1.5 s)

The last four have all values of several runs, one after the other. Every document is Markdown of 400 bytes: a title and
a few sentences of random words. The modules are compiled before, as those of an installed package are.
"""

import argparse
import json
import os
import shutil
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path

from commands import Cost, make_environment, measure_python
from notes import NOTE_BYTES, change_notes, make_notes

from inorder.library.schema import STEPS_MAX

ROUNDS = 5
RACY_S = 2.5
"""How long to wait before the first run. What was written just before a run is read again by the next one: its
timestamps do not show every change. Documents are rarely that new."""


def run(sources: Path, data: Path, dense: str, environment: dict[str, str]) -> Cost:
    """Run all steps in a process of their own."""
    arguments = ["-m", "inorder", "run", str(sources), "--data", str(data), "--quiet", "--dense", dense]
    return measure_python(arguments, environment)


def count_bytes(data: Path) -> tuple[int, int]:
    """The number of files in DATA, and their bytes without the dense vectors."""
    files = [path for path in data.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files if not path.name.startswith("library.vectors."))
    return len(files), size - count_dense_bytes(data)


def count_dense_bytes(data: Path) -> int:
    """The bytes of the dense vectors in the library, as they are stored."""
    query = (
        f"SELECT COALESCE(SUM(LENGTH(data)), 0) FROM results JOIN steps ON steps.id = key % {STEPS_MAX} "
        "WHERE name = 'embed:dense'"
    )
    with closing(sqlite3.connect(data / "library.sqlite")) as connection:
        return int(connection.execute(query).fetchone()[0])


def measure(count: int, dense: str, folder: Path) -> dict[str, float | list[float]]:
    """Measure all rows."""
    sources, data = folder / "documents", folder / "data"
    environment = make_environment(folder)
    make_notes(folder / "compiling", 1)
    for _ in range(2):  # a run with something to do, and one without
        run(folder / "compiling", folder / "compiling data", dense, environment)
    make_notes(sources, count)
    time.sleep(RACY_S)
    first = run(sources, data, dense, environment)
    files, size = count_bytes(data)
    again = [run(sources, data, dense, environment) for _ in range(ROUNDS)]
    changed = []
    for change in range(1, ROUNDS + 1):
        change_notes(sources, count, change)
        time.sleep(RACY_S)
        changed.append(run(sources, data, dense, environment))
    return {
        "documents": count,
        "processor_ms": first.processor_s * 1000 / count,
        "wall_ms": first.wall_s * 1000 / count,
        "files": files,
        "disk": size / (count * NOTE_BYTES),
        "rerun_wall_s": [each.wall_s for each in again],
        "rerun_processor_s": [each.processor_s for each in again],
        "changed_wall_s": [each.wall_s for each in changed],
        "changed_processor_s": [each.processor_s for each in changed],
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--dense", default="static")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="inorder-bench-", dir=os.environ.get("TMPDIR")))
    try:
        found = measure(chosen.documents, chosen.dense, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if chosen.json:
        print(json.dumps(found))
        return
    for name, value in found.items():
        values = value if isinstance(value, list) else [value]
        print(f"{name:20}", *(f"{each:9.3f}" for each in values))


if __name__ == "__main__":
    main()
