-- schema: Everything in index.db. Another `SCHEMA` in index.py whenever this changes.
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;

-- Types, roles, kinds, modalities and origins, each written once.
CREATE TABLE word (code INTEGER PRIMARY KEY, word TEXT NOT NULL UNIQUE);

-- own_pages and own_length count what this session itself holds now; turns and pages never fall.
CREATE TABLE session (
    session INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL,
    name TEXT NOT NULL,
    parent INTEGER NOT NULL,
    parent_seq INTEGER NOT NULL,
    turns INTEGER NOT NULL,
    pages INTEGER NOT NULL,
    opened_at_ms INTEGER NOT NULL,
    last_used_ms INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    epoch_seq INTEGER NOT NULL,
    lease_seq INTEGER NOT NULL,
    own_pages INTEGER NOT NULL,
    own_length INTEGER NOT NULL
);
CREATE INDEX session_by_id ON session (session_id);
CREATE INDEX session_by_name ON session (name, last_used_ms);

CREATE TABLE event (
    seq INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    type INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    at_ms INTEGER NOT NULL
);
CREATE INDEX event_by_type ON event (session, type);

CREATE TABLE page (
    seq INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    page_id TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    role INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    modality INTEGER NOT NULL,
    origin INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    importance REAL,  -- null stands for the usual one, and costs nothing
    part INTEGER NOT NULL,
    parts INTEGER NOT NULL,
    length INTEGER NOT NULL
);
CREATE INDEX page_by_id ON page (session, page_id);
CREATE INDEX page_by_order ON page (session, ordinal, length);

-- Ids of pages that were forgotten, so that their numbers stay taken, even for forks of a session
-- that is gone. seq is 0 where only a receipt tells of them.
CREATE TABLE taken (
    session INTEGER NOT NULL, page_id TEXT NOT NULL, seq INTEGER NOT NULL,
    PRIMARY KEY (session, page_id)
) WITHOUT ROWID;

CREATE TABLE key (
    session INTEGER NOT NULL, key TEXT NOT NULL, seq INTEGER NOT NULL,
    PRIMARY KEY (session, key)
) WITHOUT ROWID;

-- Terms come analysed, each behind its session (`12:tea`): a posting list is one session's, so a
-- query costs what its scope holds, however large the store. The tokenizer only splits at blanks.
CREATE VIRTUAL TABLE event_fts USING fts5 (
    terms, content = '', contentless_delete = 1, tokenize = "ascii tokenchars '@:.-'"
);
CREATE VIRTUAL TABLE posting USING fts5vocab (event_fts, instance);

-- Terms of the newest pages, on their way to event_fts: it takes many at once far more cheaply.
-- They are sorted, so that no sentence can be read back.
CREATE TABLE fresh (seq INTEGER PRIMARY KEY, session INTEGER NOT NULL, terms TEXT NOT NULL);

-- The names that requirement 004 gives to what is here.
CREATE VIEW sessions AS SELECT * FROM session;
CREATE VIEW events AS
    SELECT seq, session_id, word AS event_type, turn, at_ms, page_id
    FROM event
    JOIN word ON code = type
    LEFT JOIN session USING (session)
    LEFT JOIN page USING (seq);
CREATE VIEW artifacts AS
    SELECT page.seq, session_id, page_id, modality.word AS modality, tokens, at_ms
    FROM page
    JOIN word AS kind ON kind.code = page.kind AND kind.word = 'artifact'
    JOIN word AS modality ON modality.code = page.modality
    JOIN event USING (seq)
    JOIN session ON session.session = page.session;

-- meta: One fact about the file itself.
SELECT value FROM meta WHERE name = ?;

-- set_meta: Note a fact about the file itself.
INSERT INTO meta (name, value) VALUES (?, ?)
ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- words: Every word and its code.
SELECT code, word FROM word;

-- add_word: A word met for the first time.
INSERT INTO word (word) VALUES (?) RETURNING code;

-- add_events: One row for each record.
INSERT INTO event (seq, session, type, turn, at_ms) VALUES (?, ?, ?, ?, ?);

