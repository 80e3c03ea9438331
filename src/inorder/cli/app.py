"""The command itself: what becomes of an error, and of a signal.

A command raises. Whose fault it is stands on the exception, and so does the exit code; here it becomes one line on
stderr, that says what happened and what to do. A traceback is for `--debug`.

Every worker process imports this module once more, because it is where the program begins. So the commands themselves,
and Typer with them, are imported by `main`.
"""

import os
import signal
import sys
from types import FrameType

from inorder.cli.exit_codes import Exit, Interrupted
from inorder.cli.output import complain
from inorder.errors import InfrastructureError, IntegrityError, InvariantViolation, OperatorError

DEBUG = "INORDER_DEBUG"
_BUG = "this is a bug of inorder; please report it with the line above"
_TRACE = "run it again with `inorder --debug ...` to see where"


def main() -> None:
    """Run the command, and leave with its exit code."""
    _listen()
    try:
        from inorder.cli.command_group import app

        app()
    except (OperatorError, InfrastructureError, IntegrityError) as error:
        _leave(error, error.exit_code)
    except Interrupted as error:
        _leave(error, error.exit_code)
    except InvariantViolation as error:
        _leave(error, Exit.INTEGRITY, _BUG)
    except OSError as error:
        _leave(error, Exit.FAILED)
    except Exception as error:
        _leave(error, Exit.FAILED, _TRACE)


def _listen() -> None:
    """Until a run asks for the signals itself, they end the program, with the exit code of theirs."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise Interrupted(number)


def _leave(error: BaseException, code: int, hint: str = "") -> None:
    if os.environ.get(DEBUG):
        import traceback

        traceback.print_exception(error)
    is_ours = isinstance(error, OperatorError | InfrastructureError | IntegrityError | Interrupted)
    said = str(error)
    complain(said if is_ours and said else f"{type(error).__name__}: {said}")
    if hint:
        complain(hint)
    sys.exit(code)
