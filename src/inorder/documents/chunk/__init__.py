"""Split documents into chunks: bounded in tokens, along their structure, with stable ids."""
