"""Context packs of sessions and memories: candidates are gathered here."""
