"""The identity of a function in a journal: its name, and its code or the version that the user gives it."""

import sys
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

from .code_identity import describe_code

CODE, VERSION = "code:", "version:"
PYTHON = f"{sys.implementation.name}-{sys.version_info[0]}.{sys.version_info[1]}"
"""The Python whose compiled code can be compared."""


def describe_version(function: Callable[..., Any], version: str) -> str:
    """Return the version that the user gives a function; if it is empty, the Python and a hash of the code."""
    return f"{VERSION}{version}" if version else f"{CODE}{PYTHON}:{hash_code(function)}"


def hash_code(function: Callable[..., Any]) -> str:
    """Return a hash of what the results of a function depend on."""
    text = "\0".join(describe_code(function))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
