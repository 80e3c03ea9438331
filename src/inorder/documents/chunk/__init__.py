"""From a document to pieces that fit a model: token-bounded, along its structure, with stable ids."""
