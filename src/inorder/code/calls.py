"""Encode the calls of a file. They are most of what is found in it, and the index stores them as they are.

This is compiled (`_calls.c`). Where inorder was built without a C compiler, `python_calls` does the same.
"""

from collections.abc import Sequence

from .matches import Numbers
from .model import FileCalls
from .python_definitions import Definition
from .source import Source

try:
    from ._calls import encode_calls
except ImportError:
    from .python_calls import encode_calls


def find_calls(calls: Numbers, definitions: Sequence[Definition], source: Source) -> FileCalls:
    """The calls in order, each with the innermost definition that encloses it."""
    scopes = [(each.start, each.end, each.qualified_name) for each in definitions if each.has_chunk]
    return FileCalls(*encode_calls(calls, scopes, source.starts, source.data, source.text_start), len(calls) // 2)
