//! From a listener to the last response.

use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::http::app::{App, Ending, Limits};
use crate::http::router::router;
use crate::local::Service;

/// Time that connections get to send their last bytes after everything was told to end.
const LAST_BYTES: Duration = Duration::from_secs(1);

/// Answers until `shutdown`, then takes no new work and lets running requests end within [`Limits::drain`]; what runs
/// longer is cut, streams with an `error` event. Returns at the latest a second after that.
pub(crate) async fn serve(
    policy: groundwork_config::Limits,
    service: Arc<dyn Service>,
    listener: TcpListener,
    shutdown: CancellationToken,
) -> std::io::Result<()> {
    serve_within(Limits::under(&policy), service, listener, shutdown).await
}

/// [`serve`] with other bounds.
pub(crate) async fn serve_within(
    limits: Limits,
    service: Arc<dyn Service>,
    listener: TcpListener,
    shutdown: CancellationToken,
) -> std::io::Result<()> {
    let app = App::new(service, listener.local_addr()?, limits);
    let ending = app.ending.clone();
    let drained = ending.draining.clone().cancelled_owned();
    tokio::select! {
        result = axum::serve(listener, router(&app)).with_graceful_shutdown(drained).into_future() => result,
        () = end(shutdown, ending, app.limits.drain) => Ok(()),
    }
}

async fn end(shutdown: CancellationToken, ending: Ending, drain: Duration) {
    shutdown.cancelled().await;
    ending.draining.cancel();
    tokio::time::sleep(drain).await;
    ending.cut.cancel();
    tokio::time::sleep(LAST_BYTES).await;
}
