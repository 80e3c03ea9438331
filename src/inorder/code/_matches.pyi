from collections.abc import Callable

from tree_sitter import Node

from .model import CallSite

def sort_matches(
    matches: list[tuple[int, dict[str, list[Node]]]],
    roles: dict[int, str],
    find_role: Callable[[dict[str, list[Node]]], str],
    /,
) -> tuple[
    list[tuple[int, int]],
    list[tuple[int, int]],
    list[tuple[int, int]],
    list[tuple[int, int]],
    list[tuple[int, dict[str, list[Node]]]],
]: ...
def locate_calls(
    calls: list[tuple[int, int]],
    scopes: list[tuple[int, int, str]],
    starts: list[int],
    data: bytes,
    text_start: int,
    make: type[CallSite],
    /,
) -> tuple[CallSite, ...]: ...
def find_line_starts(data: bytes, /) -> list[int]: ...
