"""What only some settings need: whether its packages are there, and their versions, for fingerprints."""

from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import version
from importlib.util import find_spec

from inorder.errors import OperatorError

_OCR = {"rapidocr": "rapidocr", "onnxruntime": "onnxruntime"}
_DOCLING = {
    "docling": "docling-slim",
    "bs4": "beautifulsoup4",
    "marko": "marko",
    "docx": "python-docx",
    "pptx": "python-pptx",
    "openpyxl": "openpyxl",
}
"""The modules that are imported, and the package that each is in."""


def require_ocr() -> None:
    """Refuse to begin without what `--ocr` needs."""
    _require(_OCR, by="--ocr", extra="ocr")


def require_docling() -> None:
    """Refuse to begin without what `--reader docling` needs."""
    _require(_DOCLING, by="--reader docling", extra="docling")


@lru_cache
def ocr_version() -> str:
    """The same picture reads differently elsewhere."""
    return " ".join(f"{package}/{version(package)}" for package in _OCR.values())


@lru_cache
def docling_version() -> str:
    """Of its converters and its exports: the same file gave different items on two releases."""
    return " ".join(f"{package}/{version(package)}" for package in ("docling-slim", "docling-core"))


def _require(packages: Mapping[str, str], *, by: str, extra: str) -> None:
    for module, package in packages.items():
        if find_spec(module) is None:
            raise OperatorError(f"{by} needs the package {package}: pip install 'inorder[{extra}]'")
