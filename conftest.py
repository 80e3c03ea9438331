"""Plugins must be named at the root, so that they load for `pytest` and for `pytest tests/one_file.py` alike."""

pytest_plugins = ["pytester", "tests.support.requirements_plugin", "tests.support.fast_plugin"]
