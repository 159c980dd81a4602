"""A store over another, which it reads and never writes: what is new stays in memory.

As an overlay file system has a lower layer that is read and an upper one that is written. A
conversation that must leave nothing on a disk goes on here, as a fork: it sees all that its parent
says, its searches find it, and what is said from then on ends with the overlay.

Records of the upper layer are numbered from `FIRST` on, higher than any of a log that is written.
So the layers may grow side by side, and a number tells which one has its record.
"""
