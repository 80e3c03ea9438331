"""`pytest -p tests.support.plain_counter_plugin`: tests run as if inorder was built without a C compiler."""

import sys

sys.modules["inorder.index.lexical._counter"] = None  # type: ignore[assignment]
