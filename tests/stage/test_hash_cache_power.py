"""The cache of hashes after a power loss: it may have forgotten a file, and never says anything wrong of one."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from inorder.stage.files.file_stat import RACY_NS, FileStat
from inorder.stage.files.hash_cache import HashCache
from tests.support.recorded_disk import RecordedDisk
from tests.support.sqlite_calls import SqliteCalls
from tests.support.system_calls import SystemCalls

FILES = [f"file {number}" for number in range(200)]


def stat_of(version: int) -> FileStat:
    return FileStat(size=10, mtime_ns=version, ctime_ns=version, inode=1, read_ns=version + RACY_NS)


@pytest.mark.slow
@pytest.mark.req("RUN-17")
def test_a_power_loss_never_leaves_the_hash_of_another_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "before"
    folder.mkdir()
    with monkeypatch.context() as patch:
        calls = SystemCalls(patch, folder)
        SqliteCalls(calls, patch)
        for version in (1, 2):
            cache = HashCache(str(folder / "cache"))
            for path in FILES:
                cache.put(path, stat_of(version), "sha256", f"{path} in version {version}")
            cache.close()
    known = 0
    for number, lost in enumerate(RecordedDisk(calls.events).lose_power(samples=4)):
        found = tmp_path / str(number)
        found.mkdir()
        lost.restore(found)
        with closing(sqlite3.connect(found / "cache")) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)], lost.description
        cache = HashCache(str(found / "cache"))
        for version in (1, 2):
            for path in FILES[::20]:
                hash_ = cache.get(path, stat_of(version), "sha256")
                assert hash_ in (None, f"{path} in version {version}"), lost.description
                known += hash_ is not None
        cache.put("new", stat_of(1), "sha256", "new")
        cache.flush()
        assert cache.get("new", stat_of(1), "sha256") == "new", lost.description
        cache.close()
    assert known
