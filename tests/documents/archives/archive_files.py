"""Archives for tests."""

import io
import tarfile
import zipfile
from collections.abc import Mapping
from typing import Any

from inorder.host.zstd import load_zstd

WRITERS = {"tar": "w", "tar.gz": "w:gz", "tar.bz2": "w:bz2", "tar.xz": "w:xz"}
FORMATS = ("zip", *WRITERS, "tar.zst")
Files = Mapping[str, bytes]


def make_zip(files: Files, **options: Any) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", **({"compression": zipfile.ZIP_DEFLATED} | options)) as packed:
        for name, content in files.items():
            packed.writestr(zipfile.ZipInfo(name), content, options.get("compression", zipfile.ZIP_DEFLATED))
    return written.getvalue()


def make_tar(files: Files, mode: str = "w", **options: Any) -> bytes:
    written = io.BytesIO()
    opening: Any = tarfile.open
    with opening(fileobj=written, mode=mode, **options) as packed:
        for name, content in files.items():
            add_member(packed, name, content)
    return written.getvalue()


def add_member(packed: tarfile.TarFile, name: str, content: bytes = b"", **fields: Any) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for field, value in fields.items():
        setattr(info, field, value)
    packed.addfile(info, io.BytesIO(content))


def make_archive(ending: str, files: Files) -> bytes:
    if ending == "zip":
        return make_zip(files)
    if ending == "tar.zst":
        packed: bytes = load_zstd().compress(make_tar(files))
        return packed
    return make_tar(files, WRITERS[ending])
