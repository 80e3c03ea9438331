"""The DocTags and chunks of the bundled sample, word for word. To write the golden files again:

INORDER_GOLDEN=1 python -m pytest tests/documents/test_golden.py
"""

import os
from pathlib import Path

import pytest

from inorder.documents.chunk.chunks import build_chunks
from inorder.documents.chunk.pieces import read_pieces
from inorder.documents.chunk.tokens import count_words
from inorder.documents.doctags.docling_json import write_json
from inorder.documents.doctags.tags import write_doctags
from inorder.documents.readers.registry import READERS, load_reader
from inorder.documents.readers.sniff import sniff
from inorder.errors import ReadError

SAMPLE = Path(__file__).parents[2] / "examples" / "sample"
GOLDEN = Path(__file__).parent / "golden"
DOCUMENTS = sorted(
    str(path.relative_to(SAMPLE))
    for path in SAMPLE.rglob("*")
    if path.is_file() and sniff(path.name, path.read_bytes()[:4096]) in READERS
)


def render_document(name: str) -> str:
    """The DocTags of a document and where its chunks begin and end, or why there are none."""
    data = (SAMPLE / name).read_bytes()
    try:
        document = load_reader(sniff(name, data[:4096]))(data, Path(name).stem)
    except ReadError as error:
        return f"refused: {error}\n"
    chunks = build_chunks(name, read_pieces(write_json(document)), count_words, 32, 64)
    lines = [f"{chunk.start:>6} {chunk.end:>6} {chunk.tokens:>3} {' > '.join(chunk.section_path)}" for chunk in chunks]
    return "\n".join([write_doctags(document).rstrip("\n"), "", *lines, ""])


@pytest.mark.req("DOC-1", "DOC-2")
@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_of_the_sample_reads_as_it_always_did(name: str) -> None:
    golden = GOLDEN / f"{name}.golden"
    found = render_document(name)
    if os.environ.get("INORDER_GOLDEN"):
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(found, encoding="utf-8")
    assert found == golden.read_text(encoding="utf-8")


def test_nothing_golden_is_left_over() -> None:
    golden = {str(path.relative_to(GOLDEN)) for path in GOLDEN.rglob("*.golden")}
    assert golden == {f"{name}.golden" for name in DOCUMENTS}
