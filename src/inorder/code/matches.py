"""Read the matches of a query on the tree of a file: what is done for every match and every line.

The functions are compiled (`_matches.c`). Where inorder was built without a C compiler, `python_matches` has the same.
"""

from .python_matches import Match, Nodes, Numbers, Role

try:
    from ._matches import find_line, find_line_starts, sort_matches
except ImportError:
    from .python_matches import find_line, find_line_starts, sort_matches

__all__ = ("Match", "Nodes", "Numbers", "Role", "find_line", "find_line_starts", "sort_matches")
