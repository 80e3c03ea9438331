"""The command: its name, its subcommands, and how errors and signals end it.

`commands/__init__.py` lists the subcommands. The lazy group in `command_group.py` imports the module of a subcommand
when it is run or when its own help is asked for. So `inorder --help` is quick, and the modules of commands import what
they need at their top.

A command raises. The exception says whose fault it was, and carries the exit code. Here it becomes one line on stderr
that says what happened and what to do. `--debug` adds the traceback.

Every worker process imports this module, because the program starts here. Typer is therefore imported in `run_command`.
"""

import gc
import os
import sys
import traceback
from collections.abc import Sequence
from typing import NoReturn

from inorder.cli.commands import COMMANDS
from inorder.cli.exit_codes import Exit, Interrupted, exit_on_signals, ignore_signals
from inorder.cli.extras import describe_missing_extra, extra_of
from inorder.cli.output import DEBUG, to_printable
from inorder.cli.output import error as print_error
from inorder.errors import InfrastructureError, IntegrityError, InvariantViolation, OperatorError
from inorder.host.standard_streams import open_standard_streams

_BUG = "this is a bug in inorder; please report it with the line above"
_GC_OBJECTS = 25_000
"""New containers between two runs of the garbage collector, in place of 700: a run makes many, and few cycles."""
_TRACE = "run it again with `inorder --debug ...` to see the traceback"


def run_program() -> NoReturn:
    """Run the command line, and exit with its code."""
    exit_on_signals()
    gc.set_threshold(_GC_OBJECTS, *gc.get_threshold()[1:])
    open_standard_streams()
    code = run_command(sys.argv[1:])
    ignore_signals()
    sys.exit(code)


def run_command(arguments: Sequence[str]) -> int:
    """Run one command line in this process. Returns the exit code."""
    try:
        from inorder.cli.command_group import invoke

        if any(":/" in each for each in arguments):
            from inorder.cli.options import warn_of_credentials

            warn_of_credentials(arguments)
        return invoke(list(arguments))
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else Exit.DONE
    except (OperatorError, InfrastructureError, IntegrityError, Interrupted) as error:
        return _report(error, error.exit_code, str(error))
    except InvariantViolation as error:
        return _report(error, Exit.INTEGRITY, "", _BUG)
    except OSError as error:
        return _report(error, Exit.FAILED, _describe_os_error(error))
    except Exception as error:
        extra = extra_of(error) if isinstance(error, ModuleNotFoundError) else None
        if extra is None:
            return _report(error, Exit.FAILED, "", _TRACE)
        return _report(error, Exit.USAGE, describe_missing_extra(_find_command(arguments), extra))


def _find_command(arguments: Sequence[str]) -> str:
    return next((argument for argument in arguments if argument in COMMANDS), "")


def _describe_os_error(error: OSError) -> str:
    """Return the path and what is wrong with it; empty: the error names no path."""
    path = error.filename
    return f"{to_printable(os.fsdecode(path))}: {error.strerror}" if isinstance(path, str | bytes) else ""


def _report(error: BaseException, code: int, message: str, hint: str = "") -> int:
    if os.environ.get(DEBUG):
        traceback.print_exception(error)
    print_error(message or f"{type(error).__name__}: {error}")
    for note in (*getattr(error, "__notes__", ()), hint):
        if note:
            print_error(note)
    return code