-- add_pages: One row for each record that is a page.
INSERT INTO page (
    seq, session, page_id, ordinal, role, kind, modality, origin,
    tokens, importance, part, parts, length
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- add_fresh: What a page can be found by.
INSERT INTO fresh (seq, session, terms) VALUES (?, ?, ?);

-- count_fresh: How many pages wait.
SELECT count(*) FROM fresh;

-- all_fresh: The pages that wait.
SELECT seq, session, terms FROM fresh;

-- drop_fresh: Nothing waits any more.
DELETE FROM fresh;

-- fresh: The pages that wait in one part of a scope.
SELECT seq, terms FROM fresh WHERE session = ? AND seq <= ?;

-- add_terms: What a page can be found by, each term behind its session.
INSERT INTO event_fts (rowid, terms) VALUES (?, ?);

-- add_keys: Idempotency keys. The first record of a key is the one.
INSERT INTO key (session, key, seq) VALUES (?, ?, ?) ON CONFLICT DO NOTHING;

-- add_taken: Ids that stay taken though no record tells of them any more.
INSERT OR REPLACE INTO taken (session, page_id, seq) VALUES (?, ?, 0);

-- put_session: A session as it is now.
INSERT OR REPLACE INTO session (
    session, session_id, name, parent, parent_seq, turns, pages,
    opened_at_ms, last_used_ms, last_seq, epoch_seq, lease_seq, own_pages, own_length
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- sessions: Every session, the most recently used first.
SELECT
    session, session_id, name, parent, parent_seq, turns, pages,
    opened_at_ms, last_used_ms, last_seq, epoch_seq, lease_seq
FROM session ORDER BY last_used_ms DESC, session DESC;

-- session: One session, with what the index counts for itself.
SELECT
    session, session_id, name, parent, parent_seq, turns, pages,
    opened_at_ms, last_used_ms, last_seq, epoch_seq, lease_seq, own_pages, own_length
FROM session WHERE session = ?;

-- session_by_id: The session of this id.
SELECT session FROM session WHERE session_id = ? ORDER BY session DESC LIMIT 1;

-- session_by_name: The most recently used session of this name.
SELECT session FROM session WHERE name = ? ORDER BY last_used_ms DESC, session DESC LIMIT 1;

-- last_page: Order and turn of a session's last page up to a seq.
SELECT ordinal, turn FROM page JOIN event USING (seq)
WHERE page.session = ? AND seq <= ? ORDER BY ordinal DESC LIMIT 1;

-- page_by_id: The page of this id in one part of a scope.
SELECT
    seq, page.session, page_id, ordinal, turn, role, kind, modality, origin,
    tokens, importance, at_ms, part, parts
FROM page JOIN event USING (seq)
WHERE page.session = ? AND page_id = ? AND seq <= ?;

-- page_at: The page that one record made.
SELECT
    seq, page.session, page_id, ordinal, turn, role, kind, modality, origin,
    tokens, importance, at_ms, part, parts
FROM page JOIN event USING (seq)
WHERE seq = ?;

-- pages_at: The pages of one part of a scope that have one of these orders (a JSON array).
SELECT
    seq, page.session, page_id, ordinal, turn, role, kind, modality, origin,
    tokens, importance, at_ms, part, parts
FROM json_each(?3) AS wanted
CROSS JOIN page ON page.session = ?1 AND ordinal = wanted.value
CROSS JOIN event USING (seq)
WHERE seq <= ?2;

-- pages: Pages of one part of a scope by order; of some kinds (a JSON array of codes) if not null.
SELECT
    seq, page.session, page_id, ordinal, turn, role, kind, modality, origin,
    tokens, importance, at_ms, part, parts
FROM page CROSS JOIN event USING (seq)
WHERE page.session = ?1 AND seq <= ?2 AND ordinal > ?3 AND ordinal < ?4
    AND (?5 IS NULL OR kind IN (SELECT value FROM json_each(?5)))
ORDER BY ordinal LIMIT ?6;

-- pages_newest_first: The same from the other end.
SELECT
    seq, page.session, page_id, ordinal, turn, role, kind, modality, origin,
    tokens, importance, at_ms, part, parts
FROM page CROSS JOIN event USING (seq)
WHERE page.session = ?1 AND seq <= ?2 AND ordinal > ?3 AND ordinal < ?4
    AND (?5 IS NULL OR kind IN (SELECT value FROM json_each(?5)))
ORDER BY ordinal DESC LIMIT ?6;

-- prefix_counts: The largest number of each prefix in one part of a scope, forgotten ones included.
SELECT
    substr(page_id, 1, instr(page_id, '_') - 1) AS prefix,
    max(CAST(substr(page_id, instr(page_id, '_') + 1) AS INTEGER))
FROM (
    SELECT page_id FROM page WHERE session = ?1 AND seq <= ?2
    UNION ALL
    SELECT page_id FROM taken WHERE session = ?1 AND seq <= ?2
)
GROUP BY prefix;

-- size: How many pages one part of a scope has, and how many terms.
SELECT count(*), coalesce(sum(length), 0) FROM page WHERE session = ? AND seq <= ?;

-- postings: Where a session's term stands; a page once for each time it stands there.
SELECT doc FROM posting WHERE term = ? AND doc <= ?;

-- lengths: Order and length of these pages (a JSON array of seqs).
SELECT seq, ordinal, length FROM json_each(?) CROSS JOIN page ON seq = value;

-- events: The records of a session after a seq; of some types (a JSON array of codes) if not null.
SELECT seq FROM event
WHERE session = ?1 AND seq > ?2
    AND (?3 IS NULL OR type IN (SELECT value FROM json_each(?3)))
ORDER BY seq;

-- find_key: The record that carries this key.
SELECT seq FROM key WHERE session = ? AND key = ?;

-- forget_secure: Whatever is freed from here on is overwritten.
PRAGMA secure_delete = ON;

-- forget_uncount: A page that goes is no longer counted by its session.
UPDATE session SET
    own_pages = own_pages - 1,
    own_length = own_length - (SELECT length FROM page WHERE seq = ?1)
WHERE session = (SELECT session FROM page WHERE seq = ?1);

-- forget_take: The id of a page that goes stays taken.
INSERT OR IGNORE INTO taken (session, page_id, seq)
SELECT session, page_id, seq FROM page WHERE seq = ?;

-- forget_terms: A page that goes can no longer be found by its words.
DELETE FROM event_fts WHERE rowid = (SELECT seq FROM page WHERE seq = ?);

-- forget_page: The page itself.
DELETE FROM page WHERE seq = ?;

-- forget_event: The record's own row. A key stays: a late retry must not bring back what was forgotten.
DELETE FROM event WHERE seq = ?;

-- session_pages: Every page that a session made itself.
SELECT seq FROM page WHERE session = ?;

-- forget_session: A session and all it has, save receipts (a JSON array of codes) and taken ids.
DELETE FROM session WHERE session = ?1;
DELETE FROM key WHERE session = ?1;
DELETE FROM event WHERE session = ?1 AND type NOT IN (SELECT value FROM json_each(?2));

-- forget_finish: Leave no dead term in the postings.
INSERT INTO event_fts (event_fts) VALUES ('optimize');

-- forget_vacuum: Leave no dead byte in the file.
VACUUM;

-- check_file: What SQLite finds wrong with the file.
PRAGMA integrity_check;

-- check_terms: Raises if the postings are not what they should be.
INSERT INTO event_fts (event_fts) VALUES ('integrity-check');

-- check_pages: Pages without their record, or without their terms.
SELECT seq FROM page
WHERE seq NOT IN (SELECT seq FROM event) OR seq NOT IN (SELECT id FROM event_fts_docsize UNION ALL SELECT seq FROM fresh);

-- check_postings: Terms without their page.
SELECT id FROM (SELECT id FROM event_fts_docsize UNION ALL SELECT seq FROM fresh)
WHERE id NOT IN (SELECT seq FROM page);

-- check_sessions: Sessions whose counts are not those of their pages.
SELECT session FROM session
WHERE (own_pages, own_length) != (
    SELECT count(*), coalesce(sum(length), 0) FROM page WHERE page.session = session.session
);

-- check_applied: Records beyond what is said to be applied.
SELECT seq FROM event WHERE seq > (SELECT value FROM meta WHERE name = 'applied_seq') LIMIT 1;
