//! Ctrl-C and SIGTERM: the first one ends in order, the second one at once.

use crate::output::EXIT_INTERRUPTED;

/// Waits for the next signal that asks to end. It is listened for from the call on, not from the first poll on, so that
/// none is lost between two.
pub(crate) fn first() -> impl Future<Output = ()> + Send + use<> {
    #[cfg(unix)]
    let signals = {
        use tokio::signal::unix::{SignalKind, signal};
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    };
    async move {
        #[cfg(unix)]
        if let (Ok(mut interrupt), Ok(mut terminate)) = signals {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
        let _ = tokio::signal::ctrl_c().await;
    }
}

/// From now on, another signal ends the process without waiting for anything. What was committed stays.
pub(crate) fn exit_at_the_next() {
    let next = first();
    tokio::spawn(async move {
        next.await;
        std::process::exit(i32::from(EXIT_INTERRUPTED));
    });
}
