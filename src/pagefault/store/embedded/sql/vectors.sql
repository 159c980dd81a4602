-- schema: Everything in vectors.db. Another `SCHEMA` in vectors.py whenever this changes.
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;

-- Models, each written once.
CREATE TABLE embedder (code INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);

-- place = session * 2^28 + order, as in index.db; vector = 16-bit floats, little-endian.
CREATE TABLE vector (
    id INTEGER PRIMARY KEY,
    embedder INTEGER NOT NULL,
    place INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    vector BLOB NOT NULL,
    UNIQUE (embedder, place)
);
CREATE INDEX vector_by_seq ON vector (seq);

-- meta: One fact about this file.
SELECT value FROM meta WHERE name = ?

-- set_meta: Change it.
INSERT INTO meta (name, value) VALUES (?, ?)
ON CONFLICT (name) DO UPDATE SET value = excluded.value

-- embedder: The code of a model, if it has ever put a vector here.
SELECT code FROM embedder WHERE name = ?

-- add_embedder: Give a model a code.
INSERT OR IGNORE INTO embedder (name) VALUES (?)

-- embedders: Every model, and how many vectors it has.
SELECT e.name, count(v.id) FROM embedder e LEFT JOIN vector v ON v.embedder = e.code
GROUP BY e.code ORDER BY e.code

-- places: Every place that has a vector.
SELECT DISTINCT place FROM vector

-- last_place: The last place in a range that has a vector.
SELECT max(place) FROM vector WHERE embedder = ? AND place BETWEEN ? AND ?

-- put: A vector, unless its place has one.
INSERT OR IGNORE INTO vector (embedder, place, seq, vector) VALUES (?, ?, ?, ?)

-- between: Vectors of a range of places, those after a place.
SELECT place, seq, vector FROM vector
WHERE embedder = ? AND place > ? AND place BETWEEN ? AND ? ORDER BY place

-- later: Vectors that were put after another one.
SELECT id, place, seq, vector FROM vector WHERE id > ? AND embedder = ? ORDER BY id

-- at: The vectors at these places.
SELECT place, vector FROM vector
WHERE embedder = ? AND place IN (SELECT value FROM json_each(?)) ORDER BY place

-- forget_seq: Drop the vectors of a record's page.
DELETE FROM vector WHERE seq = ?

-- forget_range: Drop the vectors of a range of places.
DELETE FROM vector WHERE place BETWEEN ? AND ?

-- forget_others: Drop the vectors of every model but one.
DELETE FROM vector WHERE embedder <> ?

-- forget_names: And their names.
DELETE FROM embedder WHERE code <> ?

-- secure: Overwrite with zeros whatever is deleted.
PRAGMA secure_delete = ON

-- vacuum: Write the file anew: what was moved about in it leaves copies.
VACUUM

-- check_file: What SQLite finds wrong with the file.
PRAGMA integrity_check;
