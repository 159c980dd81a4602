"""Context packs of sessions and memories: what could stand in one is gathered here."""
