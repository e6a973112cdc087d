//! Compilation from manifests to what the runtime reads: pure, equal input gives equal bytes.
