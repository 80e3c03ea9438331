"""The command: its name, its subcommands, and how errors and signals end it.

`commands/__init__.py` lists the subcommands. The lazy group in `command_group.py` imports the module of a subcommand
when it is run or when its own help is asked for. So `inorder --help` is quick, and the modules of commands import what
they need at their top.

A command raises. The exception says whose fault it was, and carries the exit code. Here it becomes one line on stderr
that says what happened and what to do. `--debug` adds the traceback.

Every worker process imports this module, because the program starts here. Typer is therefore imported in `run_command`.
"""

import atexit
import gc
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module
from types import FrameType
from typing import NoReturn

from inorder.cli.commands import COMMANDS, find_module
from inorder.cli.exit_codes import Exit, Interrupted
from inorder.cli.extras import describe_missing_extra, extra_of
from inorder.cli.output import DEBUG
from inorder.cli.output import error as print_error
from inorder.errors import InfrastructureError, IntegrityError, InvariantViolation, OperatorError
from inorder.host.memory import keep_loaded, pause_collector

_BUG = "this is a bug in inorder; please report it with the line above"
_GC_OBJECTS = 25_000
"""New containers between two runs of the garbage collector, in place of 700: a run makes many, and few cycles."""
_TRACE = "run it again with `inorder --debug ...` to see the traceback"


def run_program() -> NoReturn:
    """Run the command line, and end this process with its code."""
    try:
        main()
    except SystemExit as leaving:
        end_process(leaving.code if isinstance(leaving.code, int) else Exit.FAILED)


def main() -> NoReturn:
    """Run the command line, and exit with its code."""
    gc.set_threshold(_GC_OBJECTS, *gc.get_threshold()[1:])
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)  # until a run installs handlers of its own
    code = run_command(sys.argv[1:], is_program=True)
    gc.freeze()  # otherwise the interpreter looks for cycles in all modules, several times, before it ends: 40 ms
    sys.exit(code)


def end_process(code: int) -> NoReturn:
    """End this process at once, after what is to be done at exit. Otherwise the interpreter releases all objects before
    it ends, one by one: 15 ms. Threads that are to end first, and streams that cannot be written, are left to it."""
    threads = [thread for thread in threading.enumerate() if thread is not threading.main_thread()]
    if not all(thread.daemon for thread in threads):
        sys.exit(code)
    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        sys.exit(code)
    os._exit(code)


def run_command(arguments: Sequence[str], *, is_program: bool = False) -> int:
    """Run one command line in this process. Returns the exit code. `is_program`: this process does nothing else."""
    try:
        return _import_command(arguments, is_program=is_program)(list(arguments))
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else Exit.DONE
    except (OperatorError, InfrastructureError, IntegrityError, Interrupted) as error:
        return _report(error, error.exit_code, str(error))
    except InvariantViolation as error:
        return _report(error, Exit.INTEGRITY, "", _BUG)
    except OSError as error:
        return _report(error, Exit.FAILED, "")
    except Exception as error:
        extra = extra_of(error) if isinstance(error, ModuleNotFoundError) else None
        if extra is None:
            return _report(error, Exit.FAILED, "", _TRACE)
        return _report(error, Exit.USAGE, describe_missing_extra(_find_command(arguments), extra))


def _import_command(arguments: Sequence[str], *, is_program: bool) -> Callable[[list[str]], int]:
    """Import what a command line needs. The collector of reference cycles would find none among modules."""
    with pause_collector():
        from inorder.cli.command_group import invoke

        if arguments and arguments[0] in COMMANDS:
            import_module(find_module(arguments[0]))
        if is_program:
            keep_loaded()
    return invoke


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise Interrupted(number)


def _find_command(arguments: Sequence[str]) -> str:
    return next((argument for argument in arguments if argument in COMMANDS), "")


def _report(error: BaseException, code: int, message: str, hint: str = "") -> int:
    if os.environ.get(DEBUG):
        traceback.print_exception(error)
    print_error(message or f"{type(error).__name__}: {error}")
    for note in (*getattr(error, "__notes__", ()), hint):
        if note:
            print_error(note)
    return code
