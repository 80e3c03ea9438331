"""The expected costs of items, in pages and chunks."""

import pytest

from inorder.documents.cost import estimate_code_chunks, estimate_pages

LINEARIZED = b"%PDF-1.7\n1 0 obj\n<< /Linearized 1 /L 900000 /H [ 700 90 ] /O 3 /E 5000 /N 412 /T 899 >>\nendobj\n"


@pytest.mark.parametrize(
    ("kind", "head", "size", "pages"),
    [
        ("pdf", LINEARIZED, 900_000, 412),
        ("pdf", b"%PDF-1.4\n", 500_000, 10),
        ("pdf", b"%PDF-1.4\n<< /Linearized 1 >>", 500_000, 10),
        ("docx", b"PK", 150_000, 10),
        ("markdown", b"# N << /Linearized 1 /N 9 >>", 30_000, 10),
        ("text", b"", 0, 1),
    ],
)
def test_a_document_costs_its_pages(kind: str, head: bytes, size: int, pages: float) -> None:
    assert estimate_pages(kind, head, size) == pages


def test_source_code_costs_its_chunks() -> None:
    assert estimate_code_chunks(6000) == 4
    assert estimate_code_chunks(0) == 1
