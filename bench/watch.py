"""How long one changed file takes under `inorder watch`: from the end of the settle time to searchable.

    python -m bench.watch --files 10000 100000 [--in FOLDER]

A watch runs over synthetic notes of 400 bytes. One note after the other gets a word that no other has. The time is from
the event `run_started` of the watch to the first answer of the library that has the word. With `--in`, the notes and
the library of each size are kept in a folder, and used again by the next call.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import inorder

from .commands import make_environment
from .notes import make_notes, note_path

SETTLE_S = 0.2
PAUSE_S = 2.0
LIMIT_S = 60.0


def measure(folder: Path, count: int, changes: int) -> list[float]:
    """Make the notes and the library, and return the seconds that each change took."""
    notes = folder / "notes"
    if not notes.exists():
        make_notes(notes, count)
    command = [sys.executable, "-m", "inorder", "watch", "notes", "--data", "data", "--json", "-q"]
    watch = subprocess.Popen(
        [*command, "--settle", str(SETTLE_S)],
        cwd=folder,
        env=make_environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        wait_for(watch, "run_ended")
        with inorder.open(folder / "data") as data:
            data.search("lamp")  # which loads what a question needs
            return [change_one(watch, data, note_path(notes, number * 7 % count), number) for number in range(changes)]
    finally:
        watch.terminate()
        watch.wait()


def wait_for(watch: "subprocess.Popen[str]", event: str) -> dict[str, Any]:
    """The next event of a kind."""
    assert watch.stdout is not None
    for line in watch.stdout:
        found: dict[str, Any] = json.loads(line)
        if found["event"] == event:
            return found
    raise SystemExit("the watch has ended")


def change_one(watch: "subprocess.Popen[str]", data: inorder.Dataset, note: Path, number: int) -> float:
    """Change a note, and return how long it took until its new word was found."""
    time.sleep(PAUSE_S)
    word = f"zq{'abcdefghij'[number % 10]}lamp{number}"
    note.write_text(f"# Changed\n\nThe word is {word}.\n")
    started_s = wait_for(watch, "run_started")["time_ms"] / 1000
    while time.time() - started_s < LIMIT_S:
        if any(word in hit.text for hit in data.search(word, k=1).hits):
            found_s = time.time() - started_s
            wait_for(watch, "run_ended")
            return found_s
        time.sleep(0.005)
    raise SystemExit(f"the word was not found within {LIMIT_S:g} s")


def main() -> None:
    """Measure every size, and print all values."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, nargs="+", default=[10_000])
    parser.add_argument("--changes", type=int, default=8)
    parser.add_argument("--in", type=Path, dest="kept")
    chosen = parser.parse_args()
    for count in chosen.files:
        folder = Path(tempfile.mkdtemp(prefix="bench-watch-")) if chosen.kept is None else chosen.kept / str(count)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            found = measure(folder, count, chosen.changes)
        finally:
            if chosen.kept is None:
                shutil.rmtree(folder)
        print(f"{count:,} notes, seconds from the end of the settle time to searchable: ", end="")
        print(", ".join(f"{each:.2f}" for each in found))


if __name__ == "__main__":
    main()
