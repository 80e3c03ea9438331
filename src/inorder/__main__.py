"""`python -m inorder` is `inorder`."""

from inorder.cli.app import main

main()
