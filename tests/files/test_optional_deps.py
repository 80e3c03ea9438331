"""Packages of extras: a missing one is named with the command that installs it."""

import json

import pytest

from inorder.errors import OperatorError
from inorder.files.optional_deps import require_module, require_packages


def test_a_module_that_is_installed_is_imported() -> None:
    assert require_module("json", by="--json", extra="none") is json


def test_a_missing_module_is_an_operator_error_with_the_command_to_install_it() -> None:
    with pytest.raises(OperatorError, match=r"^--ocr needs the package no_such_package: pip install 'inorder\[ocr\]'$"):
        require_module("no_such_package.inner", by="--ocr", extra="ocr")


def test_packages_are_checked_without_importing_them() -> None:
    require_packages({"json": "python"}, by="--json", extra="none")
    with pytest.raises(OperatorError, match=r"^--ocr needs the package the-package: pip install 'inorder\[ocr\]'$"):
        require_packages({"json": "python", "no_such_module": "the-package"}, by="--ocr", extra="ocr")
