//! `/healthz` (the process answers) and `/readyz` (its watches have told everything that exists, and its webhooks have a
//! certificate that the API server trusts).

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
    conditions: [watch::Receiver<bool>; 2],
) -> anyhow::Result<impl Future<Output = anyhow::Result<()>>> {
    let listener = match address {
        "0" | "" => None,
        address => Some(bind(address).await?),
    };
    let ready = move || {
        let [synced, certified] = conditions.each_ref().map(|condition| *condition.borrow());
        async move {
            match (synced, certified) {
                (true, true) => (StatusCode::OK, "ok"),
                (false, _) => (StatusCode::SERVICE_UNAVAILABLE, "watches are starting"),
                (true, false) => (StatusCode::SERVICE_UNAVAILABLE, "the webhooks have no certificate yet"),
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
pub(super) async fn bind(address: &str) -> anyhow::Result<TcpListener> {
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
