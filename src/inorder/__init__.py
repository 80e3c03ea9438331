"""inorder: compute in parallel, commit in order, lose nothing, repeat nothing."""
