from array import array
from collections.abc import Callable

from tree_sitter import Node

def sort_matches(
    matches: list[tuple[int, dict[str, list[Node]]]],
    roles: dict[int, tuple[str, str, bool]],
    find_role: Callable[[dict[str, list[Node]]], tuple[str, str, bool]],
    /,
) -> tuple[
    array[int],
    array[int],
    array[int],
    array[int],
    list[tuple[int, dict[str, list[Node]]]],
    list[tuple[int, dict[str, list[Node]]]],
]: ...
def find_line(starts: array[int], byte: int, /) -> int: ...
def find_line_starts(data: bytes, /) -> array[int]: ...
