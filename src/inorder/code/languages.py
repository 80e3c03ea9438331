"""The language of a file: from its name, else its extension, else the interpreter in its first line.

Languages that have a grammar (`grammars.LANGUAGES`) are parsed. The others have a name only, so that a search can
filter by it.
"""

import re

_NAMES_OF = {
    "make": "makefile gnumakefile",
    "dockerfile": "dockerfile containerfile",
    "cmake": "cmakelists.txt",
    "groovy": "jenkinsfile",
    "ruby": "rakefile gemfile guardfile podfile vagrantfile brewfile",
    "python": "sconstruct sconscript",
    "starlark": "build.bazel workspace",
    "toml": "pipfile cargo.lock poetry.lock",
    "json": "composer.lock",
    "bash": "pkgbuild apkbuild bashrc",
    "markdown": "readme",
    "just": "justfile",
}
_EXTENSIONS_OF = {
    "python": "py pyi pyw",
    "javascript": "js mjs cjs jsx es6",
    "typescript": "ts mts cts",
    "tsx": "tsx",
    "java": "java",
    "go": "go",
    "rust": "rs",
    "c": "c h",
    "cpp": "cpp cc cxx c++ hpp hh hxx h++ ipp inl tpp cu cuh",
    "csharp": "cs csx",
    "ruby": "rb rake gemspec ru podspec",
    "php": "php php5 php7 phtml",
    "bash": "sh bash zsh ksh ebuild bats",
    "scala": "scala sc sbt",
    "html": "html htm xhtml",
    "css": "css",
    "json": "json jsonc json5 geojson webmanifest ipynb",
    "yaml": "yaml yml",
    "toml": "toml",
    "sql": "sql ddl dml pgsql",
    "markdown": "md markdown mdown mkd mdx",
    "kotlin": "kt kts",
    "swift": "swift",
    "objective-c": "m mm",
    "lua": "lua",
    "perl": "pl pm",
    "r": "r",
    "julia": "jl",
    "haskell": "hs lhs",
    "ocaml": "ml mli",
    "fsharp": "fs fsi fsx",
    "erlang": "erl hrl",
    "elixir": "ex exs",
    "clojure": "clj cljs cljc edn",
    "lisp": "lisp lsp el scm ss rkt",
    "dart": "dart",
    "zig": "zig",
    "nim": "nim",
    "groovy": "groovy gradle",
    "powershell": "ps1 psm1 psd1",
    "batch": "bat cmd",
    "assembly": "s asm",
    "fortran": "f f90 f95 f03 for",
    "pascal": "pas pp",
    "ada": "adb ads",
    "d": "d",
    "verilog": "v sv svh",
    "vhdl": "vhd vhdl",
    "tcl": "tcl",
    "vue": "vue",
    "svelte": "svelte",
    "scss": "scss sass",
    "less": "less",
    "xml": "xml xsd xsl xslt svg plist csproj props targets",
    "ini": "ini cfg conf properties",
    "protobuf": "proto",
    "thrift": "thrift",
    "graphql": "graphql gql",
    "terraform": "tf tfvars hcl",
    "cmake": "cmake",
    "make": "mk mak",
    "nix": "nix",
    "solidity": "sol",
    "starlark": "bzl star bazel",
    "restructuredtext": "rst",
    "latex": "tex sty cls bib",
    "text": "txt text log",
    "csv": "csv tsv",
    "diff": "diff patch",
    "dockerfile": "dockerfile",
}
_INTERPRETERS_OF = {
    "python": "python pypy",
    "javascript": "node nodejs",
    "typescript": "deno bun ts-node",
    "ruby": "ruby",
    "php": "php",
    "bash": "sh bash dash zsh ksh",
    "scala": "scala",
    "perl": "perl",
    "lua": "lua",
    "r": "rscript",
    "julia": "julia",
    "make": "make",
    "powershell": "pwsh",
    "tcl": "tclsh",
}


def _turn_round(words_of: dict[str, str]) -> dict[str, str]:
    """The language of each word, from the words of each language."""
    return {word: language for language, words in words_of.items() for word in words.split()}


_NAMES, _EXTENSIONS, _INTERPRETERS = map(_turn_round, (_NAMES_OF, _EXTENSIONS_OF, _INTERPRETERS_OF))
_SHEBANG = re.compile(rb"#!\s*(?:\S*/)?env\s+(?:-\S+\s+|\w+=\S*\s+)*(?:\S*/)?([\w-]+)|#!\s*(?:\S*/)?([\w-]+)")
_CPP_HEADER = re.compile(rb"^\s*(?:class|namespace|template|using|public:|private:|protected:)\b|\bstd::", re.MULTILINE)


def language_of(path: str, head: bytes) -> str | None:
    """The language of a file with this path and these first bytes; None if unknown."""
    name = path.replace("\\", "/").rpartition("/")[2].lower()
    stem, dot, extension = name.rpartition(".")
    language = (
        _NAMES.get(name) or _NAMES.get(name.lstrip(".")) or (_EXTENSIONS.get(extension) if dot and stem else None)
    )
    if language is None and dot and stem in ("dockerfile", "makefile"):
        return _NAMES[stem]
    if language == "c" and extension == "h" and _CPP_HEADER.search(head):
        return "cpp"
    return language or _parse_shebang(head)


def _parse_shebang(head: bytes) -> str | None:
    match = _SHEBANG.match(head.removeprefix(b"\xef\xbb\xbf"))
    if match is None:
        return None
    interpreter = (match.group(1) or match.group(2)).decode("ascii", "ignore").lower()
    return _INTERPRETERS.get(interpreter) or _INTERPRETERS.get(interpreter.rstrip("0123456789-"))
