"""A folder with files of the types that the example plug-in reads, and packages with plug-ins on the path."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.command_line import CommandLine
from tests.support.plugin_package import install, install_example

LAMP = "Lamps\nlens: It turns slowly in mercury.\noil: The keeper burns it.\n"
AddPackage = Callable[..., Path]


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[CommandLine]:
    cli = CommandLine(tmp_path)
    cli.source("a.lamp", LAMP)
    cli.source("b.md", "# Oil\n\nIt is kept in the cellar.\n")
    yield cli
    cli.close()


@pytest.fixture
def add_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AddPackage:
    """Installs a package, from its name, its version, its entry points by group, and its files."""

    def add(name: str, version: str, groups: dict[str, dict[str, str]], files: dict[str, str]) -> Path:
        site = install(tmp_path / name, name, version, groups, files)
        monkeypatch.syspath_prepend(site)
        return site

    return add


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package of `examples/plugin`, installed."""
    site = install_example(tmp_path / "example")
    monkeypatch.syspath_prepend(site)
    return site
