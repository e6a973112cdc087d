//! Listing what a source holds.
