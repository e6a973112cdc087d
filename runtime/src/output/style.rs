use std::io::IsTerminal;

/// Colours, or none: only on a terminal, and not with `NO_COLOR` (<https://no-color.org>) or `TERM=dumb`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    coloured: bool,
}

impl Style {
    /// The style that fits a stream.
    pub(crate) fn of(stream: &impl IsTerminal) -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self { coloured: stream.is_terminal() && !refused }
    }

    /// Whether colours are used.
    pub(crate) fn coloured(self) -> bool {
        self.coloured
    }

    /// No colours.
    #[cfg(test)]
    pub(crate) fn plain() -> Self {
        Self { coloured: false }
    }

    /// Something went well.
    pub(crate) fn good(self, text: &str) -> String {
        self.paint("1;32", text)
    }

    /// Something to look at.
    pub(crate) fn warn(self, text: &str) -> String {
        self.paint("1;33", text)
    }

    /// Something failed.
    pub(crate) fn bad(self, text: &str) -> String {
        self.paint("1;31", text)
    }

    /// Less important.
    pub(crate) fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    /// More important.
    pub(crate) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.coloured { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// The style of standard output.
pub(crate) fn stdout_style() -> Style {
    Style::of(&std::io::stdout())
}

/// Whether progress bars make sense.
pub(crate) fn stderr_is_terminal() -> bool {
    std::io::stderr().is_terminal()
}
