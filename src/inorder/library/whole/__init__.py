"""What looks at a library as a whole: its check, and a copy of it."""
