"""The command line with a disk that fails once: `python -m tests.crash.faulty_command FOLDER KIND NUMBER ARGUMENTS`."""

import sys

from inorder.cli.exit_codes import exit_on_signals


def main() -> None:
    """Run the command as `inorder` does."""
    exit_on_signals()
    from inorder.cli.app import run_program
    from tests.support.disk_faults import disk_of

    program, folder, kind, number, *arguments = sys.argv
    sys.argv = [program, *arguments]
    with disk_of(folder, kind, int(number)):  # type: ignore[arg-type]
        run_program()


if __name__ == "__main__":
    main()
