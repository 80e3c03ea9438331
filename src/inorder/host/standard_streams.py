"""Standard streams that were closed when the process was started, as with `>&-`."""

import os
import sys

_NAMES = ("stdin", "stdout", "stderr")


def open_standard_streams() -> None:
    """Open the null device in place of standard streams that are closed. Otherwise the next file or pipe would get the
    number of one, and receive what is printed. Processes that are started inherit it."""
    for number, name in enumerate(_NAMES):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            os.dup2(opened, number)
            if opened != number:
                os.close(opened)
            os.set_inheritable(number, True)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8", closefd=False))  # noqa: SIM115
