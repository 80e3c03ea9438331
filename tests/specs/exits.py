"""Tables of the page on exit codes: the codes as the code declares them, and what gives which."""

import ast
import inspect
import signal

from inorder import errors
from inorder.cli import exit_codes
from inorder.cli.exit_codes import Exit, exit_code_of
from inorder.stage.contracts import StageOutcome
from tests.specs.pages import code, table


def codes() -> str:
    meanings = _meanings()
    return table(("code", "name", "meaning"), [(one.value, code(one.name), meanings[one.name]) for one in Exit])


def _meanings() -> dict[str, str]:
    """The docstring under each member."""
    tree = ast.parse(inspect.getsource(exit_codes))
    [found] = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Exit"]
    meanings = {}
    for node, after in zip(found.body, found.body[1:], strict=False):
        match node, after:
            case ast.Assign(targets=[ast.Name(name)]), ast.Expr(ast.Constant(str() as text)):
                meanings[name] = " ".join(text.split())
    return meanings


def outcomes() -> str:
    rows = []
    for what, outcome in (
        ("completed, nothing failed", _outcome()),
        ("completed, some items failed", _outcome(failed=1)),
        ("`error budget`", _outcome(failed=1, stop_kind="error budget")),
        ("`budget`", _outcome(stop_kind="budget")),
        ("`infrastructure`", _outcome(stop_kind="infrastructure")),
        ("`cancelled` by SIGINT", _outcome(stop_kind="cancelled", stop_signal=signal.SIGINT)),
        ("`cancelled` by SIGTERM", _outcome(stop_kind="cancelled", stop_signal=signal.SIGTERM)),
    ):
        rows.append((what, exit_code_of(outcome).value))
    return table(("how a run ended, or its `stop_kind`", "code"), rows)


def _outcome(**fields: object) -> StageOutcome:
    known = dict.fromkeys(StageOutcome.__struct_fields__, 0)
    known |= {"stage": "s", "run_id": "r", "was_cancelled": False, "cancel_reason": None, "stop_kind": None}
    known |= {"stop_signal": None, "resumed_at": None, "errors": [], "warnings": []}
    return StageOutcome(**(known | fields))


def raised() -> str:
    """The errors that end a command. Those of single items fail these items, and `SyncError` is an
    `InfrastructureError`."""
    others = ("InorderError", "ItemError", "ReadError", "StageError", "SyncError")
    found = {name: getattr(errors, name) for name in errors.__all__ if name not in others}
    rows = [(code(name), error.exit_code) for name, error in found.items() if hasattr(error, "exit_code")]
    return table(("error", "code"), sorted(rows, key=lambda row: (row[1], row[0])))
