"""Compiles the extension module of a wheel, and of a checkout that is installed as editable.

Without a C compiler, or without the headers of Python, the package is built without it: a Python module gives the same
results in more time.
"""

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NAME, SOURCE = "inorder.index.lexical._counter", "src/inorder/index/lexical/_counter.c"


class CompileHook(BuildHookInterface):
    """Adds the compiled module to a wheel. An editable one finds it beside its source."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before the wheel is built."""
        self._folder = tempfile.mkdtemp(prefix="inorder-build-")
        try:
            place, path = compile_extension(Path(self.root), Path(self._folder))
        except Exception as error:
            self.app.display_warning(f"inorder is built without its compiled module, which makes it slower: {error}")
            return
        if version == "editable":
            shutil.copyfile(path, Path(self.root, "src", place))
            return
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        build_data["force_include"][str(path)] = place

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was compiled."""
        shutil.rmtree(self._folder, ignore_errors=True)


def compile_extension(root: Path, folder: Path) -> tuple[str, Path]:
    """Compile the extension module into a folder. Returns its place in the package, and its file."""
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext

    command = build_ext(Distribution({"ext_modules": [Extension(NAME, [str(root / SOURCE)])]}))
    command.build_lib, command.build_temp = str(folder / "lib"), str(folder / "temp")
    command.ensure_finalized()
    command.run()
    place = command.get_ext_filename(NAME)
    return place, folder / "lib" / place
