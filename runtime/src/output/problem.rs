use std::error::Error;
use std::fmt;

/// An error for the person at the keyboard: what failed, because of what, and what to do.
#[derive(Debug)]
pub(crate) struct Problem {
    message: String,
    cause: Option<Box<dyn Error + Send + Sync>>,
    fix: Option<String>,
}

impl Problem {
    /// What failed, naming the thing.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), cause: None, fix: None }
    }

    /// The error below.
    pub(crate) fn because(mut self, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// What to do: a command, or a sentence.
    pub(crate) fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }

    /// All of it on one line.
    pub(crate) fn line(&self) -> String {
        let told = chain(self);
        self.fix.as_ref().map_or_else(|| told.clone(), |fix| format!("{told}; {fix}"))
    }

    /// What to do, if anything can be said.
    pub(crate) fn fix_text(&self) -> Option<&str> {
        self.fix.as_deref()
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Problem {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as &(dyn Error + 'static))
    }
}

/// An error with its causes, on one line.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let below = error.to_string();
        if !text.contains(&below) {
            text.push_str(": ");
            text.push_str(&below);
        }
        cause = error.source();
    }
    text
}
