"""The rules that every source of a plug-in must keep, as checks that authors can run on theirs.

Each rule takes the plug-in, and the path of a folder that has at least one file with content. It raises `BrokenRule` if
the source breaks the rule.

    @pytest.mark.parametrize("rule", SOURCE_RULES, ids=lambda rule: rule.__name__)
    def test_my_source(rule):
        rule(my_source, "1889")
"""

from typing import Any

from inorder.sinks.testing import expect

_MISSING = "a missing file must raise FileNotFoundError"


def names_what_identifies_a_version(plugin: Any, folder: str) -> None:
    """The fields that identify a version are a collection of names, and every file has one of them at least."""
    names = plugin.identity
    are_names = not isinstance(names, str) and len(names) > 0 and all(isinstance(each, str) for each in names)
    expect(are_names, f"identity must be a collection of names, got {names!r}")
    for file in _list_files(plugin.open_filesystem(), folder):
        expect(any(file.get(each) is not None for each in names), f"{file['name']} has none of the fields {names}")


def lists_a_folder(plugin: Any, folder: str) -> None:
    """What is listed says what it is, and is what `info` says."""
    filesystem = plugin.open_filesystem()
    expect(filesystem.info(folder).get("type") == "directory", f"info must say that {folder} is a directory")
    for entry in filesystem.ls(folder, True):
        expect(entry.get("type") in ("file", "directory"), f"an entry must be a file or a directory, got {entry}")
        said = filesystem.info(entry["name"])
        is_same = all(said.get(key) == entry.get(key) for key in ("name", "type", "size", *plugin.identity))
        expect(is_same, f"info must say of {entry['name']} what ls says")


def lists_the_same_again(plugin: Any, folder: str) -> None:
    """Another filesystem lists the same, so what has not changed is not read again."""
    first, second = (_list_files(plugin.open_filesystem(), folder) for _ in range(2))
    keys = ("name", "size", *plugin.identity)
    both = [[[file.get(key) for key in keys] for file in found] for found in (first, second)]
    expect(both[0] == both[1], "two filesystems must list the same files with the same versions")


def reads_whole_files_and_parts(plugin: Any, folder: str) -> None:
    """The content has the size that was listed, and is the same as a whole, in parts and as a stream."""
    filesystem = plugin.open_filesystem()
    for file in _list_files(filesystem, folder):
        name = file["name"]
        content = filesystem.cat_file(name, None, None)
        expect(isinstance(content, bytes), f"cat_file must return bytes, got {type(content).__name__}")
        expect(len(content) == file["size"], f"{name} must have the size that ls says")
        for start, end in ((0, 1), (1, None), (1, len(content))):
            expect(
                filesystem.cat_file(name, start, end) == content[start:end], f"cat_file must return bytes {start}:{end}"
            )
        with filesystem.open(name, "rb") as stream:
            expect(stream.read(1) + stream.read() == content, "open must return a stream of the same content")


def says_what_is_not_there(plugin: Any, folder: str) -> None:
    """A path without a file raises `FileNotFoundError`."""
    filesystem = plugin.open_filesystem()
    for read in (filesystem.info, filesystem.cat_file):
        try:
            read(f"{folder}/there is no such file")
        except FileNotFoundError:
            continue
        except Exception as error:
            expect(
                condition=False,
                rule=f"a missing file must raise FileNotFoundError, got {type(error).__name__}: {error}",
            )
        expect(condition=False, rule="a missing file must raise FileNotFoundError")


SOURCE_RULES = (
    names_what_identifies_a_version,
    lists_a_folder,
    lists_the_same_again,
    reads_whole_files_and_parts,
    says_what_is_not_there,
)


def _list_files(filesystem: Any, folder: str) -> list[dict[str, Any]]:
    files = [entry for entry in filesystem.ls(folder, True) if entry.get("type") == "file"]
    expect(any(entry["size"] for entry in files), f"the folder {folder!r} must have a file that is not empty")
    return sorted(files, key=lambda entry: str(entry["name"]))
