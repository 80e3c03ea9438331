"""The source file of a document: a page as an image, its text or markup, and the file itself."""

from hashlib import sha256
from typing import Annotated
from urllib.parse import quote

import msgspec
from starlette.responses import Response

from inorder.errors import OperatorError, ReadError
from inorder.files.encoding import decode
from inorder.index.rows import CODE, DOCUMENT
from inorder.index.search import use_index
from inorder.library.opening import find_index
from inorder.serve.catalog import Catalog
from inorder.serve.isolated import ResultCache, run_isolated
from inorder.serve.markup import render_markdown, sanitise
from inorder.serve.options import FILE_BYTES_MAX, TEXT_BYTES_MAX
from inorder.serve.problems import NotFound, RequestError
from inorder.serve.sources import read_source

from .documents import BlockView, list_native_blocks
from .endpoint import ItemParams

_RENDERED = {"text/markdown": render_markdown, "text/html": sanitise, "application/xhtml+xml": sanitise}
_MARKUP_BYTES_MAX = 512 * 1024
"""Larger documents are shown as text."""
_results = ResultCache()


class PageParams(ItemParams, frozen=True, kw_only=True):
    """Which page of a PDF or an image."""

    page: Annotated[int, msgspec.Meta(ge=1, description="Number of the page, from 1.")] = 1


class OriginalText(msgspec.Struct, frozen=True, kw_only=True):
    """The source file as text."""

    id: str
    mimetype: str
    text: str
    html: str
    """The same with its structure, sanitised; empty: the format has none, or the file is too large."""
    note: str
    """The encoding if it was guessed, or that the file has changed."""


def answer_page(catalog: Catalog, params: PageParams) -> Response:
    """Draw a page of a PDF or an image."""
    data = catalog.get(params.data)
    _require_document(catalog, params)
    content = read_source(data.path, DOCUMENT, params.id, FILE_BYTES_MAX)
    key = sha256(content).digest(), params.page
    image = _results.get(key, lambda: run_isolated("page", str(params.page), content))
    return Response(image, headers={"content-type": "image/png", "cache-control": "private, max-age=300"})


class NativePage(msgspec.Struct, frozen=True, kw_only=True):
    """A page as the rules read it."""

    blocks: list[BlockView]


def answer_native(catalog: Catalog, params: PageParams) -> NativePage:
    """Read a page of a PDF by the rules, that a model has read."""
    _require_document(catalog, params)
    content = read_source(catalog.get(params.data).path, DOCUMENT, params.id, FILE_BYTES_MAX)
    key = sha256(content).digest(), "native", params.page
    record = _results.get(key, lambda: run_isolated("native", str(params.page), content))
    return NativePage(blocks=list_native_blocks(record, params.page))


def answer_original(catalog: Catalog, params: ItemParams) -> OriginalText:
    """The source file as text, and as sanitised HTML if it is HTML or Markdown."""
    mimetype, input_sha256 = _require_document(catalog, params)
    content = read_source(catalog.get(params.data).path, DOCUMENT, params.id, TEXT_BYTES_MAX)
    try:
        decoded = decode(content)
    except ReadError as error:
        raise RequestError(f"{params.id} is not a text: {error}") from error
    render = _RENDERED.get(mimetype)
    html = render(decoded.text) if render is not None and len(content) <= _MARKUP_BYTES_MAX else ""
    is_changed = bool(input_sha256) and sha256(content).hexdigest() != input_sha256
    notes = ["the file has changed since it was read"] if is_changed else []
    notes += [decoded.warning] if decoded.warning else []
    return OriginalText(id=params.id, mimetype=mimetype, text=decoded.text, html=html, note="; ".join(notes))


def answer_download(catalog: Catalog, params: ItemParams) -> Response:
    """The source file. It is never displayed: it is saved."""
    kind = DOCUMENT
    try:
        _require_document(catalog, params)
    except NotFound:
        require_code(catalog, params)
        kind = CODE
    content = read_source(catalog.get(params.data).path, kind, params.id, FILE_BYTES_MAX)
    name = quote(params.id.rpartition("/")[2], safe="")
    headers = {
        "content-type": "application/octet-stream",
        "content-disposition": f"attachment; filename*=UTF-8''{name}",
        "content-security-policy": "default-src 'none'; sandbox",
    }
    return Response(content, headers=headers)


def _require_document(catalog: Catalog, params: ItemParams) -> tuple[str, str]:
    """The type and the hash of a document of DATA. Raises NotFound if DATA does not have it."""
    try:
        document = catalog.get(params.data).get(params.id)
    except OperatorError:
        raise NotFound(f"no document {params.id!r} in this DATA") from None
    return document.mimetype, document.input_sha256


def require_code(catalog: Catalog, params: ItemParams) -> str:
    """The hash of a source file of the index. Raises NotFound if the index does not have it."""
    try:
        with use_index(find_index(catalog.get(params.data).path)) as index:
            sql = "SELECT sha256 FROM files WHERE item_id = ? AND kind = ?"
            found = index.connection.execute(sql, (params.id, CODE)).fetchone()
    except OperatorError:
        found = None
    if found is None:
        raise NotFound(f"no source file {params.id!r} in this DATA")
    return str(found[0])
