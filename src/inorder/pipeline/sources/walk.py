"""Walk a source once, in the order of the ids of its files.

Two sets of rules decide what a file may be. A *document* is any file that is not hidden and that no `.inorderignore`
names. *Source code* is in addition subject to `.gitignore`, and never lies in a cache or in a folder of third-party
code. A folder is entered if one of the two may have files in it, so each folder is listed once.

An id is the path of the file below its source, quoted, with the name of the source in front. The walk has the byte
order of the ids: a folder sorts as its name with a slash. The library has the same order, so the two are compared in
one pass. The members of an archive have their place below `box.zip/`, which is after `box.zip.bak`: the walk marks that
place (`ListedMembers`), and who compares decides whether the archive is opened.
"""

import errno
import os
import stat
import struct
from collections.abc import Callable, Collection, Iterator
from time import time_ns
from typing import NamedTuple

from inorder.code.rules import CACHES, CODE_IGNORE_FILES, IGNORED, THIRD_PARTY, find_third_party_reason
from inorder.documents.archives.names import find_format, may_have_archives
from inorder.files.listing import FolderListing, list_folder
from inorder.files.walk import UNREADABLE_FOLDER, IgnoreRules, is_ignored, read_ignore_file
from inorder.stage.files.file_stat import FileStat
from inorder.stage.inputs import AddressedInput
from inorder.stage.sources import IGNORE_FILE, quote_id, require_root

from .names import SourcePart

LINK = "a symbolic link"
LINK_OUTSIDE = "a symbolic link to a file outside of the source folder"
LINK_NOWHERE = "a symbolic link to a file that is not there"
LINK_TO_FOLDER = "a symbolic link to a folder"
SPECIAL = "not a regular file"
_SIGNATURE = struct.Struct("<4Q")
_WRAP = 2**64
"""A time may lie before 1970, or in the far future."""
NOT_CODE = frozenset((IGNORED, LINK, THIRD_PARTY))
"""Why rules do not admit a file as source code."""


class ListedContent(NamedTuple):
    """What is known of content that is no file of its own: a member of an archive, an object of a remote source."""

    source: AddressedInput
    """What reads it."""
    signature: bytes
    """Another one whenever the content is."""
    kind: str = ""
    """Its kind, if it is known without reading it; empty: it is not."""
    sha256: bytes = b""
    """Of the content, if it is known without reading it."""


class ListedFile(NamedTuple):
    """A file below a source; or a folder that cannot be read, with the problem."""

    item_id: str
    path: str
    stat: FileStat | None
    """None: it cannot be read, or is no file of its own."""
    is_document: bool = True
    """Whether the rules for documents admit it."""
    not_code: str = ""
    """Why it is not read as source code; empty: the rules for code admit it."""
    problem: str = ""
    """Why it cannot be read; empty if no reason is known."""
    is_unread_folder: bool = False
    """Whether it is a folder whose entries are not known: nothing below it counts as removed."""
    content: ListedContent | None = None
    """None: it is a file of its own."""
    parent: str = ""
    """The id of the archive that it is a member of; empty: it is none."""
    not_read: str = ""
    """Why it is not read, whatever its name says: it is a link that is not followed, or no regular file."""

    @property
    def size(self) -> int:
        """Its size in bytes."""
        return (
            self.stat.size if self.stat is not None else 0 if self.content is None else max(0, self.content.source.size)
        )

    @property
    def signature(self) -> bytes:
        """What stays equal as long as it does not change; empty: nothing does."""
        if self.stat is not None:
            return pack_signature(self.stat)
        return b"" if self.content is None else self.content.signature

    @property
    def archive_format(self) -> str | None:
        """The format of an archive or a mail, as `find_format` names it; None: it is none. The name decides."""
        is_possible = self.stat is not None and self.stat.size and self.is_document and not self.problem
        return find_format(self.path) if is_possible else None


class ListedMembers(NamedTuple):
    """The place of the members of an archive, or of the attachments of a mail."""

    archive: ListedFile

    @property
    def item_id(self) -> str:
        """What the ids of the members begin with."""
        return f"{self.archive.item_id}/"


class _RuledFolder(NamedTuple):
    path: str
    """With a slash at the end."""
    relative: str
    """Path from the root of the source, with a slash at the end; empty: the root."""
    is_document: bool
    document_rules: tuple[IgnoreRules, ...]
    not_code: str
    code_rules: tuple[IgnoreRules, ...]


