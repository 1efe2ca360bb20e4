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

/// Who may read the metrics, by the API server's word.
#[derive(Clone)]
struct Gate {
    client: Client,
    metrics: Arc<Metrics>,
    known: Arc<Mutex<HashMap<String, (Instant, bool)>>>,
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
        let gate = Gate { client, metrics, known: Arc::default() };
        let router = Router::new().route("/metrics", get(guarded)).with_state(gate);
        axum::serve(TlsListener::new(listener, certificate)?, router).await?;
    } else {
        let router = Router::new().route("/metrics", get(move || async move { page(&metrics) }));
        axum::serve(listener, router).await?;
    }
    Ok(())
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
    match gate.allows(token).await {
        Ok(true) => Ok(page(&gate.metrics)),
        Ok(false) => Err(StatusCode::FORBIDDEN),
        Err(error) => {
            tracing::warn!(%error, "the API server was asked who reads the metrics, and did not say");
            Err(StatusCode::INTERNAL_SERVER_ERROR)
        }
    }
}

impl Gate {
    async fn allows(&self, token: &str) -> kube::Result<bool> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(token).copied();
        if let Some((_, allowed)) = known.filter(|(since, _)| since.elapsed() < TRUSTED) {
            return Ok(allowed);
        }
        let allowed = self.ask(token).await?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, (since, _)| since.elapsed() < TRUSTED);
        if known.len() < TOKENS {
            known.insert(token.to_owned(), (Instant::now(), allowed));
        }
        Ok(allowed)
    }

    async fn ask(&self, token: &str) -> kube::Result<bool> {
        let review = TokenReview {
            spec: TokenReviewSpec { token: Some(token.to_owned()), ..TokenReviewSpec::default() },
            ..TokenReview::default()
        };
        let reviews: Api<TokenReview> = Api::all(self.client.clone());
        let status = reviews.create(&PostParams::default(), &review).await?.status.unwrap_or_default();
        let Some(user) = status.user.filter(|_| status.authenticated == Some(true)) else { return Ok(false) };
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
        Ok(status.is_some_and(|status| status.allowed))
    }
}
