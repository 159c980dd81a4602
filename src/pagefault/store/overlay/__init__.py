"""A store over another, which it reads and never writes: new records stay in memory.

As in an overlay file system, there is a read-only lower layer and a writable upper one. A
conversation that must leave nothing on disk continues here, as a fork: it sees and searches
everything of its parent, and what it adds ends with the overlay.

Records of the upper layer are numbered from `FIRST` on, above those of any written log. So the
layers can grow side by side, and a number identifies the layer of its record.
"""
