"""A program that iterates with a journal and dies where it is told to. Run by the tests of `imap(journal=)`."""

import os
import signal
import sys
from pathlib import Path

import inorder


def double(number: int) -> int:
    """Leave a trace of every call, then answer."""
    with open(os.environ["CALLS"], "a", encoding="ascii") as calls:
        calls.write(f"{number}\n")
    return 2 * number


def main(folder: Path, count: int, where: str, fsync: str, die_at: int) -> None:
    """Append every result to a file; die after the result of `die_at` was written."""
    results = inorder.imap(
        double,
        range(count),
        where=where,
        workers=None if where == "inline" else 2,
        journal=folder / "journal",
        options=inorder.RunOptions(fsync=fsync),
    )
    with open(folder / "results", "a", encoding="ascii") as file:
        for result in results:
            file.write(f"{result}\n")
            file.flush()
            if result == 2 * die_at:
                os.kill(os.getpid(), signal.SIGKILL)
    print(getattr(results, "position"))  # noqa: B009


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4], int(sys.argv[5]))
