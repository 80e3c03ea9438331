"""Workers on a Ray cluster. Importing this package does not import Ray."""
