"""Find and encode the calls of a file. They are most of what is found in it, and the index stores them as they are."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from .model import CallSite, FileCalls

if TYPE_CHECKING:
    from .definitions import Definition
    from .matches import Span
    from .source import Source

Site = tuple[str, int, int]
"""Callee, line and column of a call."""
_ENCODER = msgspec.msgpack.Encoder()


def find_calls(calls: "Sequence[Span]", definitions: "Sequence[Definition]", source: "Source") -> FileCalls:
    """The calls in order, each with the innermost definition that encloses it. Calls and definitions are in the order
    of the file."""
    scopes = [each for each in definitions if each.has_chunk]
    return FileCalls(*encode_sites(_locate_calls(calls, scopes, source)), len(calls))


def encode_sites(sites: Sequence[CallSite]) -> tuple[bytes, bytes, list[str]]:
    """Encode calls: once as one row for each, and once as groups of consecutive calls of one caller, which is empty if
    there are none. Then the different names that are called, in the order of their first calls."""
    groups: list[tuple[str, list[Site]]] = []
    for site in sites:
        if not groups or groups[-1][0] != site.caller:
            groups.append((site.caller, []))
        groups[-1][1].append((site.callee, site.line, site.column))
    callees = list(dict.fromkeys([site.callee for site in sites]))
    return _ENCODER.encode(sites), _ENCODER.encode(groups) if groups else b"", callees


NO_CALLS = FileCalls(*encode_sites(()), 0)
"""Those of a file that is not parsed."""


def _locate_calls(calls: "Sequence[Span]", scopes: "Sequence[Definition]", source: "Source") -> list[CallSite]:
    found = []
    stack: list[Definition] = []
    starts = source.starts
    upcoming, line = 0, 1
    for start, end in calls:
        while starts[line] <= start:
            line += 1
        while upcoming < len(scopes) and scopes[upcoming].start <= start:
            _pop_ended(stack, scopes[upcoming].start)
            stack.append(scopes[upcoming])
            upcoming += 1
        _pop_ended(stack, start)
        caller = stack[-1].qualified_name if stack else ""
        before = source.text(starts[line - 1], start)
        found.append(CallSite(caller, source.text(start, end), line, len(before) + 1))
    return found


def _pop_ended(stack: "list[Definition]", start: int) -> None:
    while stack and stack[-1].end <= start:
        stack.pop()
