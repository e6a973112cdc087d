//! Harness of the system tests.
