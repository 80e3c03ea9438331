"""Describes a job: what items there are, how one is done, and everything around that is the same for every job."""
