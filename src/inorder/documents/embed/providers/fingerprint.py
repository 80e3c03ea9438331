"""What a model is, told from its files and its packages without loading it."""

import hashlib
import importlib.metadata
import importlib.util
import os
from functools import lru_cache
from pathlib import Path

from inorder.errors import OperatorError

_READ_BYTES = 1 << 20
_FILES_MAX = 1000
"""A model folder has a few dozen files. One with thousands is some other folder, and is not read through."""


def versions_of(*packages: str) -> str:
    """Each package with its version; one that is missing is named as such, and opening the provider says so aloud."""
    return " ".join(f"{package}=={_version(package)}" for package in packages)


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "missing"


def content_of(folder: str | Path) -> str:
    """A digest of the names, sizes and bytes of all files in a folder."""
    root = Path(folder)
    if not root.is_dir():
        raise OperatorError(f"the model folder {str(folder)!r} is not there")
    paths = sorted(path for path in root.rglob("*") if path.is_file() and not _is_hidden(path.relative_to(root)))
    if len(paths) > _FILES_MAX:
        raise OperatorError(f"{str(folder)!r} is no model folder: it has more than {_FILES_MAX} files")
    digest = hashlib.sha256()
    for path in paths:
        facts = path.stat()
        content = _digest(str(path), facts.st_size, facts.st_mtime_ns)
        digest.update(
            f"{path.relative_to(root).as_posix()}\0{facts.st_size}\0{content}\n".encode(errors="surrogateescape")
        )
    return f"sha256:{digest.hexdigest()}"


def model_of(name: str) -> str:
    """A model folder by its content, a model of the hub by its name and, once it was fetched, its revision."""
    if os.path.isdir(name):
        return content_of(name)
    revision = _fetched_revision(name)
    return f"{name}@{revision}" if revision else name


def _fetched_revision(name: str) -> str | None:
    if importlib.util.find_spec("huggingface_hub") is None:
        return None
    from huggingface_hub import try_to_load_from_cache

    try:
        path = try_to_load_from_cache(name, "config.json")
    except ValueError:  # no name that the hub could have
        return None
    return Path(path).parent.name if isinstance(path, str) else None


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


@lru_cache(maxsize=_FILES_MAX)
def _digest(path: str, size: int, mtime_ns: int) -> str:
    """Of a file's bytes. Size and time are there so that a file is read again once it has changed."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while part := file.read(_READ_BYTES):
            digest.update(part)
    return digest.hexdigest()
