"""The code of a function, as text that is the same in every process: what its results depend on.

Followed are the function, what it holds (what it wraps, its closure, its defaults, the arguments of a partial) and the
names that its code uses, if they are of its own module or of the main script: functions, classes with their methods,
objects of these classes with their attributes, and constants. What these use is followed in the same way. What comes
from elsewhere is not.

A constant is a number, text, bytes, a compiled pattern, or a tuple or frozenset of these, to whose name no function
assigns that is followed. A list, a set or a dict may change while items run. It counts if its name is in capitals, or
if it is an argument of a partial.
"""

import dis
import operator
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from enum import Enum
from functools import cached_property, partial, partialmethod
from types import CodeType, FunctionType, MethodType
from typing import Any, NamedTuple

from .identity import is_plain

_MAIN = "__main__"
_ITEMS_MAX = 10_000
"""A larger container counts by its type and size."""
_FOLLOWED_MAX = 10_000
"""Functions, classes and objects. What is found after that counts by its type."""
_DEPTH_MAX = 20
"""Containers in containers."""
_READS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"})
_WRITES = {"STORE_GLOBAL": "global", "STORE_ATTR": "attribute", "STORE_DEREF": "cell"}
_BEGINNINGS = ("__init__", "__new__", "__post_init__", "__setstate__")
"""What these assign is the first value."""
_NO_CODE = frozenset({"__doc__", "__module__", "__firstlineno__", "__static_attributes__", "__annotate_func__"})
"""What a class has besides its behaviour."""
_LOOKUPS = (operator.itemgetter, operator.attrgetter, operator.methodcaller)
_BY_REPR: tuple[type, ...] = (type(None), type(...), str, bytes, float, complex, range, *_LOOKUPS)


class _Found(NamedTuple):
    """Something that is followed."""

    value: Any
    is_given: bool
    """It is the function, or is held by it: its code counts wherever it is defined."""


def qualified_name(function: Callable[..., Any]) -> str:
    """Return the name of a function with its module, and the arguments of a partial."""
    if isinstance(function, partial):
        arguments = [
            *map(_name_argument, function.args),
            *(f"{name}={_name_argument(value)}" for name, value in sorted(function.keywords.items())),
        ]
        return f"{qualified_name(function.func)}({', '.join(arguments)})"
    kind = type(function)
    module = getattr(function, "__module__", None) or kind.__module__
    return f"{module}.{getattr(function, '__qualname__', kind.__qualname__)}"


def _name_argument(value: Any) -> str:
    if is_plain(value):
        return repr(value)
    return qualified_name(value) if callable(value) else type(value).__qualname__


def describe_code(function: Callable[..., Any]) -> Iterator[str]:
    """Yield what the results of a function depend on."""
    return _Describer(function).describe()


