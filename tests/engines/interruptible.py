"""A program of its own, to be interrupted: `FOLDER HOW`, where each worker signs in the folder and then stays.

HOW is where its workers stay, in `python` or in `c`; or `break`: the program leaves the loop once the second worker
stays, says so, and goes on until its input ends; `collect` the same, with the garbage collected first.
"""

import gc
import os
import signal
import sys

from inorder import imap
from tests.support.misbehaviour import hold_interpreter, leave_word, wait_for


def stay(item: tuple[str, str]) -> int:
    """Write a pid file, and do not return, except in the modes that leave the loop."""
    folder, how = item
    if how == "tell":
        wait_for(f"{folder}/stays")
    leave_word(f"{folder}/{os.getpid()}.pid", os.getpid())
    if how == "c":
        hold_interpreter()
    while how == "python":
        leave_word(f"{folder}/stays", os.getpid())
        signal.pause()
    return os.getpid()


def main() -> None:
    folder, how = sys.argv[1:]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    hows = [how] * 4 if how in ("python", "c") else ["tell", "python"]
    for _ in imap(stay, [(folder, each) for each in hows], workers=2):
        break
    if how == "collect":
        gc.collect()
    print("left", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
