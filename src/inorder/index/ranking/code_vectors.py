"""What the vector of a chunk of source code is made of.

A body is mostly names of variables and syntax, which say little of what it is for. So the vector is made of what people
write for other people: the names of the file and the definition, the beginning with the signature, and comments.
"""

import re

from inorder.index.hits import Hit

_COMMENT = re.compile(r'"""(.*?)"""|/\*+(.*?)\*/|(?:^|(?<=\s))(?://+|#+)[ \t]([^\n]*)', re.DOTALL | re.MULTILINE)
_NAME_WEIGHT = 3
_START_CHARACTERS = 150
_COMMENT_CHARACTERS = 400


def describe_code(hit: Hit) -> str:
    """The text whose vector stands for the chunk."""
    file_name = hit.item_id.rpartition("/")[2].partition(".")[0]
    comments = " ".join(part for found in _COMMENT.findall(hit.text) for part in found if part)
    names = " ".join([hit.name] * _NAME_WEIGHT)
    return f"{file_name} {names} {hit.text[:_START_CHARACTERS]} {comments[:_COMMENT_CHARACTERS]}"
