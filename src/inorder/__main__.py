"""`python -m inorder` is `inorder`."""

from inorder.cli.app import run_program

run_program()
