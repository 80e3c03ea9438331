"""The functions that are compiled, and their references in Python."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

import pytest

from inorder.code import (
    calls,
    captures,
    definitions,
    pieces,
    python_calls,
    python_definitions,
    python_matches,
    python_pieces,
    source,
)

COMPILED = pytest.mark.skipif(
    any(find_spec(f"inorder.code.{name}") is None for name in ("_calls", "_definitions", "_matches", "_pieces")),
    reason="inorder was built without a C compiler",
)


@contextmanager
def use_python() -> Iterator[None]:
    """Parse with the functions in Python."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(captures, "sort_matches", python_matches.sort_matches)
        patch.setattr(definitions, "_find_definitions", python_definitions.find_definitions)
        patch.setattr(calls, "encode_calls", python_calls.encode_calls)
        patch.setattr(source, "find_line", python_matches.find_line)
        patch.setattr(source, "find_line_starts", python_matches.find_line_starts)
        patch.setattr(pieces, "_group_lines", python_pieces.group_lines)
        yield
