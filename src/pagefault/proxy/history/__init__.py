"""A client's history as values: bodies parsed, messages as items, and the tree of histories."""
