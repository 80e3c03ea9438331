from collections.abc import Callable

from tree_sitter import Node

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
def find_line_starts(data: bytes, /) -> list[int]: ...
