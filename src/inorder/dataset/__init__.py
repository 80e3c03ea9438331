"""DATA as a dataset: read it in Python, and export it for other tools. These are the public names.

`inorder.open` returns a `Dataset`. The other names are those of what its methods take and return.
"""

from typing import TYPE_CHECKING

from inorder.lazy_names import make_getattr

if TYPE_CHECKING:
    from inorder.dataset.boxes import PageBox
    from inorder.dataset.content_tables import ContentTable
    from inorder.dataset.dataset import Dataset, SearchWhere
    from inorder.dataset.dataset import open as open
    from inorder.dataset.document import DatasetDocument
    from inorder.dataset.export.options import ExportOutcome
    from inorder.dataset.extracted import ExtractedFields
    from inorder.dataset.rows import Rows
    from inorder.dataset.tables import DenseVector, LexicalTerms, SparseTerms
    from inorder.documents.chunk.chunks import Chunk
    from inorder.index.hits import Hit
    from inorder.index.search import SearchAnswer

__all__ = [
    "Chunk",
    "ContentTable",
    "Dataset",
    "DatasetDocument",
    "DenseVector",
    "ExportOutcome",
    "ExtractedFields",
    "Hit",
    "LexicalTerms",
    "PageBox",
    "Rows",
    "SearchAnswer",
    "SearchWhere",
    "SparseTerms",
]
# Without `open`: `from inorder.dataset import *` shadows no builtin.

if not TYPE_CHECKING:  # type checkers shall report a name that does not exist
    __getattr__ = make_getattr(
        __name__,
        {
            "Chunk": "inorder.documents.chunk.chunks",
            "ContentTable": "inorder.dataset.content_tables",
            "Dataset": "inorder.dataset.dataset",
            "DatasetDocument": "inorder.dataset.document",
            "DenseVector": "inorder.dataset.tables",
            "ExportOutcome": "inorder.dataset.export.options",
            "ExtractedFields": "inorder.dataset.extracted",
            "Hit": "inorder.index.hits",
            "LexicalTerms": "inorder.dataset.tables",
            "PageBox": "inorder.dataset.boxes",
            "Rows": "inorder.dataset.rows",
            "SearchAnswer": "inorder.index.search",
            "SearchWhere": "inorder.dataset.dataset",
            "SparseTerms": "inorder.dataset.tables",
            "open": "inorder.dataset.dataset",
        },
    )


def __dir__() -> list[str]:
    return sorted([*__all__, "open"])
