"""The test suite; it mirrors `src/inorder`."""
