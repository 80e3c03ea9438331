"""What identifies a version of an object."""

from datetime import UTC, datetime

import pytest

from inorder.sources.protocols import RACY_S, is_same_version, make_fingerprint

NOW_S = 1_800_000_000.0
OLD = datetime.fromtimestamp(NOW_S - 3600, UTC)
HTTP_DATE = "Wed, 01 Jul 2026 10:00:00 GMT"


@pytest.mark.parametrize(
    ("protocol", "info", "found"),
    [
        ("s3", {"ETag": '"abc"', "LastModified": OLD, "size": 3}, 'ETag="abc"; size=3'),
        ("s3", {"ETag": '"abc"', "VersionId": "7", "size": 3}, 'ETag="abc"; VersionId=7; size=3'),
        ("s3", {"ETag": '"abc"', "VersionId": "null", "size": 3}, 'ETag="abc"; size=3'),
        ("gs", {"generation": "17", "updated": OLD, "size": 3}, "generation=17; size=3"),
        ("az", {"etag": '"0x8D"', "size": 3}, 'etag="0x8D"; size=3'),
        ("https", {"ETag": 'W/"1"', "Last-Modified": HTTP_DATE}, f'ETag=W/"1"; Last-Modified={HTTP_DATE}; size=None'),
        ("http", {"Last-Modified": HTTP_DATE, "size": 3}, f"Last-Modified={HTTP_DATE}; size=3"),
        ("http", {"size": 3}, ""),
        ("sftp", {"mtime": OLD, "size": 3}, f"mtime={OLD.timestamp()}; size=3"),
        ("zip", {"CRC": 5, "date_time": (2026, 1, 1), "size": 3}, "CRC=5; date_time=(2026, 1, 1); size=3"),
    ],
)
def test_the_listing_identifies_a_version(protocol: str, info: dict[str, object], found: str) -> None:
    assert make_fingerprint(protocol, info, NOW_S) == found


@pytest.mark.parametrize("age_s", [0.0, RACY_S - 1, -5.0])
def test_an_object_with_a_recent_time_alone_is_another_one_in_every_listing(age_s: float) -> None:
    info = {"mtime": datetime.fromtimestamp(NOW_S - age_s, UTC), "size": 3}
    one, two = make_fingerprint("sftp", info, NOW_S), make_fingerprint("sftp", info, NOW_S + 0.5)
    assert one != two
    assert is_same_version(one, two)
    later = make_fingerprint("sftp", info, NOW_S + 3 * RACY_S)
    assert later == make_fingerprint("sftp", info, NOW_S + 4 * RACY_S)
    assert not is_same_version(one, make_fingerprint("sftp", {**info, "size": 4}, NOW_S))
