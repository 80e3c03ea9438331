"""Combine the scores of lexical and dense search.

The scores of each list are scaled to 0..1 over the candidates of a question, and added with a weight for the dense
list. Scores say more than ranks: one chunk that is far better than all others stays first. The weights were chosen on
questions about text in several languages. A dense list helps by what it knows beyond the words, so vectors of a model
weigh most, and hashed words and spellings next to nothing.
"""

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Scores = npt.NDArray[np.float64]

HASH_WEIGHT = 0.1
"""Weight of the dense list if the vectors come without a model."""
STATIC_WEIGHT = 0.15
"""Weight of the dense list if the vectors are sums of static word vectors."""
STATIC_CODE_WEIGHT = 0.35
"""The same where it orders chunks of code among each other. What they are for is said in few words."""
MODEL_WEIGHT = 0.5
"""Weight of the dense list if a model computes the vectors."""
_WEIGHTS = {"hash": HASH_WEIGHT, "static": STATIC_WEIGHT, "wordllama": STATIC_WEIGHT}


def dense_weight(provider: str) -> float:
    """The weight of the dense list. The lexical list has the weight 1."""
    return _WEIGHTS.get(provider.partition(":")[0], MODEL_WEIGHT)


def code_weight(provider: str) -> float:
    """The weight of the dense list among chunks of code."""
    weight = dense_weight(provider)
    return STATIC_CODE_WEIGHT if weight == STATIC_WEIGHT else weight


def scale(scores: Scores) -> Scores:
    """Scale scores to 0..1. A chunk without a score (NaN) gets the mean: nothing is known for it or against it."""
    known = scores[~np.isnan(scores)]
    if not len(known):
        return np.zeros(len(scores))
    low, high = known.min(), known.max()
    scaled = (scores - low) / (high - low) if high > low else np.full(len(scores), float(high > 0))
    mean = math.fsum(scaled[~np.isnan(scores)].tolist()) / len(known)  # does not depend on the order of the candidates
    return np.where(np.isnan(scores), mean, scaled)


def fuse(lists: Mapping[str, Scores], weights: Mapping[str, float]) -> dict[str, Scores]:
    """What each list contributes to the score of each candidate."""
    return {name: weights[name] * scale(scores) for name, scores in lists.items()}


def scale_to(scores: Scores, highest: float) -> Scores:
    """Scores, 0 or more, multiplied so that the highest is this one."""
    return scores * (highest / scores.max()) if scores.max() > 0 else scores
