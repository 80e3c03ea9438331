"""The identity of a function: its name, and its code or the version that the user gives it.

The code is compared as compiled: a comment, a docstring or another line number is no change. Functions of the same
module that it uses belong to it, and so do its defaults and the values that it closes over, unless they can change.
What it imports from elsewhere does not.
"""

import functools
import sys
from collections.abc import Callable, Iterator
from hashlib import blake2b
from types import CodeType, FunctionType, MethodType
from typing import Any

CODE, VERSION = "code:", "version:"
_CALL = "__call__"


def qualified_name(function: Callable[..., Any]) -> str:
    """Return the name of a function with its module, and the arguments of a partial."""
    if isinstance(function, functools.partial):
        bound = ", ".join([*map(repr, function.args), *(f"{k}={v!r}" for k, v in sorted(function.keywords.items()))])
        return f"{qualified_name(function.func)}({bound})"
    kind = type(function)
    module = getattr(function, "__module__", None) or kind.__module__
    return f"{module}.{getattr(function, '__qualname__', kind.__qualname__)}"


def describe_version(function: Callable[..., Any], version: str) -> str:
    """Return the version that the user gives a function; if it is empty, a hash of the code."""
    if version:
        return f"{VERSION}{version}"
    parts = [f"{sys.implementation.name} {sys.version_info[0]}.{sys.version_info[1]}", *_Describer().describe(function)]
    digest = blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=16)
    return f"{CODE}{digest.hexdigest()}"


class _Describer:
    """Describes the code of functions, each once."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def describe(self, function: Any) -> Iterator[str]:
        """Yield what the results of a function depend on, as text that is the same in every process."""
        if id(function) in self._seen:
            return
        self._seen.add(id(function))
        if isinstance(function, functools.partial):
            yield from self._describe_value(function.args)
            yield from self._describe_value(tuple(sorted(function.keywords.items())))
            yield from self.describe(function.func)
        elif isinstance(function, MethodType):
            yield from self.describe(function.__func__)
        elif isinstance(function, FunctionType):
            yield from self._describe_function(function)
        elif not isinstance(function, type):
            call: Any = getattr(type(function), _CALL, None)
            if isinstance(call, FunctionType):
                yield from self._describe_function(call)

    def _describe_function(self, function: FunctionType) -> Iterator[str]:
        code = function.__code__
        yield from self._describe_code(code, function.__doc__)
        yield from self._describe_value(function.__defaults__)
        yield from self._describe_value(tuple(sorted((function.__kwdefaults__ or {}).items())))
        for cell in function.__closure__ or ():
            try:
                yield from self._describe_value(cell.cell_contents)
            except ValueError:
                yield "(empty)"
        for name in _list_names(code):
            used = function.__globals__.get(name)
            if isinstance(used, FunctionType) and used.__module__ == function.__module__:
                yield from self.describe(used)

    def _describe_code(self, code: CodeType, docstring: str | None) -> Iterator[str]:
        yield code.co_code.hex()
        yield repr(code.co_names)
        for number, constant in enumerate(code.co_consts):
            if isinstance(constant, CodeType):
                yield from self._describe_code(constant, None)
            elif number or constant != docstring:
                yield from self._describe_value(constant)

    def _describe_value(self, value: Any) -> Iterator[str]:
        """Yield a value that the code uses. Of an object that can change, only the class counts."""
        if isinstance(value, tuple):
            for each in value:
                yield from self._describe_value(each)
        elif isinstance(value, frozenset):
            yield repr(sorted(map(repr, value)))
        elif isinstance(value, str | bytes | int | float | complex | None):
            yield repr(value)
        elif callable(value):
            yield from self.describe(value)
        else:
            yield type(value).__qualname__


def _list_names(code: CodeType) -> Iterator[str]:
    """Yield the globals and attributes that a function names, with those of the functions in it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _list_names(constant)
