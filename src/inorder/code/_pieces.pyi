from array import array
from collections.abc import Callable

from .python_definitions import Definition
from .python_pieces import LineGroup, LineLimits, LineRange, LongPiece

def group_lines(
    definitions: list[Definition],
    starts: array[int],
    data: bytes,
    split: Callable[[list[LongPiece]], list[list[LineRange]]],
    function_kinds: frozenset[str],
    limits: LineLimits,
    /,
) -> list[LineGroup]: ...
