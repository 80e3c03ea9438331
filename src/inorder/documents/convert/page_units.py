"""The pages of documents that a model is asked about.

A page is rendered when it is to be sent, in a process that is killed if it hangs: no PDF is opened where it is asked
from.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from inorder.documents.model_units import ModelUnit, UnitFile
from inorder.errors import require
from inorder.models.question import Image, ModelInput
from inorder.models.validation import make_page_check
from inorder.sources.limits import FetchLimits

from .page_image import MEDIA_TYPE
from .questions import list_asked, make_question
from .rendering import PageImage, render_image
from .settings import ConvertSettings
from .stored import unpack_document

_DOCTAGS = "doctags"


class Rendered(Protocol):
    """An image that is being rendered."""

    def result(self) -> bytes:
        """Wait for it."""
        ...


class Renderers(Protocol):
    """Processes that render pages."""

    def submit(self, render: Callable[[PageImage], bytes], page: PageImage, /) -> Rendered:
        """Begin to render a page."""
        ...

    def shutdown(self, *, cancel_futures: bool) -> None:
        """End the processes."""
        ...


class PageUnits:
    """The pages that lack an answer."""

    noun = "page"

    def __init__(
        self,
        settings: ConvertSettings,
        passwords: tuple[str, ...],
        limits: FetchLimits,
        renderers: Renderers,
        units_max: int | None = None,
    ) -> None:
        """`limits` are those of requests for what is remote."""
        self.model = settings.model
        self.units_max = units_max
        self._settings = settings
        self._passwords = passwords
        self._limits = limits
        self._renderers = renderers

    def list_units(self, file: UnitFile) -> Sequence[ModelUnit]:
        """Return the pages of a file that lack an answer."""
        found = file.read(_DOCTAGS)
        document = None if found is None else unpack_document(found[0]).document
        pages = {} if document is None else list_asked(document)
        return [
            ModelUnit(
                page,
                make_question(self._settings, file.sha256, page),
                partial(self._render, file, page),
                make_page_check(native),
            )
            for page, native in pages.items()
        ]

    def close(self) -> None:
        """End the processes that render."""
        self._renderers.shutdown(cancel_futures=True)

    def _render(self, file: UnitFile, page: int) -> ModelInput:
        require(file.source is not None, f"{file.item_id} has no content")
        image = PageImage(
            file.source or "",
            file.sha256,
            file.kind,
            page,
            self._settings.page_pixels,
            self._passwords,
            self._limits,
        )
        return ModelInput(images=(Image(self._renderers.submit(render_image, image).result(), MEDIA_TYPE),))
