//! Ignore files as git reads them: patterns of a deeper file win over those of a shallower one, the last matching
//! pattern of a file wins inside it. A `.groundworkignore` is asked before any `.gitignore`.

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::path::{Path, PathBuf};

/// Name of the ignore file that only Groundwork reads.
pub const IGNORE_FILE: &str = ".groundworkignore";
const GIT_IGNORE_FILE: &str = ".gitignore";

/// What the ignore files say of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing.
    None,
    /// Leave it out.
    Ignore,
    /// Take it, even where a built-in rule leaves it out: only a [`IGNORE_FILE`] says so.
    Take,
}

/// The ignore files that hold for a folder, from the outermost in.
#[derive(Default)]
pub(super) struct IgnoreStack {
    levels: Vec<Level>,
}

struct Level {
    own: Gitignore,
    git: Gitignore,
}

impl IgnoreStack {
    /// The ignore files above `root`, up to the repository that `root` lies in; none outside a repository, since a
    /// file far above says nothing of a folder that was named by itself.
    pub(super) fn above(root: &Path, problem: &mut dyn FnMut(&Path, String)) -> Self {
        let mut stack = Self::default();
        let Some(repository) = root.ancestors().find(|folder| folder.join(".git").exists()) else { return stack };
        let exclude = repository.join(".git/info/exclude");
        if exclude.is_file() {
            let git = read(repository, &exclude, problem);
            stack.levels.push(Level { own: Gitignore::empty(), git });
        }
        let between: Vec<PathBuf> =
            root.ancestors().skip(1).take_while(|folder| folder.starts_with(repository)).map(Into::into).collect();
        for folder in between.iter().rev() {
            stack.enter(folder, |name| folder.join(name).is_file(), problem);
        }
        stack
    }

    /// Adds the ignore files of a folder; `has` tells whether it has a file.
    pub(super) fn enter(&mut self, folder: &Path, has: impl Fn(&str) -> bool, problem: &mut dyn FnMut(&Path, String)) {
        let mut load = |name: &str| match has(name) {
            true => read(folder, &folder.join(name), problem),
            false => Gitignore::empty(),
        };
        self.levels.push(Level { own: load(IGNORE_FILE), git: load(GIT_IGNORE_FILE) });
    }

    /// Forgets the folder entered last.
    pub(super) fn leave(&mut self) {
        self.levels.pop();
    }

    /// What the files say of an entry.
    pub(super) fn verdict(&self, path: &Path, is_folder: bool) -> Verdict {
        let ask = |pick: fn(&Level) -> &Gitignore| {
            let matches = self.levels.iter().rev().map(|level| pick(level).matched(path, is_folder));
            matches.map(|matched| matched.map(|_| ())).find(|matched| !matched.is_none())
        };
        match ask(|level| &level.own) {
            Some(Match::Ignore(())) => return Verdict::Ignore,
            Some(Match::Whitelist(())) => return Verdict::Take,
            _ => {}
        }
        match ask(|level| &level.git) {
            Some(Match::Ignore(())) => Verdict::Ignore,
            _ => Verdict::None,
        }
    }
}

fn read(folder: &Path, file: &Path, problem: &mut dyn FnMut(&Path, String)) -> Gitignore {
    let mut builder = GitignoreBuilder::new(folder);
    if let Some(error) = builder.add(file) {
        problem(file, format!("failed to read the ignore rules, those that can be read hold: {error}"));
    }
    build(&builder, |reason| problem(file, reason))
}

/// Globs of a source's field, relative to `root`.
pub(super) fn globs(root: &Path, patterns: &[String], field: &str, problem: &mut dyn FnMut(String)) -> Gitignore {
    let mut builder = GitignoreBuilder::new(root);
    for pattern in patterns {
        if let Err(error) = builder.add_line(None, pattern) {
            problem(format!("failed to read the glob `{pattern}` of {field}: {error}"));
        }
    }
    build(&builder, problem)
}

fn build(builder: &GitignoreBuilder, mut problem: impl FnMut(String)) -> Gitignore {
    builder.build().unwrap_or_else(|error| {
        problem(format!("failed to compile the ignore rules: {error}"));
        Gitignore::empty()
    })
}
