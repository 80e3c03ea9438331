"""The worker of the stage `doctags`: it gives the content of an item to the step, and writes what the step returns."""

import os
from functools import partial
from typing import Any

from inorder.documents.convert.kinds import find_reason_not_read
from inorder.documents.convert.parts import (
    PageRange,
    convert_part,
    encode_part,
    merge,
    survey,
)
from inorder.documents.convert.resources import Resources
from inorder.documents.convert.settings import ConvertSettings
from inorder.documents.convert.step import Converted, convert
from inorder.documents.inputs import read_input
from inorder.documents.readers.passwords import read_passwords
from inorder.errors import ReadError
from inorder.stage.context import StageContext
from inorder.stage.contracts import Skip, StageError, WorkItem

from .remote import find_fetcher, settle_item
from .storage import read_part, read_survey

IMPORTS = (
    "inorder.documents.readers.markdown.reader",
    "inorder.documents.readers.text",
    "inorder.stage.store.compression",
)
"""What the first items need: the reader of most small files, and what the others share."""
_RESOURCES = "readers"
"""The resource of a worker that its readers share."""


def work(item: WorkItem, context: StageContext) -> Any:
    """Process one item. A document that cannot be read raises `StageError` with category `input`."""
    known = predict_outcome(item)
    if known is None and item.meta["task"] == "document":
        item = settle_item(item, _get_settings(item), context)
        known = predict_outcome(item)
    if isinstance(known, StageError):
        raise known
    if known is not None:
        context.remove_outputs()
        return known
    tasks = {"document": _convert, "survey": _make_survey, "part": _convert_part, "merge": _merge_parts}
    try:
        return tasks[item.meta["task"]](item, context)
    except ReadError as error:
        raise StageError(str(error), category="input") from None


def predict_outcome(item: WorkItem) -> Skip | StageError | None:
    """The outcome of an item whose file cannot be read, or is not a document; None: it must be read."""
    if item.meta["problem"]:
        return StageError(item.meta["problem"], category="input")
    if "copy_of" in item.meta:
        return Skip(f"the same content as {item.meta['copy_of']}")
    if item.meta["task"] != "document":
        return None
    reason = find_reason_not_read(item.meta["kind"], _get_settings(item))
    return Skip(reason) if reason else None


def _get_settings(item: WorkItem) -> ConvertSettings:
    """The settings of the step for an item."""
    meta = item.meta
    pages = int(meta.get("split_pages") or 0)
    return ConvertSettings(split_pages=pages, reader=meta["reader"], ocr=meta["ocr"], html=meta["html"])


def _get_resources(item: WorkItem, context: StageContext) -> Resources:
    """What the readers of this worker share."""
    found = context.resources.get(_RESOURCES)
    if found is None:
        found = context.resources[_RESOURCES] = Resources(read_passwords(item.meta["password_file"]))
    resources: Resources = found
    return resources


def _read(item: WorkItem, context: StageContext) -> bytes:
    return read_input(item, find_fetcher(context))


def _convert(item: WorkItem, context: StageContext) -> Any:
    content, resources = _read(item, context), _get_resources(item, context)
    on_page = partial(_report_page, context)
    converted = convert(content, item.item_id, item.meta["kind"], _get_settings(item), resources, on_page)
    context.measure(pages=converted.extras["pages"])
    return _write_outputs(context, converted)


def _make_survey(item: WorkItem, context: StageContext) -> dict[str, Any]:
    surveyed = survey(_read(item, context), _get_settings(item), _get_resources(item, context))
    context.write_output("survey", encode_part(surveyed))
    return {"pages": surveyed.pages}


def _convert_part(item: WorkItem, context: StageContext) -> dict[str, Any]:
    doc_id, _, range_name = item.item_id.rpartition("#")
    surveyed = read_survey(os.fspath(context.data), doc_id, item.reads)
    if surveyed is None:
        raise StageError("the survey of this document is missing from DATA; run again", category="io", retryable=True)
    pages, resources = PageRange.parse(range_name), _get_resources(item, context)
    on_page = partial(_report_page, context)
    part = convert_part(_read(item, context), doc_id, surveyed, pages, _get_settings(item), resources, on_page)
    context.write_output("part", encode_part(part))
    context.measure(pages=len(part.pages))
    return {"pages": len(part.pages), "blocks": len(part.blocks)}


def _report_page(context: StageContext, number: int, last: int) -> None:
    """Tell which page is being read."""
    context.progress(number, last, "page")


def _merge_parts(item: WorkItem, context: StageContext) -> dict[str, Any]:
    parts = []
    for name in item.meta["parts"]:
        part = read_part(os.fspath(context.data), item.item_id, name, item.reads)
        if part is None:
            first, last = PageRange.parse(name)
            reason = f"pages {first} to {last} could not be read; for the reason see {item.item_id}#{name}"
            raise StageError(reason, category="input")
        parts.append(part)
    return _write_outputs(context, merge(_read(item, context), item.item_id, parts, _get_settings(item)))


def _write_outputs(context: StageContext, converted: Converted) -> dict[str, Any]:
    """Write a document. Returns the columns of its row in the manifest."""
    for warning in converted.warnings:
        context.warn(warning)
    context.write_output("document", converted.content)
    return converted.extras
