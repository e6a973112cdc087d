//! Checking quotes against their spans.