_Entry = _RuledFolder | ListedFile | ListedMembers
"""What a folder has in it."""


Listings = dict[str, FolderListing]
"""The entries of folders, by path."""


def walk_part(
    part: SourcePart,
    excluded: Collection[str],
    listings: Listings | None = None,
    warn: Callable[[str], None] = lambda problem: None,
) -> Iterator[ListedFile | ListedMembers]:
    """Yield every file of a part of a source, in the order of the ids, except what lies below the folders in
    `excluded`. `listings` keeps those of the folders above the part: several parts may have them in common. `warn` is
    called with each problem of an ignore file. Raises OperatorError if the source is not there, also if it vanishes
    meanwhile."""
    root = part.location
    require_root(root)
    if not os.path.isdir(root):
        found = inspect_file(root, quote_id(part.name), os.path.dirname(root), time_ns())
        yield found
        if found.archive_format is not None:
            yield ListedMembers(found)
        return
    walker = _Walker(root, quote_id(part.name), frozenset((*part.excluded, *excluded)), listings, warn)
    yield from walker.walk(tuple(filter(None, part.below.split("/"))))
    require_root(root)


class _Walker:
    """Walks one root."""

    def __init__(
        self,
        root: str,
        prefix: str,
        excluded: frozenset[str],
        listings: Listings | None,
        warn: Callable[[str], None],
    ) -> None:
        self._warn = warn
        self._listings = {} if listings is None else listings
        self._root = root
        self._real_root = os.path.join(os.path.realpath(root), "")
        self._prefix = prefix
        self._excluded = excluded

    def walk(self, below: tuple[str, ...]) -> Iterator[ListedFile | ListedMembers]:
        """Yield the files below the root, or only those at or below a path from the root."""
        start = _RuledFolder(os.path.join(self._root, ""), "", True, (), "", ())
        stack: list[tuple[_Entry, tuple[str, ...]]] = [(start, below)]
        while stack:  # no recursion: folders may be nested deeper than Python's stack allows
            found, rest = stack.pop()
            if not isinstance(found, _RuledFolder):
                yield found
                continue
            inner = rest[1:]
            entries = self._list(found, rest[0] if rest else None)
            if rest:
                stack.extend((entry, inner) for entry in reversed(entries))
                continue
            place = 0
            while place < len(entries) and isinstance(entries[place], ListedFile):
                yield entries[place]  # type: ignore[misc]
                place += 1
            stack.extend((entry, ()) for entry in reversed(entries[place:]))

    def _list(self, folder: _RuledFolder, only: str | None) -> "list[_Entry]":
        """The files and folders of a folder in the order of their ids; only the one of a name, if there is one."""
        try:
            listed = self._list_entries(folder.path, is_shared=only is not None)
        except OSError as error:
            problem = f"{UNREADABLE_FOLDER}: {error.strerror}"
            item_id = f"{self._prefix}/{quote_id(folder.relative.rstrip('/'))}" if folder.relative else self._prefix
            return [ListedFile(item_id, folder.path, None, problem=problem, is_unread_folder=True)]
        folder = self._read_rules(folder, listed.files)
        read_ns = time_ns()  # before the stats: a later change must not look older than it
        start = f"{self._prefix}/{quote_id(folder.relative)}"
        names = [name for name in listed.files if name[0] != "." and only in (None, name)]
        files = [self._find_file(folder, name, start, read_ns) for name in names]
        entries: list[tuple[str, _Entry]] = [(file.item_id, file) for file in files if file is not None]
        if may_have_archives(names):
            archives = [file for file in files if file is not None and file.archive_format is not None]
            entries.extend((f"{file.item_id}/", ListedMembers(file)) for file in archives)
        for name in listed.folders:
            inner = self._enter(folder, name) if name[0] != "." and only in (None, name) else None
            if inner is not None:
                entries.append((f"{start}{quote_id(name)}/", inner))
        entries.sort(key=lambda entry: entry[0])
        return [entry for _, entry in entries]

    def _list_entries(self, path: str, *, is_shared: bool) -> FolderListing:
        """The entries of a folder. Raises OSError if it cannot be read."""
        if not is_shared:
            return list_folder(path)
        if path not in self._listings:
            self._listings[path] = list_folder(path)
        return self._listings[path]

    def _read_rules(self, folder: _RuledFolder, files: list[str]) -> _RuledFolder:
        """The folder with the rules of its own ignore files, and whether it has third-party code."""
        not_code = folder.not_code
        if folder.relative and not not_code:
            not_code = find_third_party_reason(folder.path.rstrip("/"), files)
        present = [name for name in CODE_IGNORE_FILES if name in files]
        if not present and not_code == folder.not_code:
            return folder
        rules = {name: read_ignore_file(folder.path, folder.relative, name) for name in present}
        for each in rules.values():
            for problem in each.problems:
                self._warn(problem)
        documents = rules.get(IGNORE_FILE)
        return folder._replace(
            not_code=not_code,
            document_rules=folder.document_rules if documents is None else (*folder.document_rules, documents),
            code_rules=(*folder.code_rules, *rules.values()),
        )

    def _enter(self, folder: _RuledFolder, name: str) -> _RuledFolder | None:
        """A folder inside a folder; None: it is not entered."""
        path, relative = f"{folder.path}{name}/", f"{folder.relative}{name}/"
        if f"{self._real_root}{relative[:-1]}" in self._excluded:  # no folder below the root is a link
            return None
        is_document = folder.is_document and not is_ignored(folder.document_rules, relative)
        not_code = folder.not_code
        if not not_code:
            not_code = IGNORED if name in CACHES or is_ignored(folder.code_rules, relative) else ""
        if not is_document and not_code:
            return None
        return _RuledFolder(path, relative, is_document, folder.document_rules, not_code, folder.code_rules)

    def _find_file(self, folder: _RuledFolder, name: str, start: str, read_ns: int) -> ListedFile | None:
        """A file of a folder; None: it is neither a document nor source code."""
        is_document, not_code = folder.is_document, folder.not_code
        if folder.document_rules and is_document:
            is_document = not is_ignored(folder.document_rules, f"{folder.relative}{name}")
        if not not_code and (name in CACHES or is_ignored(folder.code_rules, f"{folder.relative}{name}")):
            not_code = IGNORED
        if not is_document and not_code:
            return None
        path, item_id = f"{folder.path}{name}", f"{start}{quote_id(name)}"
        try:
            info = os.lstat(path)
        except OSError as error:
            problem = f"the file cannot be read: {error.strerror or error}"
            return ListedFile(item_id, path, None, is_document, not_code, problem)
        if not stat.S_ISREG(info.st_mode):
            found = inspect_file(path, item_id, self._root, read_ns)
            return found._replace(is_document=is_document, not_code=not_code or found.not_code)
        return ListedFile(item_id, path, FileStat.make(info, read_ns), is_document, not_code)


