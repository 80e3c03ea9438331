"""Listing and reading a bucket as `inorder run s3://...` does it, beside s3fs alone, against moto's server.

Both use the same client library, the server is a process of its own, and rounds alternate; the median of each counts.
moto is far slower than a real store, so the ratio counts, and not the rate.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

BUCKET = "bench"
ROUNDS = 5
SMALL_BYTES = 4096
LARGE_BYTES = 64 * 2**20
LARGE_COUNT = 2
_SERVER = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
"""


@contextmanager
def serve_s3() -> Iterator[None]:
    """moto's server in a process, and the environment with which clients find it."""
    server = subprocess.Popen(
        [sys.executable, "-c", _SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    os.environ |= {
        "AWS_ACCESS_KEY_ID": "bench",
        "AWS_SECRET_ACCESS_KEY": "bench",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.stdout.readline().strip()}",
    }
    try:
        yield
    finally:
        server.stdin.close()
        server.wait()


def fill(count: int) -> None:
    """Small objects below `small/`, and large ones below `large/`."""
    import s3fs

    store = s3fs.S3FileSystem(skip_instance_cache=True)
    store.mkdir(BUCKET)
    small = {f"{BUCKET}/small/{number % 100:02}/{number:06}.txt": os.urandom(SMALL_BYTES) for number in range(count)}
    store.pipe(small)
    store.pipe({f"{BUCKET}/large/{number}.bin": os.urandom(LARGE_BYTES) for number in range(LARGE_COUNT)})


def compare(one: Callable[[], Any], other: Callable[[], Any]) -> tuple[float, float]:
    """The median seconds of both, in turns. The first call of each is not counted."""
    taken_s: tuple[list[float], list[float]] = ([], [])
    for turn in range(ROUNDS + 1):
        for act, found in zip((one, other), taken_s, strict=True):
            began_s = time.perf_counter()
            act()
            if turn:
                found.append(time.perf_counter() - began_s)
    return statistics.median(taken_s[0]), statistics.median(taken_s[1])


def list_with_s3fs(prefix: str) -> int:
    import s3fs

    return len(s3fs.S3FileSystem(skip_instance_cache=True).find(f"{BUCKET}/{prefix}", detail=True))


def list_with_inorder(prefix: str) -> int:
    from inorder.sources.listing import RemoteListing

    return sum(1 for _ in RemoteListing(f"s3://{BUCKET}/{prefix}"))


def read_with_s3fs(prefix: str) -> int:
    import s3fs

    store = s3fs.S3FileSystem(skip_instance_cache=True)
    return sum(map(len, store.cat(store.find(f"{BUCKET}/{prefix}")).values()))


def read_with_inorder(prefix: str) -> int:
    from inorder.sources.fetching import Fetcher, FetchLimits
    from inorder.sources.listing import RemoteListing
    from inorder.sources.remote_input import count_group, read_group

    fetcher = Fetcher(FetchLimits())
    sources = [each.source for each in RemoteListing(f"s3://{BUCKET}/{prefix}")]
    size = 0
    while sources:
        count = count_group(sources)
        read_group(sources[:count], fetcher)
        size += sum(len(source.fetch(fetcher)) for source in sources[:count])
        del sources[:count]
    fetcher.close()
    return size


def measure(options: argparse.Namespace) -> dict[str, float]:
    """Objects and megabytes per second, and the ratio to s3fs alone."""
    count = options.documents
    results: dict[str, float] = {}
    with serve_s3():
        fill(count)
        assert list_with_inorder("small") == list_with_s3fs("small") == count
        assert read_with_inorder("small") == read_with_s3fs("small") == count * SMALL_BYTES
        parts = (
            ("list", "objects/s", count, list_with_inorder, list_with_s3fs, "small"),
            ("read_small", "objects/s", count, read_with_inorder, read_with_s3fs, "small"),
            ("read_large", "MB/s", LARGE_COUNT * LARGE_BYTES / 1e6, read_with_inorder, read_with_s3fs, "large"),
        )
        for name, unit, amount, ours, theirs, prefix in parts:
            one_s, other_s = compare(lambda act=ours, at=prefix: act(at), lambda act=theirs, at=prefix: act(at))
            results |= {f"{name}_per_s": amount / one_s, f"{name}_s3fs_per_s": amount / other_s}
            results[f"{name}_ratio"] = other_s / one_s
            print(
                f"{name}: inorder {amount / one_s:,.0f} {unit}, s3fs {amount / other_s:,.0f} {unit}, "
                f"ratio {other_s / one_s:.2f}"
            )
    return results
