"""A plug-in of inorder of each kind, as an example: see `docs/guides/plug-ins.md`."""
