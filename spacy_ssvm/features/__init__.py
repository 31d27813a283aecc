"""Features: from Docs to token attributes, to template keys, to rows of the weights."""
