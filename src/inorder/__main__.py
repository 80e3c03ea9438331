"""Where the program starts, as `inorder` and as `python -m inorder`. Signals are handled before anything else is
imported, which takes longer than the start of the interpreter."""

from typing import NoReturn

from inorder.cli.exit_codes import exit_on_signals


def main() -> NoReturn:
    """Run the command line, and exit with its code."""
    exit_on_signals()
    from inorder.cli.app import run_program

    run_program()


if __name__ == "__main__":
    main()
