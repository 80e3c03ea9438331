"""Find the calls of a file."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .model import CallSite

if TYPE_CHECKING:
    from .definitions import Definition
    from .matches import Span
    from .source import Source


def find_calls(calls: "Sequence[Span]", definitions: "Sequence[Definition]", source: "Source") -> list[CallSite]:
    """The calls in order, each with the innermost definition that encloses it. Calls and definitions are in the order
    of the file."""
    scopes = [each for each in definitions if each.has_chunk]
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
