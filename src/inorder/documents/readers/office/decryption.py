"""Decrypts office files with the passwords of the user. An encrypted DOCX, PPTX or XLSX is an OLE file that holds the
archive; an office file from before 2007 is an OLE file too."""

import contextlib
import logging
from collections.abc import Sequence
from importlib import import_module
from io import BytesIO
from typing import Any

from inorder.errors import ReadError

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""The first bytes of an OLE file."""
ROUNDS_MAX = 1_000_000
"""Rounds of hashing per password. Office uses 100,000, which take a tenth of a second."""
_EXTRA = "reading it needs the package msoffcrypto-tool: pip install 'inorder[passwords]'"


def decrypt(data: bytes, old_format: str, passwords: Sequence[str]) -> bytes:
    """Return the archive in an encrypted office file. Raises `ReadError` if none of the passwords opens it.
    `old_format` is what a file from before 2007 is called in messages."""
    if not passwords:
        raise ReadError(f"the file is encrypted with a password, or is {old_format} from before 2007")
    try:
        errors, ooxml = import_module("msoffcrypto.exceptions"), import_module("msoffcrypto.format.ooxml")
    except ImportError:
        raise ReadError(f"the file is encrypted with a password; {_EXTRA}") from None
    logging.getLogger("msoffcrypto").setLevel(logging.CRITICAL)
    try:
        file = ooxml.OOXMLFile(BytesIO(data))
        _check_rounds(file)
        for password in passwords:
            with contextlib.suppress(errors.InvalidKeyError):
                return _decrypt_with(file, password)
    except (MemoryError, ReadError):
        raise
    except errors.FileFormatError:
        raise ReadError(f"the file is {old_format} from before 2007, or damaged") from None
    except Exception as error:
        raise ReadError(f"the encrypted file is damaged: {type(error).__name__}") from None
    raise ReadError("the file is encrypted with a password; none in the password file opens it")


def _check_rounds(file: Any) -> None:
    rounds = file.info.get("spinValue", 0) if isinstance(file.info, dict) else 0
    if rounds > ROUNDS_MAX:
        raise ReadError(f"the encryption of the file demands {rounds:,} rounds; the limit is {ROUNDS_MAX:,}")


def _decrypt_with(file: Any, password: str) -> bytes:
    """Raises `InvalidKeyError` if it is not the password."""
    opened = BytesIO()
    file.load_key(password=password, verify_password=True)
    file.decrypt(opened)
    return opened.getvalue()
