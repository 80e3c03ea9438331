"""Versions of readers, which decide whether a document is read again."""

import pytest

from inorder.documents.readers import registry


@pytest.fixture(autouse=True)
def fresh_versions() -> None:
    registry.reader_version.cache_clear()


def test_installing_an_unrelated_package_does_not_change_the_version_of_docx(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "find_version", lambda package: "")
    before = registry.reader_version("docx")
    registry.reader_version.cache_clear()
    monkeypatch.setattr(registry, "find_version", lambda package: "6.0.0")
    assert registry.reader_version("docx") == before


@pytest.mark.parametrize("kind", [kind for kind, (_, package) in registry.READERS.items() if package])
def test_another_release_of_its_package_changes_the_version_of_a_reader(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = set()
    for number in ("1.0", "2.0"):
        monkeypatch.setattr(registry, "find_version", lambda package, number=number: number)
        registry.reader_version.cache_clear()
        found.add(registry.reader_version(kind))
    assert len(found) == 2
    registry.reader_version.cache_clear()
