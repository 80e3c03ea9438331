"""The cache of hashes: an unchanged file is not read again, and nothing is ever believed that may be wrong."""

import hashlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from inorder.stage import freshness
from inorder.stage.files import file_stat
from inorder.stage.files.file_stat import RACY_NS, FileStat
from inorder.stage.files.hash_cache import HashCache
from tests.stage.jobs import STAGE, Place

LONG_AGO_NS = 1_700_000_000_000_000_000
HOUR_NS = 3600 * 10**9

Aged = Callable[[int], None]


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[HashCache]:
    opened = HashCache(str(tmp_path / "cache.sqlite"))
    yield opened
    opened.close()


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every file that is read to find out whether it has changed."""
    found: list[str] = []

    def counted(name: str) -> None:
        real = getattr(freshness, name)

        def reading(path: str) -> object:
            found.append(os.path.basename(path))
            return real(path)

        monkeypatch.setattr(freshness, name, reading)

    counted("hash_file")
    counted("checksum_file")
    return found


@pytest.fixture
def hour_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file looks as if it had not been touched for an hour."""
    monkeypatch.setattr(file_stat, "time_ns", lambda: time.time_ns() + HOUR_NS)


@pytest.fixture
def aged(place: Place, hour_later: None) -> Callable[[int], None]:
    """Makes a finished run whose files were hashed when they were old enough. Their mtimes are known."""

    def run(count: int) -> None:
        place.run(place.items(count))
        for path in [*place.sources.iterdir(), *(place.data / "loud").glob("*.txt")]:
            os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS))
        place.run(place.items(count))

    return run


@pytest.mark.req("RUN-4")
def test_an_unchanged_file_is_not_read_again(place: Place, reads: list[str], aged: Aged) -> None:
    aged(3)
    del reads[:]
    assert place.run(place.items(3)).skipped == 3
    assert reads == []


@pytest.mark.req("RUN-4")
@pytest.mark.usefixtures("hour_later")
def test_a_source_that_was_old_when_it_was_done_is_not_read_again(place: Place, reads: list[str]) -> None:
    items = place.items(2)
    place.run(items)
    place.run(items)
    assert [name for name in reads if not name.endswith(".txt")] == []


@pytest.mark.req("RUN-4")
def test_files_that_are_too_fresh_are_read_again(place: Place, reads: list[str]) -> None:
    place.run(place.items(1))
    for _ in range(2):
        del reads[:]
        assert place.run(place.items(1)).skipped == 1
        assert sorted(reads) == ["item-0000", "item-0000.txt"]


@pytest.mark.req("RUN-4")
def test_a_change_within_the_resolution_of_the_clock_is_seen(place: Place) -> None:
    """The same size, the same time, the same inode: only its bytes are others."""
    path = place.source("item-0000", "one text\n")
    fresh = path.stat().st_mtime_ns
    place.run(place.items(1))
    path.write_text("two text\n")
    os.utime(path, ns=(fresh, fresh))
    assert place.run(place.items(1)).succeeded == 1
    assert place.loud("item-0000") == "TWO TEXT\n"


@pytest.mark.parametrize("what", ["sources/item-0001", "data/loud/item-0001.txt"])
@pytest.mark.req("RUN-4")
def test_a_changed_file_is_read_and_no_other(place: Place, reads: list[str], what: str, aged: Aged) -> None:
    aged(3)
    del reads[:]
    path = place.folder / what
    path.write_text(path.read_text()[::-1])
    assert place.run(place.items(3)).succeeded == 1
    assert reads == [path.name]


@pytest.mark.req("RUN-4")
def test_a_file_that_was_replaced_by_one_of_the_same_size_and_time_is_read(place: Place, aged: Aged) -> None:
    aged(1)
    path = place.sources / "item-0000"
    other = place.source("other", path.read_text()[::-1])
    os.utime(other, ns=(LONG_AGO_NS, LONG_AGO_NS))
    os.rename(other, path)
    assert place.run(place.items(1)).succeeded == 1


