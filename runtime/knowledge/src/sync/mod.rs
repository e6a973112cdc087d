//! Bringing a store up to date with its sources.
