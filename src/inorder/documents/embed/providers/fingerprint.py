"""Identify a model by its files and its packages, without loading it."""

import hashlib
import importlib.util
import os
from functools import lru_cache
from pathlib import Path

from inorder.errors import OperatorError
from inorder.files.package_versions import find_version
from inorder.stage.files.file_stat import FileStat
from inorder.stage.fingerprints import hash_file

_FILES_MAX = 1000
"""A model folder has a few dozen files. A folder with more is refused before it is read."""


def list_package_versions(*packages: str) -> str:
    """Each package with its version, or `missing`. A missing package is an error only when the provider is opened."""
    return " ".join(f"{package}=={find_version(package) or 'missing'}" for package in packages)


def hash_folder(folder: str | Path) -> str:
    """A digest of the names, sizes and bytes of all files in a folder, except hidden ones."""
    root = Path(folder)
    if not root.is_dir():
        raise OperatorError(f"no such model folder: {str(folder)!r}")
    paths = sorted(path for path in root.rglob("*") if path.is_file() and not _is_hidden(path.relative_to(root)))
    if len(paths) > _FILES_MAX:
        raise OperatorError(f"{str(folder)!r} is not a model folder: it has more than {_FILES_MAX} files")
    digest = hashlib.sha256()
    for path in paths:
        stat = FileStat.read(str(path))
        content = hash_file(str(path)) if stat.is_racy else _cached_hash(str(path), stat.signature)
        line = f"{path.relative_to(root).as_posix()}\0{stat.size}\0{content}\n"
        digest.update(line.encode(errors="surrogateescape"))
    return f"sha256:{digest.hexdigest()}"


def model_identity(name: str) -> str:
    """The digest of a model folder; or the name of a model on the hub, with its revision if that is cached locally."""
    if os.path.isdir(name):
        return hash_folder(name)
    revision = _find_cached_revision(name)
    return f"{name}@{revision}" if revision else name


def _find_cached_revision(name: str) -> str | None:
    if importlib.util.find_spec("huggingface_hub") is None:
        return None
    from huggingface_hub import try_to_load_from_cache

    try:
        path = try_to_load_from_cache(name, "config.json")
    except ValueError:  # not a valid name on the hub
        return None
    return Path(path).parent.name if isinstance(path, str) else None


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


@lru_cache(maxsize=_FILES_MAX)
def _cached_hash(path: str, signature: tuple[int, ...]) -> str:
    """The hash of a file. Its signature is part of the cache key, so that a changed file is read again."""
    return hash_file(path)
