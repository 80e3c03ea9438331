"""`inorder show`: one document, in one of its forms."""

import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from inorder.cli.option_spec import Section
from inorder.cli.output import indent_lines, pluralize, print_json, print_out
from inorder.cli.parameters import DataOption, JsonOption, make_argument, make_choice
from inorder.cli.settings import resolve_data
from inorder.documents.chunk.chunks import Chunk
from inorder.errors import OperatorError, require

if TYPE_CHECKING:
    from inorder.dataset.document import DatasetDocument

_FORMS: dict[str, Callable[["DatasetDocument"], Any]] = {
    "markdown": lambda document: document.markdown,
    "text": lambda document: document.text,
    "doctags": lambda document: document.doctags,
    "chunks": lambda document: document.chunks,
    "json": lambda document: document.json,
}


def show(
    document: Annotated[
        str, make_argument("DOC", "Doc id, path of a source file, or an ending that only one doc id has.")
    ],
    form: Annotated[
        str,
        make_choice(
            Section.OUTPUT, "--as", _FORMS, "Form of the document; json is DoclingDocument JSON. Default: markdown."
        ),
    ] = "markdown",
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print one document of DATA as Markdown, text, DocTags, chunks or JSON.

    With --json, the object has doc_id, paths (of all files with this content), name, mimetype, pages, and the form as
    content.
    """
    from inorder.dataset.dataset import Dataset

    require(form in _FORMS, f"--as must be one of {', '.join(_FORMS)}; got {form!r}")
    found = Dataset(resolve_data(data)).find(document)
    content = _FORMS[form](found)
    if form == "chunks" and not content:
        option = "" if data is None else f" --data {shlex.quote(data)}"
        raise OperatorError(f"{found.doc_id} has no chunks; it has no text, or `inorder chunk{option}` has not run")
    if as_json:
        described = {
            "doc_id": found.doc_id,
            "paths": found.paths,
            "name": found.name,
            "mimetype": found.mimetype,
            "pages": found.page_count,
        }
        value = msgspec.Raw(content.encode()) if form == "json" else content
        print_json(described | {"as": form, "content": value})
    elif form == "chunks":
        print_out(*(line for chunk in content for line in _format_chunk(chunk)))
    else:
        print_out(content.removesuffix("\n"))


def _format_chunk(chunk: Chunk) -> list[str]:
    pages = f"page {', '.join(map(str, chunk.pages))}" if chunk.pages else ""
    parts = [f"[{chunk.number}]", pluralize(chunk.tokens, "token"), pages, " > ".join(chunk.section_path)]
    return ["  ".join(filter(None, parts)), *indent_lines(chunk.text), *_format_links(chunk), ""]


def _format_links(chunk: Chunk) -> list[str]:
    return [line for text, target, _ in chunk.links for line in indent_lines(f"link: {text} -> {target}")]
