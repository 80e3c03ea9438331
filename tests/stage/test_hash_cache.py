"""The cache of hashes: an unchanged file is not read again, and nothing is ever believed that may be wrong."""

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from inorder.stage import freshness
from inorder.stage.file_stat import FileStat
from inorder.stage.hash_cache import HashCache
from tests.stage.jobs import STAGE, Place

LONG_AGO_NS = 1_700_000_000_000_000_000


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


def age(place: Place) -> None:
    """Have every source and output look as if it were made long ago."""
    for path in [*place.sources.iterdir(), *(place.data / "loud").glob("*.txt")]:
        os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS))


def aged(place: Place, count: int) -> None:
    """A finished run, whose files have been looked at when they were old enough."""
    place.run(place.items(count))
    age(place)
    place.run(place.items(count))


@pytest.mark.req("RUN-4")
def test_an_unchanged_file_is_not_read_again(place: Place, reads: list[str]) -> None:
    aged(place, 3)
    del reads[:]
    assert place.run(place.items(3)).skipped == 3
    assert reads == []


@pytest.mark.req("RUN-4")
def test_a_source_that_was_old_when_it_was_done_is_not_read_again(place: Place, reads: list[str]) -> None:
    items = place.items(2)
    for path in place.sources.iterdir():
        os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS))
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
def test_a_changed_file_is_read_and_no_other(place: Place, reads: list[str], what: str) -> None:
    aged(place, 3)
    del reads[:]
    path = place.folder / what
    path.write_text(path.read_text()[::-1])
    assert place.run(place.items(3)).succeeded == 1
    assert reads == [path.name]


@pytest.mark.req("RUN-4")
def test_a_file_that_was_replaced_by_one_of_the_same_size_and_time_is_read(place: Place) -> None:
    aged(place, 1)
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
def test_a_cache_that_is_gone_or_broken_only_costs_time(place: Place, reads: list[str], harm: object) -> None:
    aged(place, 2)
    del reads[:]
    harm(place.data / "cache" / f"{STAGE}.sqlite")  # type: ignore[operator]
    assert place.run(place.items(2)).skipped == 2
    assert len(reads) == 4
    assert place.called() == ["item-0000", "item-0001"]


def test_a_broken_cache_is_begun_anew(place: Place, reads: list[str]) -> None:
    aged(place, 2)
    path = place.data / "cache" / f"{STAGE}.sqlite"
    Path(f"{path}-wal").write_bytes(b"left behind" * 1000)
    garbage(path)
    place.run(place.items(2))
    del reads[:]
    assert place.run(place.items(2)).skipped == 2
    assert reads == []


def test_what_was_looked_at_long_after_its_change_is_believed(cache: HashCache) -> None:
    stat = FileStat(10, LONG_AGO_NS, 7, LONG_AGO_NS + 2_000_000_000)
    cache.put("a", stat, "sha256", "digest")
    cache.flush()
    assert cache.get("a", stat, "sha256") == "digest"
    assert cache.get("a", stat, "crc32") is None
    assert cache.get("b", stat, "sha256") is None
    for changed in (stat._replace(size=11), stat._replace(mtime_ns=LONG_AGO_NS + 1), stat._replace(inode=8)):
        assert cache.get("a", changed, "sha256") is None


@pytest.mark.req("RUN-4")
def test_what_was_looked_at_right_after_its_change_is_not_believed(cache: HashCache) -> None:
    """However long it took until the hash was known, and however late it is asked for."""
    stat = FileStat(10, LONG_AGO_NS, 7, LONG_AGO_NS + 1_999_999_999)
    cache.put("a", stat, "sha256", "digest")
    cache.flush()
    assert cache.get("a", stat._replace(read_ns=LONG_AGO_NS * 2), "sha256") is None


def test_many_files_are_written_down_before_the_end(cache: HashCache) -> None:
    stat = FileStat(1, LONG_AGO_NS, 2**63 - 1, LONG_AGO_NS * 2)
    for number in range(2000):
        cache.put(f"file-{number}", stat, "crc32", str(number))
    assert cache.get("file-1999", stat, "crc32") == "1999"


def test_a_path_that_is_no_text_is_kept_like_any_other(cache: HashCache) -> None:
    name = os.fsdecode(b"caf\xe9")
    stat = FileStat(1, LONG_AGO_NS, 2, LONG_AGO_NS * 2)
    cache.put(name, stat, "crc32", "5")
    cache.flush()
    assert cache.get(name, stat, "crc32") == "5"
