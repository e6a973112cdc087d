//! Where the server may listen.

use std::net::{IpAddr, SocketAddr};
use thiserror::Error;
use tokio::net::TcpListener;

/// Why the server could not listen.
#[derive(Debug, Error)]
pub(crate) enum BindError {
    /// Everybody in the network could ask.
    #[error(
        "refusing to listen on {0}: there is no authentication here, so only loopback addresses (127.0.0.1, ::1) are \
         allowed"
    )]
    NotLoopback(IpAddr),
    /// Another program has the port.
    #[error("failed to listen on {0}: another program uses this port; choose another with --port, or 0 for a free one")]
    InUse(SocketAddr),
    /// Everything else.
    #[error("failed to listen on {address}")]
    Io {
        /// Where.
        address: SocketAddr,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
}

/// Listens on a loopback address; port 0 takes a free one.
pub(crate) async fn bind(address: SocketAddr) -> Result<TcpListener, BindError> {
    if !address.ip().is_loopback() {
        return Err(BindError::NotLoopback(address.ip()));
    }
    TcpListener::bind(address).await.map_err(|source| match source.kind() {
        std::io::ErrorKind::AddrInUse => BindError::InUse(address),
        _ => BindError::Io { address, source },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_loopback_is_listened_on() {
        for address in ["0.0.0.0:0", "192.168.1.4:0", "[::]:0", "10.0.0.1:7878"] {
            let error = bind(address.parse().unwrap()).await.unwrap_err();
            assert!(error.to_string().contains("only loopback"), "{address}: {error}");
        }
        assert_ne!(bind("127.0.0.1:0".parse().unwrap()).await.unwrap().local_addr().unwrap().port(), 0);
    }

    #[tokio::test]
    async fn a_taken_port_is_named_with_the_fix() {
        let first = bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let error = bind(first.local_addr().unwrap()).await.unwrap_err();
        assert!(matches!(error, BindError::InUse(_)) && error.to_string().contains("--port"));
    }
}
