//! The HTTPS servers: admission webhooks, and metrics for those whom the API server allows to read them.

use super::tls::{Certificate, TlsListener};
use crate::admission::{self, Review};
use crate::metrics::Metrics;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::routing::{get, post};
use axum::{Json, Router};
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::Client;
use kube::api::{Api, PostParams};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;

/// An admission review holds two objects of at most 1.5 MiB each, etcd's limit, and little else.
const REVIEW_LIMIT: usize = 4 * 1024 * 1024;
/// How long the API server's word on a token is taken for granted.
const TRUSTED: Duration = Duration::from_mins(1);
/// Tokens remembered at a time.
const TOKENS: usize = 64;

/// Serves the webhooks until dropped.
pub(super) async fn webhooks(
    listener: TcpListener,
    certificate: Certificate,
    operand_image: String,
) -> anyhow::Result<()> {
    let operand_image: Arc<str> = operand_image.into();
    let router = Router::new()
        .route(
            admission::MUTATE_PATH,
            post(|Json(review): Json<Review>| async { Json(admission::mutate(review)) }),
        )
        .route(
            admission::VALIDATE_PATH,
            post(move |Json(review): Json<Review>| async move {
                Json(admission::validate(review, &operand_image))
            }),
        )
        .layer(DefaultBodyLimit::max(REVIEW_LIMIT));
    Ok(axum::serve(TlsListener::new(listener, certificate)?, router).await?)
}

/// What the API server says of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reader {
    /// It is nobody's.
    Unknown,
    /// Whose it is may not read the metrics.
    Forbidden,
    /// Whose it is may.
    Allowed,
}

/// Who may read the metrics, by the API server's word.
#[derive(Clone)]
struct Gate {
    client: Client,
    metrics: Arc<Metrics>,
    known: Arc<Mutex<HashMap<String, (Instant, Reader)>>>,
}

/// Serves `/metrics` until dropped, over TLS with a certificate when there is one, and then only to those whom the API
/// server lets `get` the path.
pub(super) async fn metrics(
    listener: TcpListener,
    certificate: Option<Certificate>,
    client: Client,
    metrics: Arc<Metrics>,
) -> anyhow::Result<()> {
    if let Some(certificate) = certificate {
        axum::serve(TlsListener::new(listener, certificate)?, guard(client, metrics)).await?;
    } else {
        let router = Router::new().route("/metrics", get(move || async move { page(&metrics) }));
        axum::serve(listener, router).await?;
    }
    Ok(())
}

fn guard(client: Client, metrics: Arc<Metrics>) -> Router {
    let gate = Gate { client, metrics, known: Arc::default() };
    Router::new().route("/metrics", get(guarded)).with_state(gate)
}

type Page = ([(header::HeaderName, &'static str); 1], String);

fn page(metrics: &Metrics) -> Page {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], metrics.page())
}

async fn guarded(State(gate): State<Gate>, headers: HeaderMap) -> Result<Page, StatusCode> {
    let token = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("Bearer "))
        .ok_or(StatusCode::UNAUTHORIZED)?;
    match gate.reader(token).await {
        Ok(Reader::Allowed) => Ok(page(&gate.metrics)),
        Ok(Reader::Forbidden) => Err(StatusCode::FORBIDDEN),
        Ok(Reader::Unknown) => Err(StatusCode::UNAUTHORIZED),
        Err(error) => {
            tracing::warn!(%error, "the API server was asked who reads the metrics, and did not say");
            Err(StatusCode::INTERNAL_SERVER_ERROR)
        }
    }
}

