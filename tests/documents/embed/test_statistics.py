"""The table of the statistics of a corpus."""

import pyarrow as pa
import pytest

from inorder.documents.embed.storage import make_statistics, write_statistics


@pytest.mark.parametrize("documents", [{}, {"zwei": (1, 2), "äpfel": (3, 2**40), "": (1, 1)}], ids=["none", "some"])
def test_the_table_is_the_one_that_pyarrow_makes_of_lists(documents: dict[str, tuple[int, int]]) -> None:
    made = make_statistics(7, 70, documents)
    terms = sorted(documents)
    columns = {
        "term": terms,
        "chunks": [documents[term][0] for term in terms],
        "count": [documents[term][1] for term in terms],
    }
    expected = pa.table(columns, schema=made.schema)
    made.validate(full=True)
    assert made == expected
    assert write_statistics(made) == write_statistics(expected)
