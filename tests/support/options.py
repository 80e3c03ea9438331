"""Options of `imap` as one flat dict."""

from typing import Any

import inorder


def for_imap(**options: Any) -> dict[str, Any]:
    """Put those that belong into `RunOptions` there."""
    names = inorder.RunOptions.__struct_fields__
    chosen = {name: options.pop(name) for name in names if name in options}
    if chosen:
        options["options"] = inorder.RunOptions(**chosen)
    return options
