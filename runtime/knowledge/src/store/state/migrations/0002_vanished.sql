-- Chunks that readers could see once and cannot any more: they answer "gone" with what is left of their document. Kept
-- apart from revisions and documents, whose end they outlive; the oldest are forgotten.
CREATE TABLE vanished (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    chunk BLOB NOT NULL UNIQUE,
    document BLOB NOT NULL,
    source TEXT NOT NULL,
    path TEXT NOT NULL,
    access TEXT
) STRICT;

INSERT OR IGNORE INTO vanished (chunk, document, source, path, access)
SELECT t.chunk, d.id, d.source, d.path, d.access FROM tombstone t JOIN document d ON d.key = t.document;

DROP TABLE tombstone;