def garbage(path: Path) -> None:
    path.write_bytes(b"this is no database" * 100)


def damage(path: Path) -> None:
    """Its beginning is whole, so that it opens; what follows is not."""
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = path.read_bytes()
    assert len(data) > 4096
    path.write_bytes(data[:4096] + bytes(len(data) - 4096))


def folder(path: Path) -> None:
    os.unlink(path)
    path.mkdir()


@pytest.mark.parametrize("harm", [os.unlink, garbage, damage, folder])
@pytest.mark.req("RUN-4")
def test_a_cache_that_is_gone_or_broken_only_costs_time(
    place: Place, reads: list[str], harm: object, aged: Aged
) -> None:
    aged(2)
    del reads[:]
    harm(place.data / "cache" / f"{STAGE}.sqlite")  # type: ignore[operator]
    assert place.run(place.items(2)).skipped == 2
    assert len(reads) == 4
    assert place.called() == ["item-0000", "item-0001"]


def test_a_broken_cache_is_begun_anew(place: Place, reads: list[str], aged: Aged) -> None:
    aged(2)
    path = place.data / "cache" / f"{STAGE}.sqlite"
    Path(f"{path}-wal").write_bytes(b"left behind" * 1000)
    garbage(path)
    place.run(place.items(2))
    del reads[:]
    assert place.run(place.items(2)).skipped == 2
    assert reads == []


@pytest.mark.req("RUN-17")
@pytest.mark.parametrize("what", ["sources/item-0001", "data/loud/item-0001.txt"])
def test_a_file_rewritten_in_place_with_its_old_size_and_mtime_is_read(place: Place, aged: Aged, what: str) -> None:
    aged(3)
    path = place.folder / what
    before = path.stat()
    path.write_text(path.read_text()[::-1])
    os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS))
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns, after.st_ino) == (before.st_size, before.st_mtime_ns, before.st_ino)
    assert place.run(place.items(3)).succeeded == 1
    assert place.loud("item-0001") == (place.sources / "item-0001").read_text().upper()


