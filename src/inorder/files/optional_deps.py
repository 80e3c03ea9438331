"""Packages that only some commands or settings need, and that come with an extra of inorder.

A missing one is an operator error whose message has the command that installs it.
"""

import importlib.util
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from inorder.errors import OperatorError


def missing_package(package: str, *, by: str, extra: str) -> OperatorError:
    """The error to raise when `by` (a command or an option) needs a package that is not installed."""
    return OperatorError(f"{by} needs the package {package}: pip install 'inorder[{extra}]'")


def require_module(module: str, *, by: str, extra: str) -> Any:
    """Import and return a module. Raises `OperatorError` if it, or a package that it imports, is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        missing = getattr(error, "name", None) or module
        raise missing_package(missing.partition(".")[0], by=by, extra=extra) from None


def find_package(package: str, *, by: str, extra: str) -> Path:
    """Return the folder of a package, without importing it. Raises `OperatorError` if it is not installed."""
    spec = importlib.util.find_spec(package.replace("-", "_"))
    if spec is None or not spec.submodule_search_locations:
        raise missing_package(package, by=by, extra=extra)
    return Path(spec.submodule_search_locations[0])


def require_packages(packages: Mapping[str, str], *, by: str, extra: str) -> None:
    """Check without importing anything that these modules can be imported. Maps each module to its package."""
    for module, package in packages.items():
        if find_spec(module) is None:
            raise missing_package(package, by=by, extra=extra)
