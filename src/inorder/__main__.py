"""Where the program starts, as `inorder` and as `python -m inorder`. Signals are handled before anything else is
imported, which takes longer than the start of the interpreter."""

import os
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line, and exit with its code."""
    from inorder.cli.exit_codes import exit_on_signals

    exit_on_signals()
    from inorder.cli.app import run_program

    run_program()


def _leave_current_folder_out() -> None:
    """Have modules come from where they are installed, as for `inorder`. `python -m` looks in the current folder first,
    which may be a repository of somebody else."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if not sys.flags.safe_path and sys.path[:1] == [os.getcwd()] != [here]:
        del sys.path[0]


if __name__ == "__main__":
    _leave_current_folder_out()
    main()
