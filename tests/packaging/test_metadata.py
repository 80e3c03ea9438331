"""What the package says of itself."""

import tomllib
from importlib.resources import files

import pytest

from tests.packaging.conftest import ROOT, list_supported_versions

pytestmark = pytest.mark.req("PKG-1")


def test_the_oldest_python_that_is_named_is_the_one_that_is_required() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    versions = list_supported_versions()
    assert versions == [f"3.{minor}" for minor in range(11, 11 + len(versions))]
    assert project["project"]["requires-python"] == f">={versions[0]}"
    assert project["tool"]["ruff"]["target-version"] == f"py{versions[0].replace('.', '')}"


def test_type_checkers_find_the_types_of_the_package() -> None:
    assert files("inorder").joinpath("py.typed").is_file()
