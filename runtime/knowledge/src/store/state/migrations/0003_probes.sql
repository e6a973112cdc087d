-- Vectors of the probe sentences (32-bit floats, little-endian, one after another) as the embedder gave them when its
-- vectors were made; NULL where its identity names its weights.
ALTER TABLE embedder ADD COLUMN probes BLOB;
