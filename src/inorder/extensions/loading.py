"""Imports code that is not ours. What goes wrong there becomes one line that names it."""

import importlib
import os
import re
import sys
from typing import Any, NamedTuple

from inorder.errors import OperatorError

_MODULE = r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)"
_ENTRY = re.compile(f"{_MODULE}:{_MODULE}")


class EntryName(NamedTuple):
    """What `package.module:name` names."""

    module: str
    name: str


def parse_entry(text: str) -> EntryName | None:
    """Parse `package.module:name`; None: the text is not one."""
    found = _ENTRY.fullmatch(text)
    return None if found is None else EntryName(found[1], found[2])


def import_module(name: str) -> Any:
    """Import a module from the current directory or an installed package. Raises OperatorError with the reason if that
    fails."""
    look_here()
    return import_installed(name)


def import_installed(name: str) -> Any:
    """Import a module from where Python looks. Raises OperatorError with the reason if that fails."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise OperatorError(
                f"no module named {name}, neither in the current directory nor among the installed packages"
            ) from error
        raise OperatorError(f"cannot import {name}: {describe_error(error)}") from error
    except (Exception, SystemExit) as error:
        raise OperatorError(f"cannot import {name}: {describe_error(error)}") from error


def look_here() -> None:
    """Have Python look for modules in the current directory, too: last, because that may be a repository of somebody
    else, whose modules must not hide installed ones."""
    here = os.getcwd()
    if here not in sys.path:
        sys.path.append(here)


def load_entry(entry: EntryName, *, is_installed: bool = False) -> Any:
    """Import what an entry names: from the current directory, too, unless it is that of an installed package. Raises
    OperatorError with the reason if that fails."""
    found = import_installed(entry.module) if is_installed else import_module(entry.module)
    for part in entry.name.split("."):
        if not hasattr(found, part):
            raise OperatorError(f"{entry.module} has no attribute {entry.name!r}")
        found = getattr(found, part)
    return found


def describe_error(error: BaseException) -> str:
    """Return an exception as one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())
