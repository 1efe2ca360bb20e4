//! `/healthz` (the process responds) and `/readyz` (the caches are synced, and the webhooks have a certificate that the
//! API server trusts).

use anyhow::Context as _;
use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::sync::watch;

/// Binds `address`; the returned future serves until it is dropped and ends only when serving fails.
///
/// # Errors
/// When the address is invalid or in use.
pub(super) async fn serve(
    address: &str,
    synced: Vec<watch::Receiver<bool>>,
    certified: watch::Receiver<bool>,
) -> anyhow::Result<impl Future<Output = anyhow::Result<()>>> {
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
            Some(listener) => axum::serve(listener, router).await.context("failed to serve health probes"),
            None => std::future::pending().await,
        }
    })
}

/// Binds an address in Go's notation: a port alone (`:8081`) means all interfaces.
///
/// # Errors
/// When the address is invalid or in use.
pub async fn bind(address: &str) -> anyhow::Result<TcpListener> {
    let advice = || format!("failed to listen on {address}");
    match address.strip_prefix(':') {
        // The machine may not support IPv6.
        Some(port) => match TcpListener::bind(format!("[::]:{port}")).await {
            Ok(listener) => Ok(listener),
            Err(_) => TcpListener::bind(format!("0.0.0.0:{port}")).await.with_context(advice),
        },
        None => TcpListener::bind(address).await.with_context(advice),
    }
}
