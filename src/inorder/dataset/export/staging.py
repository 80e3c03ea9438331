"""Shards that are written, and not yet part of an export."""

from contextlib import suppress

from inorder.host.filesystem import Filesystem


class StagedShards:
    """A folder with a file per shard, named by its key."""

    def __init__(self, folder: str, filesystem: Filesystem) -> None:
        self.filesystem = filesystem
        self._folder = folder

    def stage(self, key: str) -> str:
        """Where the shard with this key is to be written. A file that is there is removed."""
        path = f"{self._folder}/{key}"
        with suppress(FileNotFoundError):
            self.filesystem.unlink(path)
        return path

    def discard(self, key: str) -> None:
        """Remove a shard that was staged."""
        self.stage(key)
