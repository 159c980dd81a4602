-- schema: Everything in index.db. Another `SCHEMA` in index.py whenever this changes.
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;

-- Types, roles, kinds, modalities and origins, each written once.
CREATE TABLE word (
    code INTEGER PRIMARY KEY AUTOINCREMENT,  -- never given twice: who reads may still know an old one
    word TEXT NOT NULL UNIQUE
);

-- own_pages and own_length count what this session itself holds now, derived pages apart, which
-- derived_pages counts, and bytes what all its records say now; turns and pages never fall.
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
    own_length INTEGER NOT NULL,
    derived_pages INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    numbers TEXT NOT NULL  -- the largest number of each prefix of its page ids, as JSON
);
CREATE INDEX session_by_id ON session (session_id);
CREATE INDEX session_by_name ON session (name);

CREATE TABLE event (
    seq INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    type INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    place INTEGER,  -- of the page that it made, if it made one
    bytes INTEGER  -- as `store/sizes.py` counts them; null where it says nothing, and costs nothing
);
CREATE INDEX event_by_type ON event (session, type);

-- place = session * 2^28 + order: the pages of a session are a range, and stand there in their order;
-- in its second half those that were derived.
CREATE TABLE page (
    place INTEGER PRIMARY KEY,
    seq INTEGER NOT NULL,
    page_id TEXT NOT NULL,
    role INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    modality INTEGER NOT NULL,
    origin INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    importance REAL,  -- null stands for the usual one, and costs nothing
    part INTEGER NOT NULL,
    parts INTEGER NOT NULL,
    length INTEGER NOT NULL,
    speaker INTEGER,  -- null for nobody
    day INTEGER NOT NULL,  -- these five as form.py tells them
    marks INTEGER NOT NULL,
    likeness INTEGER NOT NULL,
    told_first INTEGER,  -- the days that it tells of, null for none
    told_last INTEGER,
    occurred_ms INTEGER,  -- when it was said, where its record tells: null costs nothing
    superseded INTEGER  -- the record that made it history, null for what is not
);
CREATE INDEX page_by_id ON page (place >> 28, page_id);
CREATE INDEX page_superseded ON page (place) WHERE superseded IS NOT NULL;
CREATE INDEX page_told ON page (told_first, told_last) WHERE told_first IS NOT NULL;

-- Who speaks in a session: the terms of a name, sorted.
CREATE TABLE speaker (
    code INTEGER PRIMARY KEY, session INTEGER NOT NULL, terms TEXT NOT NULL,
    UNIQUE (session, terms)
);

-- Ids of pages that were forgotten, so that their numbers stay taken, even for forks of a session
-- that is gone. seq is 0 where only a receipt tells of them.
CREATE TABLE taken (
    session INTEGER NOT NULL, page_id TEXT NOT NULL, seq INTEGER NOT NULL,
    PRIMARY KEY (session, page_id)
) WITHOUT ROWID;

-- Records that no fold can take, and why. No text of theirs is in it.
CREATE TABLE aside (seq INTEGER PRIMARY KEY, session INTEGER NOT NULL, why TEXT NOT NULL);

CREATE TABLE key (
    session INTEGER NOT NULL, key TEXT NOT NULL, seq INTEGER NOT NULL,
    PRIMARY KEY (session, key)
) WITHOUT ROWID;

-- Which pages contain a term, rowid = place. Terms come analysed; the tokenizer only splits at blanks.
-- A term that stands twice in a page stands there as `tea tea#2`, so that no positions are needed.
CREATE VIRTUAL TABLE event_fts USING fts5 (
    terms, content = '', contentless_delete = 1, detail = none, tokenize = "ascii tokenchars ':.-#'"
);
-- A leaf with what stands before it in its row, and the checksum of its page, fits one page of the
-- file. FTS5's own 4050 is a few bytes too many: each leaf would take a second page.
INSERT INTO event_fts (event_fts, rank) VALUES ('pgsz', 4036);
-- Merging is asked for (merge_terms), never done within an append; the last resort stays far away.
INSERT INTO event_fts (event_fts, rank) VALUES ('automerge', 0);
INSERT INTO event_fts (event_fts, rank) VALUES ('crisismerge', 500);

