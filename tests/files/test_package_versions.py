"""The versions of installed packages, read without `importlib.metadata`."""

import subprocess
import sys
import zipfile
from importlib.metadata import distributions, version
from pathlib import Path

import pytest

from inorder.files import package_versions
from inorder.files.package_versions import find_version


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Two folders at the beginning of the path."""
    package_versions.list_packages.cache_clear()
    found = [tmp_path / "first", tmp_path / "second"]
    for folder in reversed(found):
        folder.mkdir()
        monkeypatch.syspath_prepend(str(folder))
    return found


def install(folder: Path, entry: str, metadata: str) -> None:
    (folder / entry).mkdir()
    (folder / entry / ("METADATA" if entry.endswith(".dist-info") else "PKG-INFO")).write_text(metadata)


@pytest.mark.slow
def test_every_installed_package_has_the_version_that_its_metadata_say() -> None:
    names = {found.metadata["Name"] for found in distributions()}
    assert len(names) > 20
    assert {name: find_version(name) for name in names} == {name: version(name) for name in names}


def test_a_package_that_is_not_installed_has_no_version() -> None:
    assert find_version("no-such-package-anywhere") == ""


def test_the_first_folder_of_the_path_counts(folders: list[Path]) -> None:
    install(
        folders[1], "Some.Thing-2.0.dist-info", "Metadata-Version: 2.1\nName: Some.Thing\nVersion: 2.0\n\nVersion: 9\n"
    )
    assert find_version("some-thing") == version("some-thing") == "2.0"
    install(folders[0], "some_thing-1.0.dist-info", "Name: some-thing\nVersion: 1.0\n")
    package_versions.list_packages.cache_clear()
    assert find_version("some-thing") == version("some-thing") == "1.0"


@pytest.mark.parametrize("entry", ["other_thing-3.0.egg-info", "other_thing-3.0.dist-info"], ids=["egg", "no version"])
def test_what_a_wheel_has_not_left_there_is_left_to_the_standard_library(folders: list[Path], entry: str) -> None:
    install(folders[0], entry, "Metadata-Version: 1.0\nName: other-thing\n\nVersion: 9\n")
    install(folders[1], "other_thing-4.0.dist-info", "Name: other-thing\nVersion: 4.0\n")
    asked: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("importlib.metadata.version", lambda package: asked.append(package) or "3.0")
        assert find_version("other-thing") == "3.0"
    assert asked == ["other-thing"]


def test_packages_in_an_archive_are_left_to_the_standard_library(folders: list[Path]) -> None:
    folders[0].rmdir()
    with zipfile.ZipFile(folders[0], "w") as archive:
        archive.writestr("zipped_thing-5.0.dist-info/METADATA", "Name: zipped-thing\nVersion: 5.0\n")
    install(folders[1], "zipped_thing-6.0.dist-info", "Name: zipped-thing\nVersion: 6.0\n")
    assert find_version("zipped-thing") == version("zipped-thing") == "5.0"


@pytest.mark.process
def test_a_run_of_documents_does_not_load_what_parses_metadata() -> None:
    """It takes longer than a run without changes needs to compare a thousand files."""
    program = (
        "import sys\n"
        "import inorder.cli.command_group, inorder.cli.commands.make.run\n"
        "from inorder.documents.convert.settings import ConvertSettings, settings_of\n"
        "import inorder.pipeline.run\n"
        "settings_of(ConvertSettings(), 'any')\n"
        "print([name for name in ('importlib.metadata', 'pyarrow', 'logging') if name in sys.modules])\n"
    )
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert finished.stdout == "[]\n"
