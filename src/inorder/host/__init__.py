"""The operating system: clock, filesystem, locks and paths."""
