//! Qdrant's gRPC services over Qdrant's embedded engine, for tests: `qdrant-double FOLDER`.
//!
//! Listens on a free loopback port and prints its address. Keeps its data in the folder. Ends with its standard input or
//! on SIGTERM, and flushes first: the engine replays no log when it opens a folder again.

mod collections;
mod convert;
mod points;
mod refuse;
mod store;

use qdrant_client::qdrant::collections_server::CollectionsServer;
use qdrant_client::qdrant::points_server::PointsServer;
use qdrant_client::qdrant::qdrant_server::{Qdrant, QdrantServer};
use qdrant_client::qdrant::{HealthCheckReply, HealthCheckRequest};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tonic::transport::server::{Server, TcpIncoming};
use tonic::{Request, Response, Status};

use store::Store;

/// The protocol that the stubs are of.
const VERSION: &str = "1.20.0";
/// As a real server's default allows.
const LARGEST_MESSAGE: usize = 64 << 20;

struct Health;

#[tonic::async_trait]
impl Qdrant for Health {
    async fn health_check(&self, _: Request<HealthCheckRequest>) -> Result<Response<HealthCheckReply>, Status> {
        let title = "Qdrant double of Groundwork's tests".to_owned();
        Ok(Response::new(HealthCheckReply { title, version: VERSION.to_owned(), commit: None }))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args_os().nth(1).ok_or("usage: qdrant-double FOLDER")?;
    let store = Arc::new(Store::open(PathBuf::from(folder))?);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}", listener.local_addr()?);
    let points = PointsServer::from_arc(Arc::clone(&store)).max_decoding_message_size(LARGEST_MESSAGE);
    let server = Server::builder()
        .add_service(QdrantServer::new(Health))
        .add_service(CollectionsServer::from_arc(Arc::clone(&store)))
        .add_service(points)
        .serve_with_incoming(TcpIncoming::from(listener));
    tokio::select! {
        served = server => served?,
        () = ended() => {}
    }
    store.flush();
    // A read of the standard input cannot be taken back, and the runtime would wait for it.
    std::process::exit(0)
}

/// Until nobody holds the other end of the standard input any more, or somebody asks.
async fn ended() {
    let mut asked = signal(SignalKind::terminate()).expect("signals can be listened to");
    let mut input = tokio::io::stdin();
    let mut rest = [0; 64];
    let alone = async { while input.read(&mut rest).await.is_ok_and(|read| read > 0) {} };
    tokio::select! {
        () = alone => {}
        _ = asked.recv() => {}
    }
}
