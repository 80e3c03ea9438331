"""The journal of a run, from which it resumes after a crash."""
