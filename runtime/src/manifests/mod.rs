//! Manifests from files: reading, checking, compiling.
