"""A program that iterates with a journal and keys over the items of a file, and dies where it is told to.

Run by `test_changed_inputs.py`: `FOLDER DIE_AFTER WHERE`. It appends every result to `FOLDER/results`; -1 never dies.
"""

import os
import signal
import sys
from pathlib import Path

import inorder


def shout(name: str) -> str:
    """Return the item in capitals."""
    return name.upper()


def main(folder: Path, die_after: int, where: str) -> None:
    """Write each result before the next one is asked for."""
    names = (folder / "items").read_text().split()
    results = inorder.imap(
        shout,
        names,
        workers=None if where == "inline" else 2,
        where=where,  # type: ignore[arg-type]
        journal=folder / "journal",
        key=str,
        spool="disk" if where == "processes" else "memory",
        options=inorder.RunOptions(fsync="off"),
    )
    with open(folder / "results", "ab", buffering=0) as file:
        for count, result in enumerate(results):
            file.write(f"{result}\n".encode())
            if count == die_after:
                os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
