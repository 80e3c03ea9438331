"""Archives as folders: their members are documents."""
