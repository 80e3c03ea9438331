"""`--rerank overlap`: the more words of the question a text has, the better it fits."""

from collections.abc import Sequence
from typing import Any

import numpy as np


class Overlap:
    """Counts common words."""

    def __init__(self, detail: str) -> None:
        """`detail` is what follows the colon."""

    def score(self, question: str, texts: Sequence[str]) -> Any:
        """One number per text; a higher one is a better fit."""
        wanted = set(question.lower().split())
        return np.array([len(wanted & set(text.lower().split())) for text in texts], np.float64)
