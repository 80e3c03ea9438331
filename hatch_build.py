"""Compiles the extension modules of a wheel, and of a checkout that is installed as editable.

Without a C compiler, or without the headers of Python, the package is built without them: each stands for a Python
module that gives the same results in more time.
"""

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

EXTENSIONS = {
    "inorder.code._calls": "src/inorder/code/_calls.c",
    "inorder.code._definitions": "src/inorder/code/_definitions.c",
    "inorder.code._matches": "src/inorder/code/_matches.c",
    "inorder.code._pieces": "src/inorder/code/_pieces.c",
    "inorder.files._stats": "src/inorder/files/_stats.c",
    "inorder.index.lexical._counter": "src/inorder/index/lexical/_counter.c",
}


class CompileHook(BuildHookInterface):
    """Adds the compiled modules to a wheel. An editable one finds them beside their sources."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before the wheel is built."""
        self._folder = tempfile.mkdtemp(prefix="inorder-build-")
        try:
            compiled = compile_extensions(Path(self.root), Path(self._folder))
        except Exception as error:
            self.app.display_warning(f"inorder is built without compiled modules, which makes it slower: {error}")
            return
        if version == "editable":
            for place, path in compiled.items():
                shutil.copyfile(path, Path(self.root, "src", place))
            return
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        build_data["force_include"].update({str(path): place for place, path in compiled.items()})

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was compiled."""
        shutil.rmtree(self._folder, ignore_errors=True)


def compile_extensions(root: Path, folder: Path) -> dict[str, Path]:
    """Compile all extension modules into a folder. Returns the place of each in the package, with its file."""
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext

    extensions = [Extension(name, [str(root / source)]) for name, source in EXTENSIONS.items()]
    command = build_ext(Distribution({"ext_modules": extensions}))
    command.build_lib, command.build_temp = str(folder / "lib"), str(folder / "temp")
    command.ensure_finalized()
    command.run()
    return {name: folder / "lib" / name for name in map(command.get_ext_filename, EXTENSIONS)}
