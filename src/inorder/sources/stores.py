"""Stores: list the objects of a remote source, and read ranges of one.

S3 is listed page by page, and each of its reads requires the listed version. All other stores are listed folder by
folder, and after a read the entry of the object is compared with the listed one. Nothing is cached: what a listing
shows is what the store has now.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from hashlib import sha256
from typing import Any, NamedTuple

from inorder.files.addresses import silence_packages
from inorder.host.credentials import restore_credentials
from inorder.stage.sources import is_address

from .address import Address, parse_address
from .limits import WINDOW_S, FetchLimits
from .problems import CHANGED, RemoteProblem
from .protocols import find_protocol, is_same_version, make_fingerprint
from .web import SlowResponse, finish, has_local_host, open_client, read_slowly, receive

_PIECE_BYTES = 2**20
_WEB = ("http", "https")
_NO_ANSWER = f"no answer in {WINDOW_S:g} s"
Call = Callable[..., Any]
"""Calls a function with arguments, with retries and within the limits: `Fetcher.call`."""


class ObjectInfo(NamedTuple):
    """An object of a store."""

    path: str
    size: int
    """-1: the store does not say it."""
    fingerprint: str
    """Identifies its version; empty: the store has nothing usable."""
    problem: str = ""
    """Why it cannot be read; empty if no reason is known."""


class Store:
    """A store that fsspec can open."""

    has_ranges = False
    """Whether several ranges of an object are read at the same time: worth it where each is a request of its own."""

    def __init__(self, protocol: str, filesystem: Any, limits: FetchLimits | None = None) -> None:
        self.protocol = protocol
        self.filesystem = filesystem
        self._limits = limits or FetchLimits()

    def list_objects(self, path: str, call: Call) -> Iterator[ObjectInfo]:
        """The object with this path, unless it ends with a slash, and every object below it, in any order."""
        root = call(self.find, path.rstrip("/") or path)
        if root["type"] != "directory":
            yield self._describe(root)
            return
        folders = [root["name"]]
        while folders:
            folder = folders.pop()
            for info in call(self.list_folder, folder):
                if info["name"].rstrip("/") == folder.rstrip("/"):
                    continue
                if info["type"] == "directory":
                    folders.append(info["name"])
                else:
                    yield self._describe(info)

    def find(self, path: str) -> Mapping[str, Any]:
        """The entry of an object or a folder."""
        found: Mapping[str, Any] = self.filesystem.info(path)
        return found

    def list_folder(self, path: str) -> Sequence[Mapping[str, Any]]:
        """The entries of a folder."""
        found: Sequence[Mapping[str, Any]] = self.filesystem.ls(path, True)
        return found

    def read(self, source: ObjectInfo, start: int | None = None, stop: int | None = None) -> bytes:
        """Read an object, or a range of it."""
        if not getattr(self.filesystem, "async_impl", False):
            found: bytes = self.filesystem.cat_file(source.path, start, stop)
            return found
        from fsspec.asyn import sync

        byte_count = source.size if start is None or stop is None else stop - start
        content = self.filesystem._cat_file
        arrived: bytes = sync(
            self.filesystem.loop, lambda: finish(content(source.path, start, stop), byte_count, self._limits)
        )
        return arrived

    def check(self, source: ObjectInfo, address: str) -> None:
        """Raises `RemoteProblem` if an object is no longer what was listed."""
        found = self._describe(self.find(source.path))
        if not is_same_version(source.fingerprint, found.fingerprint):
            raise RemoteProblem("changed", address, CHANGED)

    def hash_content(self, source: ObjectInfo, bytes_max: int) -> tuple[int, str]:
        """The size and the SHA-256 of an object, of at most `bytes_max` bytes of it."""
        digest, size = sha256(), 0
        with self.filesystem.open(source.path, "rb") as file:
            while size < bytes_max and (piece := file.read(_PIECE_BYTES)):
                digest.update(piece)
                size += len(piece)
        return size, digest.hexdigest()

    def _describe(self, info: Mapping[str, Any]) -> ObjectInfo:
        problem = "" if info["type"] == "file" else f"not a regular file ({info['type']})"
        size = info.get("size")
        fingerprint = make_fingerprint(self.protocol, info, time.time())
        return ObjectInfo(info["name"], -1 if size is None else int(size), fingerprint, problem)


class BucketStore(Store):
    """A store of objects whose ranges can be requested at the same time."""

    has_ranges = True


class SftpStore(Store):
    """A server with one connection, which does one thing at a time. A connection that was lost is opened again."""

    def __init__(self, protocol: str, filesystem: Any, limits: FetchLimits | None = None) -> None:
        super().__init__(protocol, filesystem, limits)
        self._lock = threading.Lock()

    def find(self, path: str) -> Mapping[str, Any]:
        with self._connected():
            return super().find(path)

    def list_folder(self, path: str) -> Sequence[Mapping[str, Any]]:
        with self._connected():
            return super().list_folder(path)

    def read(self, source: ObjectInfo, start: int | None = None, stop: int | None = None) -> bytes:
        with self._connected(), self.filesystem.open(source.path, "rb") as file:
            file.seek(start or 0)
            left = None if stop is None else stop - (start or 0)
            cut = self.filesystem.client.get_transport().close
            return read_slowly(_limit(file.read, left), self._limits, cut)

    @contextmanager
    def _connected(self) -> Iterator[None]:
        with self._lock:
            transport = self.filesystem.client.get_transport()
            if transport is None or not transport.is_active():
                self.filesystem._connect()
            yield


def _limit(read: Callable[[int], bytes], byte_count: int | None) -> Callable[[int], bytes]:
    """A function that reads no more than so many bytes altogether."""
    left = byte_count

    def read_next(size: int) -> bytes:
        nonlocal left
        if left is not None:
            size = left if size < 0 else min(size, left)
        piece = read(size)
        left = None if left is None else left - len(piece)
        return piece

    return read_next


class HttpStore(Store):
    """A web server: each address is one object. A server may ignore the range of a request."""

    def list_objects(self, path: str, call: Call) -> Iterator[ObjectInfo]:
        """The one object."""
        yield self._describe(call(self.find, path))

    def find(self, path: str) -> Mapping[str, Any]:
        from aiohttp import ClientTimeout
        from fsspec.asyn import sync

        request = partial(self.filesystem._info, restore_credentials(path), timeout=ClientTimeout(total=WINDOW_S))
        try:
            found: Mapping[str, Any] = sync(self.filesystem.loop, request)
        except FileNotFoundError as error:  # raised for whatever goes wrong
            if isinstance(error.__cause__, TimeoutError):
                raise SlowResponse(_NO_ANSWER) from error
            raise
        return {**found, "name": path}

    def read(self, source: ObjectInfo, start: int | None = None, stop: int | None = None) -> bytes:
        found = bytearray()
        self._receive(source, found.extend)
        return bytes(found[start:stop])

    def hash_content(self, source: ObjectInfo, bytes_max: int) -> tuple[int, str]:
        digest, size = sha256(), 0

        def consume(piece: bytes) -> None:
            nonlocal size
            size += len(piece)
            digest.update(piece)
            if size >= bytes_max:
                raise _Enough

        with suppress(_Enough):
            self._receive(source, consume)
        return size, digest.hexdigest()

    def _receive(self, source: ObjectInfo, consume: Callable[[bytes], object]) -> None:
        from fsspec.asyn import sync

        sync(self.filesystem.loop, self._request, source.path, consume)

    async def _request(self, path: str, consume: Callable[[bytes], object]) -> None:
        """Pass the object on as it arrives."""
        import asyncio  # slow to import

        session = await self.filesystem.set_session()
        try:
            async with asyncio.timeout(WINDOW_S):
                response = await session.get(
                    self.filesystem.encode_url(restore_credentials(path)), headers={"Accept-Encoding": "identity"}
                )
        except TimeoutError as error:
            raise SlowResponse(_NO_ANSWER) from error
        async with response:
            self.filesystem._raise_not_found_for_status(response, path)
            await receive(response.content.read, self._limits, consume)


class _Enough(Exception):
    """The rest of an object is not needed."""


class S3Store(BucketStore):
    """S3, and everything that speaks its protocol."""

    def list_objects(self, path: str, call: Call) -> Iterator[ObjectInfo]:
        bucket, _, key = path.partition("/")
        if key and not key.endswith("/"):
            page = call(self._call, "list_objects_v2", Bucket=bucket, Prefix=key, MaxKeys=1)
            yield from (self._describe_entry(bucket, each) for each in page.get("Contents", []) if each["Key"] == key)
            key += "/"
        token: dict[str, str] = {}
        while True:
            page = call(self._call, "list_objects_v2", Bucket=bucket, Prefix=key, **token)
            for entry in page.get("Contents", []):
                yield self._describe_entry(bucket, entry)
            if not page.get("IsTruncated"):
                return
            token = {"ContinuationToken": page["NextContinuationToken"]}

    def read(self, source: ObjectInfo, start: int | None = None, stop: int | None = None) -> bytes:
        from fsspec.asyn import sync

        bucket, _, key = source.path.partition("/")
        options = {} if start is None or stop is None else {"Range": f"bytes={start}-{stop - 1}"}
        etag = source.fingerprint.partition("; ")[0].removeprefix("ETag=")
        if source.fingerprint.startswith("ETag="):
            options["IfMatch"] = etag
        found: bytes = sync(self.filesystem.loop, self._get, Bucket=bucket, Key=key, **options)
        return found

    def check(self, source: ObjectInfo, address: str) -> None:
        """Nothing to do: each read requires the listed version."""

    async def _get(self, **options: str) -> bytes:
        response = await self.filesystem._call_s3("get_object", **options)
        found = bytearray()
        async with response["Body"] as body:
            await receive(body.read, self._limits, found.extend)
        return bytes(found)

    def _call(self, method: str, **options: Any) -> Any:
        from fsspec.asyn import sync

        return sync(self.filesystem.loop, self.filesystem._call_s3, method, **options)

    def _describe_entry(self, bucket: str, entry: Mapping[str, Any]) -> ObjectInfo:
        info = {**entry, "name": f"{bucket}/{entry['Key']}", "size": entry["Size"], "type": "file"}
        return self._describe(info)


_KINDS: dict[str, type[Store]] = {
    "s3": S3Store,
    "gs": BucketStore,
    "az": BucketStore,
    "http": HttpStore,
    "https": HttpStore,
    "sftp": SftpStore,
}


def open_store(address: Address, limits: FetchLimits) -> Store:
    """Open the store of an address. Credentials come from the environment of the protocol."""
    plugin = find_protocol(address.protocol).plugin
    if plugin is not None:
        return Store(address.protocol, plugin.load().open_filesystem())
    import fsspec

    silence_packages()
    options: dict[str, Any] = {"skip_instance_cache": True}
    if address.protocol != "sftp":  # which has no cache, and passes all options on to paramiko
        options["use_listings_cache"] = False
    if address.protocol == "s3":
        one_attempt = {"total_max_attempts": 1}  # the limits count every attempt
        options["config_kwargs"] = {"max_pool_connections": limits.concurrency, "retries": one_attempt}
    elif address.protocol == "sftp":
        options |= _parse_host(address.location)
    elif address.protocol == "zip":
        options["fo"] = address.location
        if is_address(address.location):
            inner = parse_address(address.location)
            options["target_protocol"] = inner.protocol
            if inner.protocol in _WEB:
                options["target_options"] = _describe_client(address.location, limits)
    elif address.protocol in _WEB:
        options |= _describe_client(f"//{_bracket(address.location)}", limits)
    filesystem = fsspec.filesystem(address.protocol, **options)
    if address.protocol == "s3":
        filesystem.retries = 1
    return _KINDS.get(address.protocol, Store)(address.protocol, filesystem, limits)


@lru_cache(64)
def reopen_store(protocol: str, location: str, limits: FetchLimits, process_id: int) -> Store:
    """The store that the objects of a listing are read from: one per process."""
    return open_store(Address(protocol, location, ""), limits)


def reuse_store(protocol: str, location: str, limits: FetchLimits) -> Store:
    """The same for this process."""
    return reopen_store(protocol, location, limits, os.getpid())


def forget_stores() -> None:
    """Open every store again when it is needed."""
    reopen_store.cache_clear()


def _describe_client(address: str, limits: FetchLimits) -> dict[str, Any]:
    """What the filesystem of web servers is opened with, for what this address leads to."""
    reaches_private = limits.reaches_private or has_local_host(address)
    return {"get_client": partial(open_client, reaches_private=reaches_private)}


def _bracket(host: str) -> str:
    """The host as an address has it: the number of IPv6 has brackets."""
    return f"[{host}]" if ":" in host else host


def _parse_host(location: str) -> dict[str, Any]:
    user, at, host = location.rpartition("@")
    name, colon, port = host.rpartition(":")
    options: dict[str, Any] = {"host": name if colon and port.isdecimal() else host}
    if colon and port.isdecimal():
        options["port"] = int(port)
    return options | ({"username": user} if at else {})
