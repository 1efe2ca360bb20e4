//! `/healthz` (the process responds) and `/readyz` (the caches are synced, and the webhooks have a certificate that the
//! API server trusts).

use super::error::Error;
use super::serve::{self, Limits};
use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;

/// Binds `address`; the returned future serves until it is dropped.
///
/// # Errors
/// When the address is invalid or in use.
pub(crate) async fn serve(
    address: &str,
    synced: Vec<watch::Receiver<bool>>,
    certified: watch::Receiver<bool>,
) -> Result<impl Future<Output = ()> + use<>, Error> {
    let listener = match address {
        "0" | "" => None,
        address => Some(bind(address).await?),
    };
    let ready = move || {
        let (synced, certified) = (synced.iter().all(|synced| *synced.borrow()), *certified.borrow());
        async move {
            match (synced, certified) {
                (true, true) => (StatusCode::OK, "ok"),
                (false, _) => (StatusCode::SERVICE_UNAVAILABLE, "caches are not synced"),
                (true, false) => (StatusCode::SERVICE_UNAVAILABLE, "the webhook certificate is not ready"),
            }
        }
    };
    let router = Router::new().route("/healthz", get(|| async { "ok" })).route("/readyz", get(ready));
    Ok(async move {
        match listener {
            Some(listener) => {
                serve::serve(listener, None, router, limits(), std::future::pending()).await;
            }
            None => std::future::pending().await,
        }
    })
}

/// The kubelet opens a connection for each probe: others must not keep it waiting.
fn limits() -> Limits {
    let short = Duration::from_secs(10);
    let mut limits = serve::limits();
    limits.first_byte_timeout = short;
    limits.idle_timeout = short;
    limits.response_timeout = Some(short);
    limits.write_timeout = short;
    limits
}

/// Binds an address in Go's notation: a port alone (`:8081`) means all interfaces.
///
/// # Errors
/// When the address is invalid or in use.
pub async fn bind(address: &str) -> Result<TcpListener, Error> {
    let bound = match address.strip_prefix(':') {
        // The machine may not support IPv6.
        Some(port) => match TcpListener::bind(format!("[::]:{port}")).await {
            Ok(listener) => Ok(listener),
            Err(_) => TcpListener::bind(format!("0.0.0.0:{port}")).await,
        },
        None => TcpListener::bind(address).await,
    };
    bound.map_err(|source| Error::Bind { address: address.to_owned(), source })
}
