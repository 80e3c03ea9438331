"""Packages that only some providers need."""

import importlib
from typing import Any

from inorder.errors import OperatorError


def needed(module: str, *, by: str, extra: str) -> Any:
    """The module, imported now. Where it is missing, one line says what to install."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        missing = getattr(error, "name", None) or module
        raise OperatorError(
            f"{by} needs the package {missing.partition('.')[0]}: pip install 'inorder[{extra}]'"
        ) from None
