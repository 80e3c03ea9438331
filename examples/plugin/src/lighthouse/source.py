"""`inorder run logbook://1889`: the pages of a log book, as if they came from a server."""

import io
from typing import Any, BinaryIO

PAGES = {
    "1889/march.md": "# March\n\nThe fog horn was started at dawn.\n",
    "1889/april.md": "# April\n\nA barque passed to the north.\n",
    "1890/may.md": "# May\n\nThe lens was cleaned with spirit of wine.\n",
}


class LogBook:
    """The plug-in."""

    identity = ("version",)

    def open_filesystem(self) -> "LogBookFilesystem":
        """Return what lists and reads the pages."""
        return LogBookFilesystem()


class LogBookFilesystem:
    """The part of a filesystem of fsspec that inorder uses."""

    def info(self, path: str) -> dict[str, Any]:
        """Describe a page or a year."""
        path = path.strip("/")
        if path in PAGES:
            return {"name": path, "type": "file", "size": len(PAGES[path].encode()), "version": "1"}
        if any(page.startswith(f"{path}/") for page in PAGES) or not path:
            return {"name": path, "type": "directory", "size": 0}
        raise FileNotFoundError(path)

    def ls(self, path: str, detail: bool = True) -> list[dict[str, Any]]:
        """List the pages of a year."""
        folder = path.strip("/")
        return [self.info(page) for page in PAGES if page.startswith(f"{folder}/")]

    def cat_file(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
        """Read a page, or a part of it."""
        if path not in PAGES:
            raise FileNotFoundError(path)
        return PAGES[path].encode()[start:end]

    def open(self, path: str, mode: str) -> BinaryIO:
        """Open a page for reading."""
        return io.BytesIO(self.cat_file(path))


logbook = LogBook()
