"""Order the first hits again with a model that is too slow for all chunks.

    cross-encoder:NAME      reads the question and a chunk together: the most accurate, some ten milliseconds per chunk
    a plug-in               NAME, NAME:DETAIL, module:name or module:name:DETAIL of the kind rerankers
    a dense provider        compares the vector of the question with those of the chunks, which it computes during the
                            search; also for code, which has no stored vectors

Both scores are scaled to 0..1 and added, because the first search knows exact words that models overlook.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from inorder.documents.embed.providers.cross_encoder import open_cross_encoder
from inorder.documents.embed.providers.registry import CROSS_ENCODER, PROVIDERS
from inorder.documents.embed.providers.registry import KIND as PROVIDER
from inorder.errors import require
from inorder.extensions.registry import Plugin, Registry, list_named
from inorder.index.hits import Hit

from .fusion import MODEL_WEIGHT, dense_weight, scale
from .question_provider import open_question_provider

HITS_MAX = 50
"""Hits that are ordered again."""
KIND = "rerankers"
TABLE: Registry[str | Plugin] = Registry(KIND, {CROSS_ENCODER: CROSS_ENCODER}, lambda plugin: plugin)
"""What reads a question and a text together: that above, and plug-ins. A dense provider is one, too."""
CROSS_ENCODER_WEIGHT = 2.0
"""Weight of a cross-encoder. The first search has the weight 1."""

Scorer = Callable[[str, Sequence[str]], npt.NDArray[np.float64]]


def rerank(question: str, hits: Sequence[Hit], spec: str) -> list[Hit]:
    """The hits in their new order. Those after the first `HITS_MAX` stay behind them."""
    if not hits:
        return []
    score, weight = open_scorer(spec)
    first = list(hits[:HITS_MAX])
    highest = max(hit.score for hit in hits) or 1.0
    scores = scale(np.round(score(question, [_describe(hit) for hit in first]), 6))
    for hit, found in zip(first, scores, strict=True):
        hit.shares = {"search": hit.score / highest, "rerank": weight * float(found)}
    for hit in hits[HITS_MAX:]:
        hit.shares = {"search": hit.score / highest}
    for hit in hits:
        hit.score = sum(hit.shares.values())
    ranked = sorted(hits, key=lambda hit: -hit.score)  # stable: equal scores keep the order of the search
    for rank, hit in enumerate(sorted(first, key=lambda hit: -hit.shares["rerank"]), 1):
        hit.ranks = {**hit.ranks, "rerank": rank}
    return ranked


@lru_cache(maxsize=2)
def open_scorer(spec: str) -> tuple[Scorer, float]:
    """The function that scores texts for a question, and its weight. A model stays loaded for later questions."""
    kind, name = TABLE.split(spec)
    row = None if _is_provider(spec.partition(":")[0]) else TABLE.find(kind)
    if isinstance(row, Plugin):
        return row.load()(name).score, CROSS_ENCODER_WEIGHT
    if row == CROSS_ENCODER:
        require(bool(name), f"{CROSS_ENCODER} needs a folder or a name: {CROSS_ENCODER}:NAME")
        return open_cross_encoder(name).score, CROSS_ENCODER_WEIGHT
    provider = open_question_provider(spec)

    def score(question: str, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        vectors = provider.embed([question, *texts])
        return np.asarray(vectors[1:] @ vectors[0], np.float64)

    weight = dense_weight(spec)
    return score, 2 * weight if weight == MODEL_WEIGHT else weight


def _is_provider(name: str) -> bool:
    return name in PROVIDERS or (
        name != CROSS_ENCODER and not list_named(KIND, name) and bool(list_named(PROVIDER, name))
    )


def _describe(hit: Hit) -> str:
    return f"{hit.name or hit.context.rpartition(' > ')[0]}\n{hit.text}".strip()
