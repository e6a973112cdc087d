//! From a listener to the last response.

use axum::Router;
use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::http::access::Access;
use crate::http::app::{App, Ending, Limits};
use crate::http::health::Health;
use crate::http::router::{api_router, health_router, router};
use crate::live::PolicyInForce;
use crate::local::Service;

/// Time that connections get to send their last bytes after everything was told to end.
const LAST_BYTES: Duration = Duration::from_secs(1);

/// Answers on a loopback address until `shutdown`, then takes no new work and lets running requests end within
/// [`Limits::drain`]; what runs longer is cut, streams with an `error` event. Returns at the latest a second after that.
pub(crate) async fn serve(
    policy: Arc<PolicyInForce>,
    service: Arc<dyn Service>,
    listener: TcpListener,
    shutdown: CancellationToken,
) -> std::io::Result<()> {
    let app = App::new(service, listener.local_addr()?, (Access::Local, policy), Limits::default());
    answer(&app, router(&app), listener, shutdown).await
}

/// Answers callers of a network, the same way.
pub(crate) async fn serve_api(
    app: Arc<App>,
    listener: TcpListener,
    shutdown: CancellationToken,
) -> std::io::Result<()> {
    answer(&app, api_router(&app), listener, shutdown).await
}

/// Answers what a cluster asks of the same pod until `ended`, while the pod drains as well.
pub(crate) async fn serve_health(
    app: Arc<App>,
    health: Arc<Health>,
    listener: TcpListener,
    ended: CancellationToken,
) -> std::io::Result<()> {
    let served = axum::serve(listener, health_router(&app, health));
    let late = async {
        ended.cancelled().await;
        tokio::time::sleep(LAST_BYTES).await;
    };
    tokio::select! {
        result = served.with_graceful_shutdown(ended.clone().cancelled_owned()).into_future() => result,
        () = late => Ok(()),
    }
}

/// Answers until `shutdown`, then drains.
pub(crate) async fn answer(
    app: &App,
    router: Router,
    listener: TcpListener,
    shutdown: CancellationToken,
) -> std::io::Result<()> {
    let ending = app.ending.clone();
    let drained = ending.draining.clone().cancelled_owned();
    tokio::select! {
        result = axum::serve(listener, router).with_graceful_shutdown(drained).into_future() => result,
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
