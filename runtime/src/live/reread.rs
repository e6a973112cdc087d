use std::sync::{Arc, RwLock};
use std::time::Duration;

use crate::output::Problem;

type Read<T> = Box<dyn Fn() -> Result<T, Problem> + Send + Sync>;

/// A value that is read from files, again and again. It is what the files say now, or the reason why they say nothing;
/// an older value never stands in for one that cannot be read.
pub(crate) struct Reread<T> {
    what: &'static str,
    read: Read<T>,
    current: RwLock<Result<Arc<T>, String>>,
}

impl<T: PartialEq + Send + Sync + 'static> Reread<T> {
    /// Reads for the first time; `what` is its name in the log.
    pub(crate) fn new(what: &'static str, read: impl Fn() -> Result<T, Problem> + Send + Sync + 'static) -> Self {
        let reread = Self { what, read: Box::new(read), current: RwLock::new(Err("it was not read yet".to_owned())) };
        reread.refresh();
        reread
    }

    /// What was read last.
    pub(crate) fn current(&self) -> Result<Arc<T>, String> {
        self.current.read().expect("no thread panics while it holds the lock").clone()
    }

    /// Reads once more.
    pub(crate) fn refresh(&self) {
        let read = (self.read)().map_err(|problem| problem.line());
        let mut current = self.current.write().expect("no thread panics while it holds the lock");
        match (&*current, &read) {
            (Ok(before), Ok(now)) if **before == *now => return,
            (Err(before), Err(now)) if before == now => return,
            (_, Ok(_)) => tracing::info!("{}: read anew", self.what),
            (_, Err(reason)) => tracing::warn!("{}: everything is refused: {reason}", self.what),
        }
        *current = read.map(Arc::new);
    }

    /// Reads every so often, for ever.
    pub(crate) async fn follow(self: Arc<Self>, every: Duration) {
        loop {
            tokio::time::sleep(every).await;
            let reread = Arc::clone(&self);
            // A read that panicked leaves what was there; the next one tries again.
            let _ = tokio::task::spawn_blocking(move || reread.refresh()).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_not_there_any_more() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("value");
        let path = file.clone();
        let reread = Reread::new("value", move || {
            std::fs::read_to_string(&path).map_err(|error| Problem::new("failed to read the value").because(error))
        });
        assert!(reread.current().unwrap_err().contains("failed to read the value"));
        std::fs::write(&file, "one").unwrap();
        reread.refresh();
        let one = reread.current().unwrap();
        reread.refresh();
        assert!(Arc::ptr_eq(&one, &reread.current().unwrap()), "nothing changed");
        std::fs::write(&file, "two").unwrap();
        assert_eq!(*reread.current().unwrap(), "one");
        reread.refresh();
        assert_eq!(*reread.current().unwrap(), "two");
        std::fs::remove_file(&file).unwrap();
        reread.refresh();
        assert!(reread.current().is_err());
    }
}
