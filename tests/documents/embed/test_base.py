"""Rows of unit length, or none."""

import numpy as np
import pytest

from inorder.documents.embed.providers.base import normalize_rows, replace_surrogates

pytestmark = pytest.mark.req("DOC-3")


def test_rows_come_out_with_unit_length_and_their_direction() -> None:
    rows = normalize_rows(np.array([[3.0, 4.0], [1e-18, 0.0], [1e18, 1e18]], dtype=np.float32))
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, [[0.6, 0.8], [1.0, 0.0], [0.5**0.5, 0.5**0.5]], rtol=1e-6)


@pytest.mark.parametrize("bad", [0.0, np.nan, np.inf, -np.inf])
def test_a_row_without_a_direction_is_refused_and_named(bad: float) -> None:
    matrix = np.array([[1.0, 1.0], [0.0, bad]], dtype=np.float32)
    with pytest.raises(ValueError, match="text 1 is zero or not finite"):
        normalize_rows(matrix)


@pytest.mark.parametrize(("text", "sent"), [("plain 🙂\0", "plain 🙂\0"), ("half \ud800 pair", "half ? pair")])
def test_only_what_utf8_cannot_carry_is_replaced(text: str, sent: str) -> None:
    assert replace_surrogates(text) == sent
