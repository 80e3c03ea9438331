"""Terms of chunks and their weights: the inverted index turned round, whatever its history."""

import random
import sqlite3
from io import BytesIO
from itertools import count

import numpy as np
import pytest

from inorder.index.lexical import inversion
from inorder.index.lexical.analysis import analyze
from inorder.index.lexical.schema import DamagedIndexError
from inorder.index.lexical.scoring import LexicalIndex, TermGroup
from inorder.index.lexical.weights import RANGE_TERMS, WeightedTerms, count_terms
from tests.index.lexical.test_postings import WORDS, Inverted

pytestmark = pytest.mark.req("DOC-3")


def weigh(
    connection: sqlite3.Connection, head_share: float = 0.5, range_terms: int = RANGE_TERMS
) -> list[dict[str, float]]:
    """The weights of the terms of all chunks, in the order of files."""
    ids = [id_ for (id_,) in connection.execute("SELECT id FROM chunks ORDER BY file, id")]
    shares = np.full(len(ids), head_share)
    weighted = WeightedTerms(connection, np.array(ids, np.int64), shares, BytesIO(), range_terms)
    return [
        dict(zip([weighted.terms[at] for at in numbers], weights.tolist(), strict=True))
        for numbers, weights in weighted
    ]


def make_texts(chance: random.Random) -> list[str]:
    return [" ".join(chance.choices(WORDS, k=chance.randint(0, 9))) for _ in range(chance.randint(0, 3))]


def build(texts: dict[int, list[str]]) -> Inverted:
    made = Inverted()
    for file in sorted(texts):
        made.add(file, *texts[file])
    made.invert()
    return made


def build_with_a_history(seed: int) -> tuple[Inverted, dict[int, list[str]]]:
    """An index with several segments, dead chunks, and chunks that are not in the order of their files."""
    chance, texts, made, files = random.Random(seed), dict[int, list[str]](), Inverted(), count()
    for _ in range(40):
        act = chance.random()
        if act < 0.5 or not texts:
            file = next(files) if act < 0.4 or not texts else chance.choice(list(texts))
            if file in texts:
                made.remove(file)
            texts[file] = make_texts(chance)
            made.add(file, *texts[file])
        elif act < 0.7:
            file = chance.choice(list(texts))
            made.remove(file)
            del texts[file]
        elif act < 0.9:
            made.invert()
        else:
            made.merge()
    made.invert()
    return made, texts


@pytest.mark.parametrize("seed", range(10))
def test_weights_depend_on_the_chunks_alone(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inversion, "_MERGED_POSTINGS", 10)
    made, texts = build_with_a_history(seed)
    expected = weigh(build(texts).connection)
    assert len(expected) == sum(map(len, texts.values()))
    assert weigh(made.connection) == expected
    assert weigh(made.connection, range_terms=5) == expected  # many ranges


@pytest.mark.parametrize("head_share", [0.5, 1.5])
@pytest.mark.parametrize("seed", range(10))
def test_the_weights_of_the_words_of_a_question_add_up_to_its_score(
    seed: int, head_share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inversion, "_MERGED_POSTINGS", 10)
    made, _ = build_with_a_history(seed)
    index = LexicalIndex(made.connection)
    question = ["lamp", "tide", "head1", "keeper"]
    terms = [term for word in question for term in analyze(word, "en")]
    body, head = index.score([TermGroup((term,)) for term in terms])
    scores = dict(zip(index.chunks.tolist(), (body + head_share * head).tolist(), strict=True))
    ids = [id_ for (id_,) in made.connection.execute("SELECT id FROM chunks ORDER BY file, id")]
    found = [sum(weights.get(term, 0.0) for term in terms) for weights in weigh(made.connection, head_share)]
    assert max(found) > 0
    assert found == pytest.approx([scores[id_] for id_ in ids], rel=1e-6)


def test_the_terms_of_a_chunk_are_those_of_its_text_and_headings_in_order() -> None:
    made = build({1: ["the lamp and the wick", ""], 2: ["lamp"]})
    first, empty, other = weigh(made.connection)
    assert list(first) == ["1", "and", "head", "head1", "lamp", "the", "wick"]
    assert list(empty) == ["1", "head", "head1"]
    assert list(other) == ["2", "head", "head2", "lamp"]
    assert first["wick"] > first["lamp"], "a rare word weighs more"
    assert first["the"] > first["lamp"], "and so does one that occurs twice"


def test_terms_are_counted_in_the_chunks_that_are_alive() -> None:
    made = build({1: ["lamp lamp tide", "lamp"], 2: ["lamp bell"], 3: ["bell"]})
    made.remove(2)
    found = count_terms(made.connection)
    numbers = zip(found.chunks.tolist(), found.counts.tolist(), strict=True)
    counted = dict(zip(found.terms, numbers, strict=True))
    assert [counted[word] for word in ("bell", "lamp", "tide")] == [(1, 1), (2, 3), (1, 1)]
    assert (counted["head"], "head2" in counted) == ((3, 3), False)
    assert found.sizes.tolist() == [5, 4, 4]


def test_an_empty_index_has_no_terms() -> None:
    assert weigh(Inverted().connection) == []
    assert count_terms(Inverted().connection).terms == []


def test_a_chunk_that_no_segment_has_is_damage() -> None:
    made = build({1: ["lamp"]})
    made.connection.execute("INSERT INTO chunks VALUES (77, 1)")
    with pytest.raises(DamagedIndexError, match="a chunk is in no segment"):
        weigh(made.connection)
