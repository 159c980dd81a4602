"""The embedded engine: a log of files, an index in SQLite, blobs as files, in one directory."""
