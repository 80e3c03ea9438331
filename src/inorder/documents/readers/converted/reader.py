"""Reads old and rare formats with docling-rs, which the extra `old-office` installs.

It converts a file into DoclingDocument JSON in the process of the worker, whose time and memory are limited. Nothing is
fetched, no macro runs, and no text is recognised in pictures.
"""

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from inorder.documents.doctags.record_reader import read_record
from inorder.documents.model import AnyBlock, Document, Heading, ListItem, Paragraph, Table, Title
from inorder.documents.old_office import CONVERTED, EXTRA, PACKAGE
from inorder.documents.readers.document import make_document
from inorder.documents.readers.spans import collapse_spans
from inorder.documents.readers.table_grid import TableBudget, limit_table
from inorder.documents.readers.whitespace import collapse_whitespace
from inorder.errors import ReadError
from inorder.files.optional_deps import require_module

_EXTENSIONS = {"latex": "tex"}
_PREAMBLE = re.compile(r"\\(?:documentclass|usepackage|RequirePackage)\b(?:\[[^\]]*\]|\{[^{}]*\}|\s)*")


def _read(kind: str, data: bytes, name: str, passwords: Sequence[str] = ()) -> Document:
    native = require_module(f"{PACKAGE}._native", by=f"reading {kind} files", extra=EXTRA)
    found = read_record(_convert(native, kind, data, passwords))
    budget = TableBudget()
    blocks: list[AnyBlock] = []
    for block in found.blocks:
        blocks += limit_table(block, budget) if isinstance(block, Table) else _tidy(block)
    return make_document(kind, name, CONVERTED[kind], blocks, budget.warnings, found.pages)


def _convert(native: Any, kind: str, data: bytes, passwords: Sequence[str]) -> bytes:
    """The file as DoclingDocument JSON."""
    filename = f"document.{_EXTENSIONS.get(kind, kind)}"
    for password in (None, *passwords):
        try:
            result = native.DocumentConverter(do_ocr=False, password=password).convert_bytes(filename, data)
            return bytes(result.document_json, "utf-8")
        except (native.PasswordRequiredError, native.WrongPasswordError):
            continue
        except native.EncryptionError as error:
            raise ReadError(f"the file is encrypted: {error}") from None
        except native.ConversionError as error:
            raise ReadError(collapse_whitespace(str(error)).removeprefix("parse error: ")) from None
        except BaseException as error:
            if type(error).__name__ == "PanicException":  # no Exception, and its class cannot be imported
                raise ReadError(f"the reader of {kind} files crashed: {collapse_whitespace(str(error))}") from None
            raise
    ending = "; none in the password file opens it" if passwords else ""
    raise ReadError(f"the file is encrypted with a password{ending}")


def _tidy(block: AnyBlock) -> list[AnyBlock]:
    """The block with collapsed white space; nothing if it is blank, or a command of the preamble of LaTeX."""
    if isinstance(block, Title | Heading | Paragraph | ListItem):
        if _PREAMBLE.fullmatch(block.text):
            return []
        block.text, block.spans = collapse_spans(block.text, block.spans)
        return [block] if block.text else []
    return [block]


read_doc = partial(_read, "doc")
read_xls = partial(_read, "xls")
read_ppt = partial(_read, "ppt")
read_msg = partial(_read, "msg")
read_xlsb = partial(_read, "xlsb")
read_pages = partial(_read, "pages")
read_numbers = partial(_read, "numbers")
read_key = partial(_read, "key")
read_latex = partial(_read, "latex")
