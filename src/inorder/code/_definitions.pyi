from tree_sitter import Node

from .python_definitions import Definition, DefinitionRules

def find_definitions(
    matches: list[tuple[int, dict[str, list[Node]]]],
    roles: dict[int, tuple[str, str, bool]],
    comments: list[tuple[int, int]],
    attached: list[tuple[int, int]],
    docs: list[tuple[int, int]],
    starts: list[int],
    data: bytes,
    text_start: int,
    rules: DefinitionRules,
    make: type[Definition],
    /,
) -> list[Definition]: ...
