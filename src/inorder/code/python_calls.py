"""Encode the calls of a file in Python: the reference of the compiled function in `_calls.c`; see `calls`."""

from collections.abc import Sequence

import msgspec

from .model import CallSite, FileCalls
from .python_matches import Numbers, unpack_spans

Scope = tuple[int, int, str]
"""Start, end and qualified name of a definition."""
Site = tuple[str, int, int]
"""Callee, line and column of a call."""
_ENCODER = msgspec.msgpack.Encoder()


def encode_calls(
    calls: Numbers, scopes: list[Scope], starts: Numbers, data: bytes, text_start: int
) -> tuple[bytes, bytes, list[str]]:
    """Encode the calls in a text in UTF-8, each with the innermost scope that encloses it: once as one row for each,
    and once as groups of consecutive calls of one caller, which is empty if there are none. Then the different names
    that are called, in the order of their first calls. Calls, scopes and the starts of the lines are in the order of
    the file. The text begins at `text_start`, after a byte order mark."""
    return encode_sites(_locate_calls(calls, scopes, starts, data, text_start))


def encode_sites(sites: Sequence[CallSite]) -> tuple[bytes, bytes, list[str]]:
    """The same for calls that are known."""
    groups: list[tuple[str, list[Site]]] = []
    for site in sites:
        if not groups or groups[-1][0] != site.caller:
            groups.append((site.caller, []))
        groups[-1][1].append((site.callee, site.line, site.column))
    callees = list(dict.fromkeys([site.callee for site in sites]))
    return _ENCODER.encode(sites), _ENCODER.encode(groups) if groups else b"", callees


NO_CALLS = FileCalls(*encode_sites(()), 0)
"""Those of a file that is not parsed."""


def _locate_calls(calls: Numbers, scopes: list[Scope], starts: Numbers, data: bytes, text_start: int) -> list[CallSite]:
    found = []
    stack: list[Scope] = []
    upcoming, line = 0, 1
    for start, end in unpack_spans(calls):
        while starts[line] <= start:
            line += 1
        while upcoming < len(scopes) and scopes[upcoming][0] <= start:
            _pop_ended(stack, scopes[upcoming][0])
            stack.append(scopes[upcoming])
            upcoming += 1
        _pop_ended(stack, start)
        caller = stack[-1][2] if stack else ""
        before = data[max(starts[line - 1], text_start) : start].decode("utf-8", "replace")
        found.append(CallSite(caller, data[start:end].decode("utf-8", "replace"), line, len(before) + 1))
    return found


def _pop_ended(stack: list[Scope], start: int) -> None:
    while stack and stack[-1][1] <= start:
        stack.pop()
