"""What readers share within a worker, and what only the caller knows. It is passed to them, never looked up."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inorder.documents.readers.docling import DoclingConverter
    from inorder.documents.readers.ocr.reader import Recognizer


class Resources:
    """The passwords to try, the OCR engine and the converter of docling. The last two take long to open, so they are
    opened with the first page or document that needs them. One object per worker process or thread."""

    def __init__(self, passwords: Sequence[str] = (), recognizer: "Recognizer | None" = None) -> None:
        self.passwords = tuple(passwords)
        if recognizer is not None:
            self.recognizer = recognizer

    @cached_property
    def recognizer(self) -> "Recognizer":
        """The OCR engine."""
        from inorder.documents.readers.ocr.reader import Recognizer

        return Recognizer()

    @cached_property
    def docling(self) -> "DoclingConverter":
        """The converter of docling."""
        from inorder.documents.readers.docling import DoclingConverter

        return DoclingConverter()