class CoarseFilesystem:
    """A file system whose timestamps do not advance by themselves, and a clock that does."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.mtime_ns = self.ctime_ns = self.now_ns = LONG_AGO_NS
        monkeypatch.setattr(file_stat, "time_ns", lambda: self.now_ns)
        monkeypatch.setattr(file_stat, "os", SimpleNamespace(stat=self.stat))

    def stat(self, path: str) -> SimpleNamespace:
        real = os.stat(path)
        return SimpleNamespace(
            st_size=real.st_size, st_ino=real.st_ino, st_mtime_ns=self.mtime_ns, st_ctime_ns=self.ctime_ns
        )


@pytest.mark.req("RUN-17")
@pytest.mark.parametrize("old", ["", "mtime_ns", "ctime_ns"])
@pytest.mark.parametrize("age_ns", [-HOUR_NS, 0, 10_000_000, 1_000_000_000, RACY_NS - 1])
def test_a_change_that_leaves_the_timestamps_alone_is_seen_if_the_file_was_racy(
    place: Place, monkeypatch: pytest.MonkeyPatch, old: str, age_ns: int
) -> None:
    """Also if only one of the two times is recent, and if it lies in the future."""
    disk = CoarseFilesystem(monkeypatch)
    path = place.source("item-0000", "one text\n")
    if old:
        setattr(disk, old, LONG_AGO_NS - 2 * HOUR_NS)
    disk.now_ns = LONG_AGO_NS + age_ns
    assert place.run(place.items(1)).succeeded == 1
    assert place.run(place.items(1)).skipped == 1
    path.write_text("two text\n")
    disk.now_ns = LONG_AGO_NS + 2 * HOUR_NS
    assert place.run(place.items(1)).succeeded == 1
    assert place.loud("item-0000") == "TWO TEXT\n"


@pytest.mark.req("RUN-17")
def test_a_racy_file_is_read_until_it_is_old_enough(
    place: Place, monkeypatch: pytest.MonkeyPatch, reads: list[str]
) -> None:
    disk = CoarseFilesystem(monkeypatch)
    place.run(place.items(1))
    found = []
    for age_ns in (0, RACY_NS - 1, RACY_NS, RACY_NS):
        disk.now_ns = LONG_AGO_NS + age_ns
        del reads[:]
        assert place.run(place.items(1)).skipped == 1
        found.append(len(reads))
    assert found == [2, 2, 2, 0]


@pytest.mark.req("RUN-17")
@pytest.mark.parametrize("mtime_ns", [-(10**20), 10**20])
def test_a_time_that_sqlite_cannot_store_is_no_error(cache: HashCache, mtime_ns: int) -> None:
    stat = FileStat(10, mtime_ns, LONG_AGO_NS, 2**64 - 1, LONG_AGO_NS * 2)
    cache.put("a", stat, "sha256", "digest")
    cache.flush()
    assert cache.get("a", stat, "sha256") == ("digest" if mtime_ns < 0 else None)


@pytest.mark.req("RUN-17")
def test_a_hash_is_valid_for_one_signature_only(cache: HashCache) -> None:
    stat = FileStat(10, LONG_AGO_NS, LONG_AGO_NS, 7, LONG_AGO_NS + RACY_NS)
    cache.put("a", stat, "sha256", "digest")
    cache.flush()
    assert cache.get("a", stat, "sha256") == "digest"
    assert cache.get("a", stat, "crc32") is None
    assert cache.get("b", stat, "sha256") is None
    others = {"size": 11, "mtime_ns": LONG_AGO_NS + 1, "ctime_ns": LONG_AGO_NS + 1, "inode": 8}
    for field, value in others.items():
        assert cache.get("a", stat._replace(**{field: value}), "sha256") is None, field


@pytest.mark.req("RUN-4", "RUN-17")
@pytest.mark.parametrize("field", ["mtime_ns", "ctime_ns"])
def test_the_hash_of_a_racy_file_is_not_stored(cache: HashCache, field: str) -> None:
    """However long it took until the hash was known, and however late it is asked for."""
    stat = FileStat(10, 0, 0, 7, LONG_AGO_NS + RACY_NS - 1)._replace(**{field: LONG_AGO_NS})
    assert stat.is_racy
    cache.put("a", stat, "sha256", "digest")
    cache.flush()
    assert cache.get("a", stat._replace(read_ns=LONG_AGO_NS * 2), "sha256") is None


def test_many_files_are_written_down_before_the_end(cache: HashCache) -> None:
    stat = FileStat(1, LONG_AGO_NS, LONG_AGO_NS, 2**63 - 1, LONG_AGO_NS * 2)
    for number in range(2000):
        cache.put(f"file-{number}", stat, "crc32", str(number))
    assert cache.get("file-1999", stat, "crc32") == "1999"


def test_a_path_that_is_no_text_is_kept_like_any_other(cache: HashCache) -> None:
    name = os.fsdecode(b"caf\xe9")
    stat = FileStat(1, LONG_AGO_NS, LONG_AGO_NS, 2, LONG_AGO_NS * 2)
    cache.put(name, stat, "crc32", "5")
    cache.flush()
    assert cache.get(name, stat, "crc32") == "5"


def test_a_racy_file_is_not_looked_up(cache: HashCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache has no such file, and a run in which all changed files are racy does not open it."""
    (tmp_path / "new.txt").write_text("text")
    path = str(tmp_path / "new.txt")
    assert freshness.get_sha256(path, cache) == hashlib.sha256(b"text").hexdigest()
    assert cache._opened is None
    monkeypatch.setattr(file_stat, "RACY_NS", -(10**12))
    assert freshness.get_sha256(path, cache) == hashlib.sha256(b"text").hexdigest()
    assert cache._opened is not None
