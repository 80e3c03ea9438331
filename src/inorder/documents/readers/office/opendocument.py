"""Reads OpenDocument files: texts (ODT), spreadsheets (ODS) and presentations (ODP).

Tracked changes, comments and tables of contents are left out. Notes follow the text, as paragraphs. A slide begins with
its title.
"""

from collections.abc import Sequence

from inorder.documents.model import Document
from inorder.documents.readers.document import make_document
from inorder.documents.readers.table_grid import TableBudget
from inorder.errors import ReadError

from .odf_body import OdfBody
from .odf_encryption import decrypt_parts
from .odf_styles import OdfStyles
from .package import Package

MIMETYPES = {
    "text": "application/vnd.oasis.opendocument.text",
    "spreadsheet": "application/vnd.oasis.opendocument.spreadsheet",
    "presentation": "application/vnd.oasis.opendocument.presentation",
}


def read(data: bytes, name: str, passwords: Sequence[str] = ()) -> Document:
    """Read an OpenDocument file. The passwords are tried if it is encrypted."""
    package = decrypt_parts(Package(data, "OpenDocument", "an office file", passwords), passwords)
    styles, budget = OdfStyles(), TableBudget()
    package.parse("styles.xml", styles)
    body = OdfBody(styles, budget)
    package.parse("content.xml", body)
    if not body.kind:
        raise ReadError("not an OpenDocument file: the archive has no text, spreadsheet or presentation")
    return make_document("opendocument", name, MIMETYPES[body.kind], body.finish(), budget.warnings)
