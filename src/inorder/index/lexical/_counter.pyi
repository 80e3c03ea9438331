from collections.abc import Callable, Sequence
from typing import Any

import numpy.typing as npt

class TermCounter:
    def __init__(self, stem_many: Callable[[list[str]], Sequence[str]]) -> None: ...
    def __len__(self) -> int: ...
    def count(
        self, fields: Sequence[str | Sequence[str]], /
    ) -> tuple[str, bytes, bytes, bytes, bytes, bytes, bytes]: ...

Columns = tuple[bytes, bytes, bytes]

class PostingScorer:
    def __init__(
        self, alive: npt.NDArray[Any], body_norms: npt.NDArray[Any], head_norms: npt.NDArray[Any], alive_count: float
    ) -> None: ...
    def find(
        self, groups: list[tuple[float, bool, list[tuple[int, int, bytes, bytes]]]], saturation: float, /
    ) -> tuple[Columns, list[int]]: ...
