from collections.abc import Callable

from tree_sitter import Node

def sort_matches(
    matches: list[tuple[int, dict[str, list[Node]]]],
    roles: dict[int, tuple[str, str, bool]],
    find_role: Callable[[dict[str, list[Node]]], tuple[str, str, bool]],
    /,
) -> tuple[
    list[tuple[int, int]],
    list[tuple[int, int]],
    list[tuple[int, int]],
    list[tuple[int, int]],
    list[tuple[int, dict[str, list[Node]]]],
    list[tuple[int, dict[str, list[Node]]]],
]: ...
def find_line_starts(data: bytes, /) -> list[int]: ...
