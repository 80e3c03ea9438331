"""The rules that every provider and every reranker of a plug-in must keep, as checks that authors can run on theirs.

Each rule takes a function that returns a provider of dense or of sparse vectors, or a reranker. It raises `BrokenRule`
if that breaks the rule.

    @pytest.mark.parametrize("rule", PROVIDER_RULES, ids=lambda rule: rule.__name__)
    def test_my_provider(rule):
        rule(lambda: MyProvider(""))
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from inorder.lanes import Lane, LaneConfig
from inorder.sinks.testing import expect

MakeProvider = Callable[[], Any]
_TEXTS = [f"text number {number} " + "and one word more " * (number % 5) for number in range(20)]
_ODD = ["", " ", "half of a pair \ud800", "NUL \0 inside", "\ufffe\uffff", "x" * 100_000, "word " * 20_000]
_CLOSE = 1e-4
_CALLERS = 4


def says_what_it_is(make: MakeProvider) -> None:
    """It has a name, and the size of its vectors."""
    provider = make()
    expect(isinstance(provider.name, str) and bool(provider.name), "name must be a text that is not empty")
    size = provider.dimensions if _is_dense(provider) else provider.vocabulary_size
    expect(isinstance(size, int) and size > 0, "dimensions, or vocabulary_size, must be a number above 0")


def gives_one_vector_per_text(make: MakeProvider) -> None:
    """There is a vector for each text, also for none, and each is one that can be stored."""
    provider = make()
    for texts in ([], _TEXTS[:1], _TEXTS):
        _embed(provider, texts)


def gives_a_text_the_same_vector_wherever_it_stands(make: MakeProvider) -> None:
    """The vector of a text depends neither on the texts beside it nor on the calls before."""
    provider = make()
    first, backwards = _embed(provider, _TEXTS), _embed(provider, _TEXTS[::-1])[::-1]
    alone = np.concatenate([_embed(provider, [text]) for text in _TEXTS])
    for other in (backwards, alone, _embed(make(), _TEXTS)):
        expect(np.allclose(first, other, atol=_CLOSE), "the vector of a text must not depend on what is beside it")


def takes_odd_texts(make: MakeProvider) -> None:
    """Empty, long and odd texts have a vector, too."""
    provider = make()
    for text in _ODD:
        _embed(provider, [text, "plain"])


def answers_several_threads(make: MakeProvider) -> None:
    """Threads that call at the same time get their own vectors."""
    provider = make()
    lists = [[f"text {caller} {number}" for number in range(5)] for caller in range(_CALLERS)]
    alone = [_embed(provider, texts) for texts in lists]
    callers = Lane(LaneConfig(name="callers", max_concurrency=_CALLERS))
    try:
        tickets = [callers.submit(_embed, provider, texts) for texts in lists]
        for ticket, expected in zip(tickets, alone, strict=True):
            found = ticket.result()
            expect(np.allclose(found, expected, atol=_CLOSE), "threads must get the vectors of their own texts")
    finally:
        callers.close()


def can_be_closed_twice(make: MakeProvider) -> None:
    """To close it again does nothing."""
    provider = make()
    provider.close()
    provider.close()


PROVIDER_RULES = (
    says_what_it_is,
    gives_one_vector_per_text,
    gives_a_text_the_same_vector_wherever_it_stands,
    takes_odd_texts,
    answers_several_threads,
    can_be_closed_twice,
)


def gives_one_score_per_text(make: MakeProvider) -> None:
    """There is a number for each text, also for none."""
    reranker = make()
    for texts in ([], _TEXTS[:1], _TEXTS):
        _score(reranker, texts)


def gives_a_text_the_same_score_wherever_it_stands(make: MakeProvider) -> None:
    """The score of a text depends neither on the texts beside it nor on the calls before."""
    reranker = make()
    first, backwards = _score(reranker, _TEXTS), _score(reranker, _TEXTS[::-1])[::-1]
    alone = np.concatenate([_score(reranker, [text]) for text in _TEXTS])
    for other in (backwards, alone, _score(make(), _TEXTS)):
        expect(np.allclose(first, other, atol=_CLOSE), "the score of a text must not depend on what is beside it")


def scores_odd_texts(make: MakeProvider) -> None:
    """Empty, long and odd texts and questions have a score, too."""
    reranker = make()
    for text in _ODD:
        _score(reranker, [text, "plain"])
        _score(reranker, ["plain"], text)


RERANKER_RULES = (
    gives_one_score_per_text,
    gives_a_text_the_same_score_wherever_it_stands,
    scores_odd_texts,
)


def _score(reranker: Any, texts: Sequence[str], question: str = "which number") -> Any:
    """The scores, after they were checked."""
    found = np.asarray(reranker.score(question, texts))
    expect(found.shape == (len(texts),), f"score must return {len(texts)} numbers, got the shape {found.shape}")
    is_number = np.issubdtype(found.dtype, np.floating) and bool(np.all(np.isfinite(found)))
    expect(is_number, "each score must be a finite number with a fraction")
    return found


def _is_dense(provider: Any) -> bool:
    return hasattr(provider, "embed")


def _embed(provider: Any, texts: Sequence[str]) -> Any:
    """The vectors as the rows of a matrix, after they were checked."""
    return _embed_dense(provider, texts) if _is_dense(provider) else _embed_sparse(provider, texts)


def _embed_dense(provider: Any, texts: Sequence[str]) -> Any:
    rows = provider.embed(texts)
    shape = (len(texts), provider.dimensions)
    expect(getattr(rows, "shape", None) == shape, f"embed must return a matrix of {shape}")
    expect(rows.dtype == np.float32, f"embed must return 32-bit floats, got {rows.dtype}")
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
    expect(np.allclose(lengths, 1.0, atol=_CLOSE), "each vector must have the length 1")
    return rows


def _embed_sparse(provider: Any, texts: Sequence[str]) -> Any:
    found = provider.encode(texts)
    expect(len(found) == len(texts), f"encode must return {len(texts)} vectors, got {len(found)}")
    rows = np.zeros((len(texts), provider.vocabulary_size), np.float32)
    for row, (terms, weights) in zip(rows, found, strict=True):
        expect(terms.dtype == np.int32 and weights.dtype == np.float32, "terms must be int32, and weights float32")
        expect(terms.shape == weights.shape and terms.ndim == 1, "there must be one weight per term")
        expect(bool(np.all(np.diff(terms) > 0)), "terms must ascend")
        expect(bool(np.all((terms >= 0) & (terms < provider.vocabulary_size))), "terms must be below vocabulary_size")
        expect(bool(np.all(np.isfinite(weights) & (weights > 0))), "weights must be above 0")
        row[terms] = weights
    return rows