class _Describer:
    """Describes a function and all that is followed from it, each once and in the order in which it is found."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        module = _find_module(function)
        self._home = (_MAIN,) if module == "builtins" else (_MAIN, module)
        self._numbers: dict[int, int] = {}
        self._found: deque[_Found] = deque()
        self._kept: list[Any] = []
        """What is followed stays alive, so that no two have one id."""
        self._assigned: set[tuple[str, str]] = set()
        self._constants: dict[tuple[str, str, int], str] = {}
        """What the value of a name is, by kind, name and the number of what has it."""

    def describe(self) -> Iterator[str]:
        """Yield the description."""
        yield self._describe_value(self._function, is_given=True)
        while self._found:
            value, is_given = self._found.popleft()
            yield f"#{self._numbers[id(value)]}"
            if isinstance(value, FunctionType):
                yield from self._describe_function(value, is_given=is_given)
            elif isinstance(value, type):
                yield from self._describe_class(value)
            else:
                yield from self._describe_object(value, is_given=is_given)
        for (kind, name, number), text in self._constants.items():
            if (kind, name) not in self._assigned:
                yield f"{name} of #{number} = {text}"

    def _describe_function(self, function: FunctionType, *, is_given: bool) -> Iterator[str]:
        code, number = function.__code__, self._numbers[id(function)]
        is_home = function.__globals__.get("__name__") in self._home
        names: dict[str, None] = {}
        if is_home or is_given:
            yield from self._describe_instructions(code, names)
        for value in (function.__defaults__, *(each for _, each in sorted((function.__kwdefaults__ or {}).items()))):
            yield self._describe_value(value, is_given=is_given)
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            try:
                value = cell.cell_contents
            except ValueError:  # it has no value yet
                continue
            self._constants["cell", name, number] = self._describe_value(value, is_given=is_given)
        for value in _list_held(function):
            yield self._describe_value(value, is_given=is_given)
        if is_home:
            self._describe_names(function.__globals__, names, number)

    def _describe_names(self, module: dict[str, Any], names: Iterable[str], number: int) -> None:
        for name in names:
            if name in module:
                with suppress(Exception):  # of a proxy that stands for nothing now
                    value = module[name]
                    text = self._describe_plain(value, 0) or self._describe_contents(name, value) or self._follow(value)
                    if text:
                        self._constants["global", name, number] = text

    def _describe_instructions(self, code: CodeType, names: dict[str, None]) -> Iterator[str]:
        """Yield the instructions of a function and of those in it, and add the globals that they read to `names`."""
        yield f"{code.co_argcount} {code.co_kwonlyargcount} {code.co_flags & 0xFF} {code.co_exceptiontable.hex()}"
        for instruction in dis.get_instructions(code):
            operation, argument = instruction.opname, instruction.argval
            if isinstance(argument, CodeType):
                yield from self._describe_instructions(argument, names)
            elif instruction.opcode in dis.hasconst:
                yield f"{operation} {self._describe_value(argument)}"
            elif instruction.opcode in dis.hasname:
                yield f"{operation} {argument}"
            elif operation != "NOP":
                yield f"{operation} {instruction.arg}"
            if operation in _READS:
                names[argument] = None
            elif operation in _WRITES and code.co_name not in _BEGINNINGS and argument not in code.co_cellvars:
                self._assigned.add((_WRITES[operation], argument))

    def _describe_class(self, kind: type) -> Iterator[str]:
        number = self._numbers[id(kind)]
        for base in (type(kind), *kind.__bases__):
            yield self._describe_value(base)
        for name, value in sorted(vars(kind).items()):
            if name not in _NO_CODE:
                text = self._describe_contents(name, value) or self._describe_value(value)
                self._constants["attribute", name, number] = text

    def _describe_object(self, value: Any, *, is_given: bool) -> Iterator[str]:
        number = self._numbers[id(value)]
        yield type(value).__qualname__
        for each in _list_held(value):
            yield self._describe_contents("", each) or self._describe_value(each, is_given=is_given)
        if self._is_home(type(value)):
            yield self._describe_value(type(value))
            for name, attribute in _list_attributes(value):
                text = self._describe_contents(name, attribute) or self._describe_value(attribute)
                self._constants["attribute", name, number] = text

    def _describe_value(self, value: Any, *, is_given: bool = False) -> str:
        """Return a value that counts. Of one that is not followed and may change, only the type counts."""
        with suppress(Exception):  # of a proxy that stands for nothing now
            if isinstance(value, tuple):
                return f"({', '.join(self._describe_value(each, is_given=is_given) for each in value)})"
            text = self._describe_plain(value, 0) or self._follow(value, is_given=is_given)
            return text or (qualified_name(value) if callable(value) else type(value).__qualname__)
        return type(value).__qualname__

    def _describe_plain(self, value: Any, depth: int) -> str:
        """Return a number, text and the like. Return an empty string for all else."""
        if isinstance(value, Enum):
            return f"{type(value).__qualname__}.{value.name}={self._describe_plain(value.value, depth)}"
        if isinstance(value, int):
            return f"{type(value).__qualname__} {value:x}"
        if isinstance(value, _BY_REPR):
            return repr(value)
        if isinstance(value, re.Pattern):
            return f"pattern {value.pattern!r} {value.flags}"
        if isinstance(value, tuple | frozenset):
            return self._describe_items(value, depth)
        return ""

    def _describe_contents(self, name: str, value: Any) -> str:
        """Return the items of a list, a set or a dict whose name is in capitals, or that needs no name."""
        is_constant = isinstance(value, list | set | dict) and (not name or name.isupper())
        return self._describe_items(value, 0) if is_constant else ""

    def _describe_items(self, value: Any, depth: int) -> str:
        kind = type(value).__qualname__
        if len(value) > _ITEMS_MAX or depth > _DEPTH_MAX:
            return f"{kind} of {len(value)}"
        if isinstance(value, set | frozenset):
            texts = sorted(self._describe_plain(each, depth) or type(each).__qualname__ for each in value)
        elif isinstance(value, dict):
            named = [(self._describe_plain(key, depth) or type(key).__qualname__, each) for key, each in value.items()]
            named.sort(key=operator.itemgetter(0))
            texts = [f"{name}: {self._describe_item(each, depth)}" for name, each in named]
        else:
            texts = [self._describe_item(each, depth) for each in value]
        return f"{kind}({', '.join(texts)})"

    def _describe_item(self, value: Any, depth: int) -> str:
        if isinstance(value, list | set | dict | tuple | frozenset):
            return self._describe_items(value, depth + 1)
        return self._describe_plain(value, depth) or self._follow(value) or type(value).__qualname__

    def _follow(self, value: Any, *, is_given: bool = False) -> str:
        """Return the number of something that is followed, and an empty string for what is not."""
        if isinstance(value, FunctionType | type):
            is_followed = self._is_home(value) or (is_given and isinstance(value, FunctionType))
        else:
            is_followed = self._is_home(type(value)) or bool(_list_held(value))
        if not is_followed or len(self._kept) >= _FOLLOWED_MAX:
            return ""
        if id(value) not in self._numbers:
            self._numbers[id(value)] = len(self._numbers)
            self._kept.append(value)
            self._found.append(_Found(value, is_given))
        return f"#{self._numbers[id(value)]}"

    def _is_home(self, value: FunctionType | type) -> bool:
        return value.__module__ in self._home


def _find_module(function: Any) -> str:
    """Return the module of the innermost function."""
    for _ in range(_DEPTH_MAX):
        held = _list_held(function)
        if not held:
            break
        function = held[0]
    return getattr(function, "__module__", None) or type(function).__module__


def _list_held(value: Any) -> list[Any]:
    """List what something that calls a function holds of it: the function first, then arguments."""
    if isinstance(value, partial | partialmethod):
        return [value.func, *value.args, *(each for item in sorted(value.keywords.items()) for each in item)]
    if isinstance(value, MethodType):
        return [value.__func__, value.__self__]
    if isinstance(value, staticmethod | classmethod):
        return [value.__func__]
    if isinstance(value, property):
        return [value.fget, value.fset, value.fdel]
    if isinstance(value, cached_property):
        return [value.func]
    wrapped = None if isinstance(value, type) else getattr(value, "__dict__", {}).get("__wrapped__")
    return [] if wrapped is None else [wrapped]


def _list_attributes(value: Any) -> list[tuple[str, Any]]:
    """List the attributes that an object has of its own, by name, without what it has computed and kept."""
    kind = type(value)
    names = set(getattr(value, "__dict__", ()))
    for each in kind.__mro__:
        slots = vars(each).get("__slots__", ())
        names.update([slots] if isinstance(slots, str) else slots)
    kept = {name for name in names if isinstance(getattr(kind, name, None), cached_property)}
    return [(name, getattr(value, name)) for name in sorted(names - kept) if hasattr(value, name)]
