//! `/healthz` (the process answers) and `/readyz` (its watches have told everything that exists).

use anyhow::Context as _;
use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::sync::watch;

/// Binds `address`, then serves until dropped; the future returned ends only when serving fails.
///
/// # Errors
/// When the address is malformed or taken.
pub(super) async fn serve(
    address: &str,
    synced: watch::Receiver<bool>,
) -> anyhow::Result<impl Future<Output = anyhow::Result<()>>> {
    let listener = match address {
        "0" | "" => None,
        address => Some(bind(address).await?),
    };
    let ready = move || {
        let synced = *synced.borrow();
        async move {
            if synced {
                (StatusCode::OK, "ok")
            } else {
                (StatusCode::SERVICE_UNAVAILABLE, "watches are starting")
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

/// Binds an address as Go writes it: a port alone (`:8081`) means every interface.
async fn bind(address: &str) -> anyhow::Result<TcpListener> {
    let advice = || format!("failed to listen on {address}; is the port taken? choose another one");
    match address.strip_prefix(':') {
        // A machine may have no IPv6.
        Some(port) => match TcpListener::bind(format!("[::]:{port}")).await {
            Ok(listener) => Ok(listener),
            Err(_) => TcpListener::bind(format!("0.0.0.0:{port}")).await.with_context(advice),
        },
        None => TcpListener::bind(address).await.with_context(advice),
    }
}
