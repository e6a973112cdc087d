-- The one truth of an embedded knowledge base. Derived files (keyword index, vector matrix) carry the generation of the
-- revision that they were built from and may be deleted at any time.

CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO meta (name, value) VALUES ('lease', '0');

-- Vectors are shared by revisions: the same text and embedder give the same vector.
CREATE TABLE embedder (
    key INTEGER PRIMARY KEY,
    identity TEXT NOT NULL UNIQUE,
    dimensions INTEGER NOT NULL
) STRICT;

CREATE TABLE vector (
    embedder INTEGER NOT NULL REFERENCES embedder (key) ON DELETE CASCADE,
    text_hash BLOB NOT NULL,
    data BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX vector_text ON vector (text_hash, embedder);

-- generation rises with every write; deletions below floor are forgotten, so an index older than floor is rebuilt.
CREATE TABLE revision (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    hash TEXT NOT NULL UNIQUE,
    contract TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('building', 'active', 'retired')),
    generation INTEGER NOT NULL DEFAULT 0,
    floor INTEGER NOT NULL DEFAULT 0,
    embedder INTEGER REFERENCES embedder (key),
    report TEXT
) STRICT;
CREATE UNIQUE INDEX revision_active ON revision (state) WHERE state = 'active';

-- version 0: never loaded. access NULL: everybody; else a JSON list of subjects and groups.
-- Keys are never used twice (AUTOINCREMENT): derived files refer to them.
CREATE TABLE document (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    revision INTEGER NOT NULL REFERENCES revision (key) ON DELETE CASCADE,
    id BLOB NOT NULL,
    source TEXT NOT NULL,
    path TEXT NOT NULL,
    version INTEGER NOT NULL,
    title TEXT NOT NULL,
    format TEXT,
    date TEXT,
    tags TEXT NOT NULL DEFAULT '[]',
    access TEXT,
    bytes INTEGER NOT NULL DEFAULT 0,
    chunks INTEGER NOT NULL DEFAULT 0,
    stamp TEXT,
    content BLOB NOT NULL,
    written BLOB,
    synced_at INTEGER NOT NULL,
    failure TEXT,
    generation INTEGER NOT NULL,
    text_generation INTEGER NOT NULL DEFAULT 0,
    UNIQUE (revision, id)
) STRICT;
CREATE INDEX document_path ON document (revision, source, path);
CREATE INDEX document_generation ON document (revision, generation);

CREATE TABLE parent (
    document INTEGER NOT NULL REFERENCES document (key) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    heading_path TEXT NOT NULL,
    locator TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (document, ordinal)
) STRICT;

-- A chunk's text is parent.text from first to last (bytes). vector_state 0: pending, 1: has one, 2: never gets one.
CREATE TABLE chunk (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    revision INTEGER NOT NULL REFERENCES revision (key) ON DELETE CASCADE,
    document INTEGER NOT NULL,
    parent INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    id BLOB NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    context TEXT NOT NULL,
    text_hash BLOB NOT NULL,
    modified INTEGER NOT NULL,
    vector_state INTEGER NOT NULL DEFAULT 0,
    vector_generation INTEGER NOT NULL DEFAULT 0,
    UNIQUE (document, ordinal),
    FOREIGN KEY (document, parent) REFERENCES parent (document, ordinal) ON DELETE CASCADE
) STRICT;
CREATE INDEX chunk_parent ON chunk (document, parent);
CREATE INDEX chunk_id ON chunk (id);
CREATE INDEX chunk_text ON chunk (text_hash);
CREATE INDEX chunk_state ON chunk (revision, vector_state, vector_generation);
CREATE INDEX chunk_pending ON chunk (revision, modified DESC, key) WHERE vector_state = 0;

-- Chunks that vanished while their document stays: they answer "gone" with the document's link.
CREATE TABLE tombstone (
    document INTEGER NOT NULL REFERENCES document (key) ON DELETE CASCADE,
    chunk BLOB NOT NULL,
    generation INTEGER NOT NULL,
    PRIMARY KEY (chunk, document)
) STRICT, WITHOUT ROWID;
CREATE INDEX tombstone_document ON tombstone (document);

-- Documents that vanished, until every derived file has forgotten them.
CREATE TABLE deletion (
    revision INTEGER NOT NULL REFERENCES revision (key) ON DELETE CASCADE,
    document INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    PRIMARY KEY (revision, generation, document)
) STRICT, WITHOUT ROWID;
