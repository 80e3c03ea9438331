"""The versions of installed packages, which results depend on.

`importlib.metadata` takes 25 ms for ten packages: it is slow to import, and parses all metadata of a package. Every run
asks for versions, and one without changes takes a few hundred milliseconds. So they are read from the same files here,
and `importlib.metadata` is asked only about packages that are installed in another way than by a wheel.
"""

import os
import sys
from functools import lru_cache

from inorder.host.regular_file import open_regular

_WHEEL, _EGG = ".dist-info", ".egg-info"
_FIELD = b"Version:"


def find_version(package: str) -> str:
    """Return the version of a package; empty if it is not installed."""
    found = _read_installed(_normalize(package))
    if found is not None:
        return found
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _read_installed(name: str) -> str | None:
    """The version in the first folder with this package; empty if none has it; None if no wheel has installed it."""
    for folder in sys.path:
        try:
            entry = list_packages(folder or ".").get(name, "")
        except NotADirectoryError:
            return None  # an archive
        except OSError:
            continue
        if entry:
            return (entry.endswith(_WHEEL) and _read_version(f"{folder or '.'}/{entry}/METADATA")) or None
    return ""


@lru_cache
def list_packages(folder: str) -> dict[str, str]:
    """Return the entries of a folder that describe a package, by its name. If there are several of one package, the
    first one counts, as for `importlib.metadata`."""
    found: dict[str, str] = {}
    for entry in os.listdir(folder):
        if entry.endswith((_WHEEL, _EGG)):
            found.setdefault(_normalize(entry.rpartition(".")[0].partition("-")[0]), entry)
    return found


def _normalize(name: str) -> str:
    return name.lower().replace("-", "_").replace(".", "_")


def _read_version(path: str) -> str:
    """The version in the head of a file of metadata; empty: there is none."""
    try:
        with open_regular(path) as file:
            for line in file:
                if line.startswith(_FIELD):
                    return line[len(_FIELD) :].decode().strip()
                if not line.strip():
                    break
    except OSError:
        pass
    return ""