-- Terms of the newest pages, on their way to event_fts: it takes many at once far more cheaply.
-- They are sorted, so that no sentence can be read back.
CREATE TABLE fresh (place INTEGER PRIMARY KEY, terms TEXT NOT NULL);

-- A page as it is told of.
CREATE VIEW page_row AS
    SELECT
        page.seq AS seq, page.place >> 28 AS session, page_id, page.place & 268435455 AS ordinal,
        turn, role, kind, modality, origin, tokens, importance, at_ms, part, parts,
        page.place AS place, occurred_ms, superseded
    FROM page CROSS JOIN event ON event.seq = page.seq;

-- The names by which other programs ask for what is here.
CREATE VIEW sessions AS SELECT * FROM session;
CREATE VIEW events AS
    SELECT event.seq AS seq, session_id, word AS event_type, turn, at_ms, page_id
    FROM event
    JOIN word ON code = type
    LEFT JOIN session USING (session)
    LEFT JOIN page USING (place);
CREATE VIEW artifacts AS
    SELECT page.seq, session_id, page_id, modality.word AS modality, tokens, at_ms
    FROM page
    JOIN word AS kind ON kind.code = page.kind AND kind.word = 'artifact'
    JOIN word AS modality ON modality.code = page.modality
    JOIN event USING (place)
    JOIN session ON session.session = place >> 28;

-- meta: One fact about the file itself.
SELECT value FROM meta WHERE name = ?;

-- unsynced_after: Note the last record that was certainly synced; the earliest stands.
INSERT OR IGNORE INTO meta (name, value) VALUES ('unsynced_after', ?);

-- all_synced: There is nothing any more that may be lost to a power cut.
DELETE FROM meta WHERE name = 'unsynced_after';

-- set_meta: Note a fact about the file itself.
INSERT INTO meta (name, value) VALUES (?, ?)
ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- newest_word: The code that was given last, of those that are still there.
SELECT code FROM word ORDER BY code DESC LIMIT 1;

-- words: Every word and its code.
SELECT code, word FROM word;

-- add_word: A word met for the first time.
INSERT INTO word (word) VALUES (?) RETURNING code;

-- add_events: One row for each record.
INSERT INTO event (seq, session, type, turn, at_ms, place, bytes) VALUES (?, ?, ?, ?, ?, ?, ?);