impl Gate {
    async fn reader(&self, token: &str) -> kube::Result<Reader> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(token).copied();
        if let Some((_, reader)) = known.filter(|(since, _)| since.elapsed() < TRUSTED) {
            return Ok(reader);
        }
        let reader = self.ask(token).await?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, (since, _)| since.elapsed() < TRUSTED);
        if known.len() < TOKENS {
            known.insert(token.to_owned(), (Instant::now(), reader));
        }
        Ok(reader)
    }

    async fn ask(&self, token: &str) -> kube::Result<Reader> {
        let review = TokenReview {
            spec: TokenReviewSpec { token: Some(token.to_owned()), ..TokenReviewSpec::default() },
            ..TokenReview::default()
        };
        let reviews: Api<TokenReview> = Api::all(self.client.clone());
        let status = reviews.create(&PostParams::default(), &review).await?.status.unwrap_or_default();
        let Some(user) = status.user.filter(|_| status.authenticated == Some(true)) else {
            return Ok(Reader::Unknown);
        };
        let review = SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: user.username,
                groups: user.groups,
                uid: user.uid,
                extra: user.extra,
                non_resource_attributes: Some(NonResourceAttributes {
                    path: Some("/metrics".to_owned()),
                    verb: Some("get".to_owned()),
                }),
                ..SubjectAccessReviewSpec::default()
            },
            ..SubjectAccessReview::default()
        };
        let reviews: Api<SubjectAccessReview> = Api::all(self.client.clone());
        let status = reviews.create(&PostParams::default(), &review).await?.status;
        let allowed = status.is_some_and(|status| status.allowed);
        Ok(if allowed { Reader::Allowed } else { Reader::Forbidden })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body as ServerBody;
    use axum::http::{Request, Response};
    use kube::client::Body;
    use serde_json::{Value, json};
    use tower::ServiceExt as _;
    use tower_test::mock;

    /// An API server that knows two tokens, of which one may read the metrics, and counts what it is asked.
    fn api_server() -> (Client, Arc<Mutex<usize>>) {
        let (service, mut handle) = mock::pair::<Request<Body>, Response<ServerBody>>();
        let asked = Arc::new(Mutex::new(0));
        let counter = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Some((request, reply)) = handle.next_request().await {
                *counter.lock().unwrap() += 1;
                let path = request.uri().path().to_owned();
                let body = request.into_body().collect_bytes().await.unwrap();
                let mut review: Value = serde_json::from_slice(&body).unwrap();
                review["status"] = if path.ends_with("/tokenreviews") {
                    match review["spec"]["token"].as_str().unwrap() {
                        token @ ("prometheus" | "stranger") => {
                            json!({"authenticated": true, "user": {"username": token}})
                        }
                        _ => json!({"authenticated": false}),
                    }
                } else {
                    let spec = &review["spec"];
                    assert_eq!(spec["nonResourceAttributes"], json!({"path": "/metrics", "verb": "get"}));
                    json!({"allowed": spec["user"] == "prometheus"})
                };
                reply.send_response(Response::new(ServerBody::from(review.to_string())));
            }
        });
        (Client::new(service, "default"), asked)
    }

    async fn answer(router: &Router, token: Option<&str>) -> StatusCode {
        let request = Request::get("/metrics");
        let request = match token {
            Some(token) => request.header("Authorization", format!("Bearer {token}")),
            None => request,
        };
        router.clone().oneshot(request.body(ServerBody::empty()).unwrap()).await.unwrap().status()
    }

    #[tokio::test]
    async fn the_metrics_are_told_to_those_only_whom_the_api_server_allows() {
        let (client, asked) = api_server();
        let router = guard(client, Arc::new(Metrics::new(1)));
        assert_eq!(answer(&router, None).await, StatusCode::UNAUTHORIZED);
        assert_eq!(*asked.lock().unwrap(), 0, "nothing is asked about nobody");
        assert_eq!(answer(&router, Some("made up")).await, StatusCode::UNAUTHORIZED);
        assert_eq!(answer(&router, Some("stranger")).await, StatusCode::FORBIDDEN);
        assert_eq!(answer(&router, Some("prometheus")).await, StatusCode::OK);
        let before = *asked.lock().unwrap();
        assert_eq!(answer(&router, Some("prometheus")).await, StatusCode::OK);
        assert_eq!(*asked.lock().unwrap(), before, "its word is taken for a minute");
    }
}