def inspect_file(path: str, item_id: str, root: str, read_ns: int) -> ListedFile:
    """Describe the file at a path. A symbolic link is followed only to a file within `root`, and is not source code."""
    not_code = ""
    try:
        info = os.lstat(path)
        if stat.S_ISLNK(info.st_mode):
            not_code = LINK
            followed, not_read = _follow(path, root)
            if followed is None:
                return ListedFile(item_id, path, None, not_code=not_code, not_read=not_read)
            info = followed
    except OSError as error:
        problem = f"the file cannot be read: {error.strerror or error}"
        return ListedFile(item_id, path, None, not_code=not_code, problem=problem)
    if not stat.S_ISREG(info.st_mode):
        return ListedFile(item_id, path, None, not_code=not_code, not_read=SPECIAL)
    return ListedFile(item_id, path, FileStat.make(info, read_ns), not_code=not_code)


def _follow(path: str, root: str) -> tuple[os.stat_result | None, str]:
    """Return the stat of the file that a link leads to; None: the link is not followed, for the reason that is
    returned. Raises OSError if the file cannot be read."""
    if not _is_below(os.path.realpath(path), os.path.realpath(root)):
        return None, LINK_OUTSIDE
    try:
        info = os.stat(path)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            raise
        return None, LINK_NOWHERE
    return (None, LINK_TO_FOLDER) if stat.S_ISDIR(info.st_mode) else (info, "")


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def pack_signature(stat: FileStat) -> bytes:
    """Return the signature of a stat; empty if the file is racy: then it may change again without a change of its
    signature."""
    if stat.is_racy:
        return b""
    return _SIGNATURE.pack(stat.size, stat.mtime_ns % _WRAP, stat.ctime_ns % _WRAP, stat.inode % _WRAP)
