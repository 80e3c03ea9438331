from array import array

from tree_sitter import Node

from .python_definitions import Definition, DefinitionRules

def find_definitions(
    matches: list[tuple[int, dict[str, list[Node]]]],
    roles: dict[int, tuple[str, str, bool]],
    comments: array[int],
    attached: array[int],
    docs: array[int],
    starts: array[int],
    data: bytes,
    text_start: int,
    rules: DefinitionRules,
    make: type[Definition],
    /,
) -> list[Definition]: ...
