"""Vectors without a model."""

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest

from inorder.documents.embed.providers.hashing import HashProvider
from tests.support.command_line import GUARD_S

pytestmark = pytest.mark.req("DOC-3")

TEXTS = ["A cat sat on the mat.", "", "x", "ab", "🙂 Straße ﬁ", "\ud800\0 odd", "word " * 500]
DIGEST = "76989c6ac0bd1e77d6c5ef33901d8596f9778a44344cf910d5614433e20a1c25"
PROGRAM = (
    "import hashlib, sys\n"
    "from inorder.documents.embed.providers.hashing import HashProvider\n"
    f"print(hashlib.sha256(HashProvider().embed({TEXTS!r}).tobytes()).hexdigest())"
)


@pytest.mark.process
@pytest.mark.parametrize("seed", ["0", "4711"])
def test_another_process_gives_the_same_bytes(seed: str) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    finished = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=GUARD_S, env=environment
    )
    assert finished.stdout.strip() == hashlib.sha256(HashProvider().embed(TEXTS).tobytes()).hexdigest()


def test_the_vectors_are_those_of_this_version() -> None:
    """Vectors lie on disks. Whoever changes them raises `VERSION`, and then this digest."""
    assert hashlib.sha256(HashProvider().embed(TEXTS).tobytes()).hexdigest() == DIGEST


def test_a_text_has_the_same_vector_whatever_stands_beside_it() -> None:
    together = HashProvider(64).embed(TEXTS)
    alone = np.concatenate([HashProvider(64).embed([text]) for text in TEXTS])
    assert together.tobytes() == alone.tobytes()


def test_texts_that_share_words_are_nearer_than_others() -> None:
    near, also, far = HashProvider().embed(
        ["the cat sat on the mat", "a cat sits upon the mats", "quarterly revenue grew by nine percent"]
    )
    assert near @ also > 0.3 > abs(near @ far) + 0.1


def test_case_and_ways_of_writing_the_same_do_not_matter() -> None:
    plain, loud, composed, decomposed = HashProvider().embed(
        ["café ﬁne", "CAFÉ FINE", "caf\u00e9 fine", "cafe\u0301 fine"]
    )
    for other in (loud, composed, decomposed):
        assert (plain == other).all()


def test_a_text_without_anything_in_it_still_has_a_direction() -> None:
    assert HashProvider(4).embed(["", "  "])[0].tolist() == [1.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("dimensions", [1, 7, 65_536])
def test_every_dimension_is_reached_and_none_beyond(dimensions: int) -> None:
    rows = HashProvider(dimensions).embed([" ".join(str(number) for number in range(3000))])
    assert rows.shape == (1, dimensions)
    assert np.count_nonzero(rows) > min(dimensions, 9000) / 3
