use std::fmt;

/// The limit that a call would break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// `limits.wallClockSeconds`.
    WallClock,
    /// `limits.tokens`.
    Tokens,
    /// `limits.cost`.
    Cost,
    /// `limits.requestsPerMinute`.
    RequestsPerMinute,
    /// `limits.concurrency`.
    Concurrency,
    /// No policy can be read, so nothing is allowed.
    Unreadable,
}

impl Rule {
    /// Stable name, for metrics and logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::WallClock => "wall_clock",
            Self::Tokens => "tokens",
            Self::Cost => "cost",
            Self::RequestsPerMinute => "requests_per_minute",
            Self::Concurrency => "concurrency",
            Self::Unreadable => "unreadable",
        }
    }
}

/// Why a call may not be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Refusal {
    /// The limit.
    pub rule: Rule,
    /// For people: the limit with its value, and what was left of it.
    pub message: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
