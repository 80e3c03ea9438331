"""Settings shared by every test."""

from hypothesis import settings

# A red test must be red again on the next run and on the next machine.
settings.register_profile("inorder", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("inorder")
