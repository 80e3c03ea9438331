"""The command itself: which commands there are, and what becomes of an error.

A command raises. Whose fault it is stands on the exception, and so does the exit code; here it becomes one line on
stderr, that says what happened and what to do. A traceback is for `--debug`, and for a bug of ours.
"""

import os
import sys
from typing import Annotated

import typer

from inorder import __version__
from inorder.cli import journal
from inorder.cli.output import complain
from inorder.core.invariants import InvariantViolation
from inorder.core.options import OperatorError
from inorder.errors import InfrastructureError, IntegrityError

app = typer.Typer(
    name="inorder",
    help="Compute in parallel. Commit in order. Lose nothing, repeat nothing.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
)
app.command("journal")(journal.journal)

_DEBUG = "INORDER_DEBUG"


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"inorder {__version__}")
        raise typer.Exit


@app.callback()
def inorder(
    debug: Annotated[bool, typer.Option("--debug", help="Show a traceback with an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Compute in parallel. Commit in order. Lose nothing, repeat nothing."""
    if debug:
        os.environ[_DEBUG] = "1"


def main() -> None:
    """Run the command, and leave with its exit code."""
    try:
        app()
    except (OperatorError, InfrastructureError, IntegrityError) as error:
        _leave(error, error.exit_code)
    except InvariantViolation as error:
        _leave(error, 6, "this is a bug of inorder; please report it with the line above")
    except BrokenPipeError:
        # Whoever read our output has gone; there is nobody to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except KeyboardInterrupt:
        _leave("interrupted; run the same again to go on", 130)
    except OSError as error:
        _leave(error, 1)


def _leave(error: BaseException | str, code: int, hint: str = "") -> None:
    if isinstance(error, BaseException) and os.environ.get(_DEBUG):
        raise error
    complain(str(error))
    if hint:
        complain(hint)
    sys.exit(code)
