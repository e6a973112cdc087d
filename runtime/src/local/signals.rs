//! Ctrl-C and SIGTERM: the first one ends in order, the second one at once.

use crate::output::EXIT_INTERRUPTED;

/// Waits for the first signal that asks to end.
pub(crate) async fn first() {
    let interrupt = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = interrupt => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    let _ = interrupt.await;
}

/// From now on, another signal ends the process without waiting for anything. What was committed stays.
pub(crate) fn exit_at_the_next() {
    tokio::spawn(async {
        first().await;
        std::process::exit(i32::from(EXIT_INTERRUPTED));
    });
}
