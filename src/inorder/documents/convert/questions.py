"""What a model is asked about the pages of a document, and where its answers are kept.

The key of a question has the hash of the file and the number of the page, but nothing of how the page is rendered. So
no answer is asked for again because a renderer draws it otherwise, or because the file was moved.
"""

from collections.abc import Mapping, Sequence

from inorder.documents.model import AnyBlock, Document, PageReading, Picture, Table
from inorder.documents.readers.vision.answers import PageAnswers
from inorder.models.answers import find_kept
from inorder.models.question import Question

from .page_image import MEDIA_TYPE
from .settings import ConvertSettings

PIXELS = "pixels"
"""The parameter that only questions about pages have."""


def make_question(settings: ConvertSettings, sha256: bytes, page: int) -> Question:
    """Return the question about a page (from 1) of the file with this hash."""
    parameters = {
        "output_tokens_max": settings.page_tokens_max,
        "temperature": 0.0,
        PIXELS: settings.page_pixels,
        "image_format": MEDIA_TYPE,
    }
    return Question(
        model=settings.model,
        prompt=settings.page_prompt,
        parameters=parameters,
        input_key=f"{sha256.hex()}#{page}",
    )


def list_asked(document: Document) -> dict[int, str]:
    """Return the pages of a document that lack an answer, and of each the text that the rules have read: empty, if that
    is of no use."""
    lacking = [page for page in document.pages if isinstance(page.reading, PageReading) and not page.reading.reader]
    texts: dict[int, list[str]] = {page.number: [] for page in lacking}
    known = {page.number for page in lacking if page.has_text}
    for block in document.blocks:
        if block.page in known:
            texts[block.page] += _list_texts(block)
    return {number: "\n".join(found) for number, found in texts.items()}


def _list_texts(block: AnyBlock) -> list[str]:
    if isinstance(block, Table):
        return [block.caption, *(cell.text for cell in block.cells)]
    return [block.caption if isinstance(block, Picture) else block.text]


def count_kept(settings: ConvertSettings, sha256: bytes, pages: Sequence[int], path: str) -> int:
    """Return how many of these pages have an answer in the file at `path`."""
    return len(find_kept(path, [make_question(settings, sha256, page).key for page in pages]))


def find_answers(settings: ConvertSettings, sha256: bytes, path: str, problems: Mapping[int, str]) -> PageAnswers:
    """Return the answers about the pages of the file with this hash that are kept in the file at `path`. `problems`
    says why a page has none."""

    def find(pages: Sequence[int]) -> dict[int, str]:
        keys = {make_question(settings, sha256, page).key: page for page in pages}
        return {keys[key]: answer.text for key, answer in find_kept(path, list(keys)).items()}

    return PageAnswers(settings.reader, settings.pages, find, problems)
