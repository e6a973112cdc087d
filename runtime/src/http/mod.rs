//! The HTTP server and its page.
