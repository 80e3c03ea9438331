"""Commands that run stages, and that say beforehand what a run would do."""