-- add_pages: One row for each record that is a page.
INSERT INTO page (
    place, seq, page_id, role, kind, modality, origin,
    tokens, importance, part, parts, length, speaker, day, marks, likeness, told_first, told_last,
    occurred_ms, superseded
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- supersede: All parts of the text that a page begins are history; the first record to say so stands.
UPDATE page SET superseded = ?3
WHERE superseded IS NULL AND place IN (
    SELECT one.place FROM page AS first JOIN page AS one
    ON one.place BETWEEN first.place AND first.place + first.parts - 1
    WHERE first.place >> 28 = ?1 AND first.page_id = ?2
);

-- find_speaker: The code of a name in a session.
SELECT code FROM speaker WHERE session = ? AND terms = ?;

-- add_speaker: A name met for the first time in a session.
INSERT INTO speaker (session, terms) VALUES (?, ?) RETURNING code;

-- add_fresh: What a page can be found by.
INSERT INTO fresh (place, terms) VALUES (?, ?);

-- count_fresh: How many pages wait.
SELECT count(*) FROM fresh;

-- drain_fresh: Bring the terms that wait to the others, in the order that costs least.
INSERT INTO event_fts (rowid, terms) SELECT place, terms FROM fresh ORDER BY place;
DELETE FROM fresh;

-- fresh: The pages that wait in a range of places.
SELECT place - ?1, terms FROM fresh WHERE place BETWEEN ?2 AND ?3;

-- add_terms: What a page can be found by.
INSERT INTO event_fts (rowid, terms) VALUES (?, ?);

-- merge_terms: Do this much of the merging that is due, in pages written.
INSERT INTO event_fts (event_fts, rank) VALUES ('merge', ?);

-- add_keys: Idempotency keys. The first record of a key is the one.
INSERT INTO key (session, key, seq) VALUES (?, ?, ?) ON CONFLICT DO NOTHING;

-- add_taken: Ids that stay taken though no record tells of them any more.
INSERT OR REPLACE INTO taken (session, page_id, seq) VALUES (?, ?, 0);

-- add_aside: Records that no fold can take.
INSERT INTO aside (seq, session, why) VALUES (?, ?, ?);

-- aside: Records that no fold can take; of one session if not null.
SELECT seq, why FROM aside WHERE ?1 IS NULL OR session = ?1 ORDER BY seq;

-- is_page: Whether a page stands here.
SELECT 1 FROM page WHERE place = ?;

-- put_session: A session as it is now.
INSERT INTO session (
    session, session_id, name, parent, parent_seq, turns, pages,
    opened_at_ms, last_used_ms, last_seq, epoch_seq, lease_seq,
    own_pages, own_length, derived_pages, bytes, numbers
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (session) DO UPDATE SET
    turns = excluded.turns, pages = excluded.pages, last_used_ms = excluded.last_used_ms,
    last_seq = excluded.last_seq, epoch_seq = excluded.epoch_seq, lease_seq = excluded.lease_seq,
    own_pages = excluded.own_pages, own_length = excluded.own_length,
    derived_pages = excluded.derived_pages, bytes = excluded.bytes, numbers = excluded.numbers;

-- sessions: Every session, the most recently used first.
SELECT
    session, session_id, name, parent, parent_seq, turns, pages,
    opened_at_ms, last_used_ms, last_seq, epoch_seq, lease_seq,
    own_pages, own_length, derived_pages, bytes, numbers
FROM session ORDER BY last_used_ms DESC, session DESC;

-- session_names: The names of sessions that begin with a text, the most recently used first.
SELECT name FROM session WHERE name >= ?1 AND substr(name, 1, length(?1)) = ?1
ORDER BY last_used_ms DESC, session DESC;

-- session: One session, with what the index counts for itself.
SELECT
    session, session_id, name, parent, parent_seq, turns, pages,
    opened_at_ms, last_used_ms, last_seq, epoch_seq, lease_seq,
    own_pages, own_length, derived_pages, bytes, numbers
FROM session WHERE session = ?;

-- session_by_id: The session of this id.
SELECT session FROM session WHERE session_id = ? ORDER BY session DESC LIMIT 1;

-- session_by_name: The most recently used session of this name.
SELECT session FROM session WHERE name = ? ORDER BY last_used_ms DESC, session DESC LIMIT 1;

-- last_page: The last page of a range of places, of those whose seq is not larger.
SELECT place, ordinal, turn FROM page_row
WHERE place BETWEEN ? AND ? AND seq <= ? ORDER BY place DESC LIMIT 1;

-- page_by_id: The page of this id in a session, up to a seq.
SELECT * FROM page_row WHERE place IN (
    SELECT place FROM page WHERE place >> 28 = ? AND page_id = ? AND seq <= ?
);

-- pages_by_id: The pages of these ids (a JSON array) in a session, up to a seq.
SELECT * FROM page_row WHERE place IN (
    SELECT place FROM json_each(?2) AS wanted
    CROSS JOIN page ON place >> 28 = ?1 AND page_id = wanted.value AND seq <= ?3
);

-- page_at: The page that one record made.
SELECT * FROM page_row WHERE place = (SELECT place FROM event WHERE seq = ?);

-- pages_at: The pages that stand at these places (a JSON array).
SELECT page_row.* FROM json_each(?) AS wanted CROSS JOIN page_row ON place = wanted.value;

-- standing: Those of these places (a JSON array) where a page stands, less an offset.
SELECT json_group_array(place - ?2) FROM json_each(?1) AS wanted CROSS JOIN page ON place = wanted.value;

-- history: Where in a range pages stand that a record up to this one made history, less an offset.
SELECT json_group_array(place - ?4) FROM page
WHERE superseded IS NOT NULL AND superseded <= ?3 AND place BETWEEN ?1 AND ?2;

-- matching: Where in a range pages stand, less an offset, and when each was said: of some kinds,
-- modalities and origins (JSON arrays of codes) if not null, from a time on and before another.
SELECT json_group_array(place - ?3), json_group_array(said_ms) FROM (
    SELECT page.place AS place, coalesce(occurred_ms, at_ms) AS said_ms
    FROM page CROSS JOIN event ON event.seq = page.seq
    WHERE page.place BETWEEN ?1 AND ?2
        AND (?4 IS NULL OR kind IN (SELECT value FROM json_each(?4)))
        AND (?5 IS NULL OR modality IN (SELECT value FROM json_each(?5)))
        AND (?6 IS NULL OR origin IN (SELECT value FROM json_each(?6)))
        AND (?7 IS NULL OR coalesce(occurred_ms, at_ms) >= ?7)
        AND (?8 IS NULL OR coalesce(occurred_ms, at_ms) < ?8)
    ORDER BY page.place
);

-- pages: Pages of a range of places, in order; of some kinds (a JSON array of codes) if not null.
SELECT * FROM page_row
WHERE place BETWEEN ?1 AND ?2 AND (?3 IS NULL OR kind IN (SELECT value FROM json_each(?3)))
ORDER BY place LIMIT ?4;

-- pages_newest_first: The same from the other end.
SELECT * FROM page_row
WHERE place BETWEEN ?1 AND ?2 AND (?3 IS NULL OR kind IN (SELECT value FROM json_each(?3)))
ORDER BY place DESC LIMIT ?4;

-- number: The last page id of this form (a GLOB pattern) in a range of places.
SELECT page_id FROM page WHERE place BETWEEN ? AND ? AND page_id GLOB ? ORDER BY place DESC LIMIT 1;

-- taken: Ids that stay taken in a session though their pages are gone.
SELECT page_id FROM taken WHERE session = ? AND seq <= ?;

-- size: How many pages a range of places has, and how many terms.
SELECT count(*), coalesce(sum(length), 0) FROM page WHERE place BETWEEN ? AND ?;

-- everything: How many pages there are in all, how many of them were said, and with how many terms.
SELECT
    coalesce(sum(own_pages + derived_pages), 0),
    coalesce(sum(own_pages), 0),
    coalesce(sum(own_length), 0)
FROM session;

-- applied_and_erased: The last record applied, and how often something was erased.
SELECT
    (SELECT value FROM meta WHERE name = 'applied_seq'),
    coalesce((SELECT value FROM meta WHERE name = 'erased'), 0);

-- posting: The places of a range that match an expression, less an offset, as a JSON array.
SELECT json_group_array(rowid - ?2) FROM event_fts WHERE event_fts MATCH ?1 AND rowid BETWEEN ?3 AND ?4;

-- segments: What the full-text index is made of, and the version of its format.
SELECT block, (SELECT v FROM event_fts_config WHERE k = 'version') FROM event_fts_data WHERE id = 10;

-- leaves_of_term: Of each of these segments (a JSON array), in their order, the leaf where a term's
-- list begins if it has one, and where it ends.
SELECT
    (SELECT pgno >> 1 FROM event_fts_idx WHERE segid = value AND term <= ?2 ORDER BY term DESC LIMIT 1),
    (SELECT pgno >> 1 FROM event_fts_idx WHERE segid = value AND term > ?2 ORDER BY term LIMIT 1)
FROM json_each(?1) ORDER BY key;

-- leaves: A range of leaves, in order.
SELECT block FROM event_fts_data WHERE id BETWEEN ? AND ? ORDER BY id;

-- telling: The places of a range, less an offset, of pages that tell of days within two, as a JSON array.
SELECT json_group_array(place - ?3) FROM page
WHERE told_first >= ?4 AND told_last <= ?5 AND place BETWEEN ?1 AND ?2;

-- traits: What is known of the pages at these places (a JSON array), column by column; the places less an offset.
SELECT
    json_group_array(place - ?2), json_group_array(length), json_group_array(day),
    json_group_array(role), json_group_array(marks), json_group_array(likeness),
    json_group_array(coalesce(speaker, 0)), json_group_array(coalesce(told_first, 0)),
    json_group_array(coalesce(told_last, 0))
FROM json_each(?1) AS wanted CROSS JOIN page ON place = wanted.value;

-- speakers: The names of who speaks in these sessions (a JSON array).
SELECT terms FROM speaker WHERE session IN (SELECT value FROM json_each(?));

-- all_speakers: The names of who speaks anywhere.
SELECT DISTINCT terms FROM speaker;

-- names: The names of these speakers (a JSON array of codes).
SELECT code, terms FROM speaker WHERE code IN (SELECT value FROM json_each(?));

-- events: The records of a session after a seq. Looked for type by type, as the index has them: what
-- was before that seq costs nothing.
SELECT seq, turn FROM event
WHERE session = ? AND seq > ? AND type IN (SELECT code FROM word)
ORDER BY seq;

-- events_of: The same, of some types (a JSON array of codes).
SELECT seq, turn FROM event
WHERE session = ? AND seq > ? AND type IN (SELECT value FROM json_each(?))
ORDER BY seq;

-- before: The last record that was written before a moment; 0 if none was. From the end, as few are after it.
SELECT coalesce(
    (SELECT seq FROM event WHERE at_ms < ? ORDER BY seq DESC LIMIT 1), 0
);

-- written: What stands of what was written after a record, by session, origin (if a page) and minute.
SELECT event.session, coalesce(word, ''), at_ms / 60000, count(page.place), coalesce(sum(bytes), 0)
FROM event LEFT JOIN page ON page.seq = event.seq AND page.place = event.place
LEFT JOIN word ON code = origin
WHERE event.seq > ? AND event.session > 0
GROUP BY 1, 2, 3;

-- find_key: The record that carries this key.
SELECT seq FROM key WHERE session = ? AND key = ?;

-- forget_secure: Whatever is freed from here on is overwritten.
PRAGMA secure_delete = ON;

-- forget_uncount: A page that goes is no longer counted by its session.
UPDATE session SET
    own_pages = own_pages - NOT gone.is_derived,
    own_length = own_length - iif(gone.is_derived, 0, gone.length),
    derived_pages = derived_pages - gone.is_derived
FROM (
    SELECT page.place >> 28 AS session, page.place >> 27 & 1 AS is_derived, length
    FROM page JOIN event USING (place) WHERE event.seq = ?
) AS gone
WHERE session.session = gone.session;

-- forget_unweigh: Nor is what any record said.
UPDATE session SET bytes = session.bytes - gone.bytes
FROM (SELECT event.session AS session, bytes FROM event WHERE seq = ? AND bytes IS NOT NULL) AS gone
WHERE session.session = gone.session;

-- forget_take: The id of a page that goes stays taken.
INSERT OR IGNORE INTO taken (session, page_id, seq)
SELECT place >> 28, page_id, event.seq FROM event JOIN page USING (place) WHERE event.seq = ?;

-- forget_terms: A page that goes can no longer be found by its words.
DELETE FROM event_fts WHERE rowid = (SELECT place FROM event WHERE seq = ?);

-- forget_page: The page itself.
DELETE FROM page WHERE place = (SELECT place FROM event WHERE seq = ?);

-- forget_keys: The keys of these records (a JSON array): a key may be made of what was said, so that
-- whoever has the root's secret could try texts until one fits.
DELETE FROM key WHERE seq IN (SELECT value FROM json_each(?));

-- forget_superseding: What one of these records (a JSON array) made history is none any more.
UPDATE page SET superseded = NULL
WHERE superseded IS NOT NULL AND superseded <> seq
    AND superseded IN (SELECT value FROM json_each(?));

-- forget_aside: A record that no fold could take.
DELETE FROM aside WHERE seq = ?;

-- forget_event: The record's own row.
DELETE FROM event WHERE seq = ?;

-- session_pages: Every page that a session made itself.
SELECT seq FROM page WHERE place BETWEEN ? AND ?;

-- forget_session: A session and all it has, save receipts (a JSON array of codes) and taken ids.
DELETE FROM session WHERE session = ?1;
DELETE FROM aside WHERE session = ?1;
DELETE FROM key WHERE session = ?1;
DELETE FROM event WHERE session = ?1 AND type NOT IN (SELECT value FROM json_each(?2));

-- forget_finish: Count the erasure, so that cached postings are dropped. Leave no dead term in the
-- postings, no name of who spoke only there, and none of a tool that answered only there.
INSERT INTO meta (name, value) VALUES ('erased', 1)
ON CONFLICT (name) DO UPDATE SET value = value + 1;
INSERT INTO event_fts (event_fts) VALUES ('optimize');
DELETE FROM speaker WHERE code NOT IN (SELECT speaker FROM page WHERE speaker IS NOT NULL);
DELETE FROM word WHERE word GLOB 'tool:*' AND code NOT IN (SELECT origin FROM page);

-- revise_count: How many terms a page has that is about to read otherwise.
UPDATE session SET own_length = own_length + ?1 - (SELECT length FROM page WHERE place = ?2)
WHERE session = ?2 >> 28 AND (?2 >> 27 & 1) = 0;

-- revise_held: How many bytes a record says that reads otherwise.
UPDATE session SET bytes = bytes + ?1 - coalesce((SELECT bytes FROM event WHERE seq = ?2), 0)
WHERE session = (SELECT session FROM event WHERE seq = ?2);

-- revise_bytes: And what its row tells of that.
UPDATE event SET bytes = nullif(?1, 0) WHERE seq = ?2;

-- revise_terms: What a page could be found by.
DELETE FROM event_fts WHERE rowid = ?;

-- revise_page: A page as it reads now.
UPDATE page SET
    origin = ?2, tokens = ?3, length = ?4, speaker = ?5, day = ?6, marks = ?7, likeness = ?8,
    told_first = ?9, told_last = ?10, occurred_ms = ?11
WHERE place = ?1;

-- revise_name: What a session is called now.
UPDATE session SET name = ? WHERE session = ?;

-- forget_vacuum: Leave no dead byte in the file.
VACUUM;

-- check_file: What SQLite finds wrong with the file, the postings included. Where a file has views,
-- SQLite 3.54 looks at the list of free pages only when it is asked about the schema alone.
PRAGMA integrity_check;
PRAGMA integrity_check(sqlite_schema);

-- check_pages: Pages without their record, or without their terms.
SELECT seq FROM page
WHERE seq NOT IN (SELECT seq FROM event)
    OR place NOT IN (SELECT id FROM event_fts_docsize UNION ALL SELECT place FROM fresh);

-- check_postings: Terms without their page.
SELECT id FROM (SELECT id FROM event_fts_docsize UNION ALL SELECT place AS id FROM fresh)
WHERE id NOT IN (SELECT place FROM page);

-- check_sessions: Sessions whose counts are not those of their pages.
SELECT session FROM session
WHERE (own_pages, own_length) != (
    SELECT count(*), coalesce(sum(length), 0) FROM page
    WHERE place BETWEEN session << 28 AND (session << 28) + 134217727  -- derived pages stand after
) OR derived_pages != (
    SELECT count(*) FROM page
    WHERE place BETWEEN (session << 28) + 134217728 AND (session << 28) + 268435455
);

-- check_bytes: Sessions that are said to hold other than their records do.
SELECT session FROM session LEFT JOIN (
    SELECT session, sum(bytes) AS held FROM event WHERE bytes IS NOT NULL GROUP BY session
) USING (session)
WHERE session.bytes != coalesce(held, 0);

-- check_speakers: Pages spoken by somebody who is not known.
SELECT seq FROM page WHERE speaker IS NOT NULL AND speaker NOT IN (SELECT code FROM speaker);

-- check_applied: Records beyond what is said to be applied.
SELECT seq FROM event WHERE seq > (SELECT value FROM meta WHERE name = 'applied_seq') LIMIT 1;
