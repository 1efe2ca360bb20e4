//! The HTTPS servers: admission webhooks, and metrics for clients that the API server authorizes.

use super::serve::{limits, serve};
use super::tls::{self, Certificate};
use crate::admission::{Handler, Webhook};
use crate::conversion::{self, CONVERT_PATH};
use crate::lock::lock;
use crate::metrics::{METRICS_PATH, Metrics};
use axum::Router;
use axum::body::{Bytes, HttpBody as _, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state, map_response};
use axum::response::Response;
use axum::routing::{MethodRouter, get, post};
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::Client;
use kube::api::{Api, PostParams};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;

/// The largest review: two objects of at most 1.5 MiB each, etcd's limit, and little else.
const MAX_REVIEW_BYTES: usize = 4 * 1024 * 1024;
/// Reviews of up to this size are not limited in number: the number of connections does that.
const SMALL_REVIEW_BYTES: usize = 32 * 1024;
/// Larger reviews that are received at the same time. The API server sends one after the other for each object.
const MAX_LARGE_REVIEWS: usize = 4;
/// Maximum time until a review is received. Most API servers wait for ten seconds in all.
const RECEIVE_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time until a webhook decides.
const DECIDE_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest bearer token that the API server is asked about; a service account's has about 1 kB.
const MAX_TOKEN_BYTES: usize = 8 * 1024;

/// Serves the webhooks. When `shutdown` completes, no new connection is accepted, and the requests in flight are
/// completed before the server returns.
///
/// While `draining`, each response closes its connection: the API server opens another one, to a pod that stays. On one that is
/// kept until the shutdown, a request could arrive when it is closed, and would not be answered.
///
/// # Errors
/// When TLS cannot be configured.
pub(crate) fn webhooks<S>(
    listener: TcpListener,
    certificate: &Certificate,
    webhooks: &[Webhook],
    client: &Client,
    draining: watch::Receiver<bool>,
    shutdown: S,
) -> Result<impl Future<Output = ()> + use<S>, tls::Error>
where
    S: Future<Output = ()> + Send + 'static,
{
    let acceptor = certificate.acceptor()?;
    let router = router(webhooks, client).layer(map_response(move |mut response: Response| {
        if *draining.borrow() {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        std::future::ready(response)
    }));
    Ok(serve(listener, Some(acceptor), router, limits(), shutdown))
}

/// Returns the routes of webhooks. Conversions share one path: a review says which kind it is about.
fn router(webhooks: &[Webhook], client: &Client) -> Router {
    let (conversions, admissions): (Vec<_>, Vec<_>) =
        webhooks.iter().cloned().partition(|webhook| matches!(webhook.handler, Handler::Conversion(_)));
    let intake = ReviewIntake::default();
    let mut router = Router::new();
    for webhook in admissions {
        let (path, webhook, client) = (webhook.path(), Arc::new(webhook), client.clone());
        let respond = move |review: Bytes| {
            let (webhook, client) = (Arc::clone(&webhook), client.clone());
            async move { decided(&webhook, &client, &review).await }
        };
        router = router.route(&path, intake.clone().route(respond));
    }
    if !conversions.is_empty() {
        let respond = move |review: Bytes| {
            std::future::ready(Ok(conversion::respond(
                |group, kind| conversions.iter().find_map(|webhook| webhook.converter(group, kind)),
                &review,
            )))
        };
        router = router.route(CONVERT_PATH, intake.route(respond));
    }
    router
}

/// Returns a webhook's response to a review, or the code of its failure, which the webhook's failure policy is for.
async fn decided(webhook: &Webhook, client: &Client, review: &[u8]) -> Result<Vec<u8>, StatusCode> {
    match timeout(DECIDE_TIMEOUT, webhook.respond(client, review)).await {
        Ok(Ok(response)) => Ok(response),
        Ok(Err(error)) => {
            tracing::warn!(path = webhook.path(), %error, "a webhook failed");
            Err(StatusCode::INTERNAL_SERVER_ERROR)
        }
        Err(_) => {
            tracing::warn!(path = webhook.path(), "a webhook took too long");
            Err(StatusCode::GATEWAY_TIMEOUT)
        }
    }
}

/// Receives reviews, so that all of them together take a limited amount of memory.
#[derive(Clone)]
struct ReviewIntake {
    /// One permit for each large review that is in memory.
    large: Arc<Semaphore>,
    /// The permit to parse and decide on a large review: parsed, it takes several times its size.
    parsing: Arc<Semaphore>,
}

impl Default for ReviewIntake {
    fn default() -> Self {
        Self { large: Arc::new(Semaphore::new(MAX_LARGE_REVIEWS)), parsing: Arc::new(Semaphore::new(1)) }
    }
}

impl ReviewIntake {
    /// Returns the route of a webhook that responds to reviews.
    fn route<F>(self, respond: impl Fn(Bytes) -> F + Send + Sync + 'static) -> MethodRouter
    where
        F: Future<Output = Result<Vec<u8>, StatusCode>> + Send,
    {
        let respond = Arc::new(respond);
        post(move |request: Request| async move {
            let body = request.into_body();
            let is_small = body.size_hint().upper().is_some_and(|upper| upper <= SMALL_REVIEW_BYTES as u64);
            // The semaphores are never closed.
            let _large = if is_small { None } else { self.large.acquire().await.ok() };
            let received = timeout(RECEIVE_TIMEOUT, to_bytes(body, MAX_REVIEW_BYTES)).await;
            let review = received.map_err(|_| StatusCode::REQUEST_TIMEOUT)?;
            let review = review.map_err(|_| StatusCode::PAYLOAD_TOO_LARGE)?;
            let _parsing = if is_small { None } else { self.parsing.acquire().await.ok() };
            Ok::<_, StatusCode>(([(header::CONTENT_TYPE, "application/json")], respond(review).await?))
        })
    }
}

/// What the API server knows about a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TokenAccess {
    /// The token is not valid.
    Unauthenticated,
    /// Its owner may not use the path.
    Forbidden,
    /// Its owner may use the path.
    Allowed,
}

/// Reviews of tokens, limited in number and rate, so that requests with made-up tokens cost neither memory nor the API
/// server's time.
#[derive(Debug)]
struct TokenReviews {
    limits: TokenReviewLimits,
    /// Results by method, path and token, with the time of the review.
    results: HashMap<String, (Instant, TokenAccess)>,
    /// How many reviews of other tokens may begin, and as of when.
    budget: (f64, Instant),
}

#[derive(Clone, Copy, Debug)]
struct TokenReviewLimits {
    /// How long a positive result is used.
    allowed_ttl: Duration,
    /// How long a negative result is used: shorter, because permissions may be granted at any time.
    denied_ttl: Duration,
    /// How long a token counts as one that was allowed before.
    allowed_memory: Duration,
    /// Allowed tokens that are remembered.
    max_allowed: usize,
    /// Other tokens that are remembered.
    max_denied: usize,
    /// Reviews a second of tokens that are not known to be allowed.
    rate: f64,
    /// How many of them may begin at once.
    burst: f64,
}

/// As controller-runtime: a minute for positive results, 30 seconds for negative ones.
const TOKEN_REVIEW_LIMITS: TokenReviewLimits = TokenReviewLimits {
    allowed_ttl: Duration::from_mins(1),
    denied_ttl: Duration::from_secs(30),
    allowed_memory: Duration::from_mins(10),
    max_allowed: 64,
    max_denied: 256,
    rate: 5.0,
    burst: 20.0,
};

/// What to do about a request with a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TokenDecision {
    /// The result is known.
    Known(TokenAccess),
    /// The API server has to be asked.
    Review,
    /// The API server has been asked too often.
    Limited,
}

impl TokenReviews {
    fn new(limits: TokenReviewLimits, now: Instant) -> Self {
        Self { limits, results: HashMap::new(), budget: (limits.burst, now) }
    }

    fn decide(&mut self, token: &str, now: Instant) -> TokenDecision {
        let TokenReviewLimits { allowed_ttl, denied_ttl, rate, burst, .. } = self.limits;
        if let Some((since, access)) = self.results.get(token).copied() {
            let ttl = if access == TokenAccess::Allowed { allowed_ttl } else { denied_ttl };
            if now.duration_since(since) < ttl {
                return TokenDecision::Known(access);
            }
            // A scraper that was allowed a while ago does not compete with made-up tokens.
            if access == TokenAccess::Allowed {
                return TokenDecision::Review;
            }
        }
        let (available, since) = self.budget;
        let available = (available + now.duration_since(since).as_secs_f64() * rate).min(burst);
        self.budget = (available, now);
        if available < 1.0 {
            return TokenDecision::Limited;
        }
        self.budget.0 -= 1.0;
        TokenDecision::Review
    }

    fn record(&mut self, token: &str, access: TokenAccess, now: Instant) {
        let TokenReviewLimits { denied_ttl, allowed_memory, max_allowed, max_denied, .. } = self.limits;
        self.results.remove(token);
        self.results.retain(|_, (since, access)| {
            let kept = if *access == TokenAccess::Allowed { allowed_memory } else { denied_ttl };
            now.duration_since(*since) < kept
        });
        let allowed = access == TokenAccess::Allowed;
        let same_kind = |(_, found): &&(Instant, TokenAccess)| (*found == TokenAccess::Allowed) == allowed;
        let known = self.results.values().filter(same_kind).count();
        if known < if allowed { max_allowed } else { max_denied } {
            self.results.insert(token.to_owned(), (now, access));
        }
    }
}

/// Authenticates and authorizes the readers of the metrics and the clients of the operator's own routes.
#[derive(Clone)]
struct Gate {
    client: Client,
    reviews: Arc<Mutex<TokenReviews>>,
}

/// Serves `/metrics` and the operator's own routes until dropped: with a certificate over TLS, and only to clients that the API
/// server authorizes for path and method.
///
/// # Errors
/// When TLS cannot be configured.
pub(crate) fn metrics(
    listener: TcpListener,
    certificate: Option<&Certificate>,
    client: Client,
    metrics: Arc<Metrics>,
    own: &[(String, MethodRouter)],
) -> Result<impl Future<Output = ()> + use<>, tls::Error> {
    let acceptor = certificate.map(Certificate::acceptor).transpose()?;
    let router = open(metrics, own);
    let router = match &acceptor {
        Some(_) => guard(router, client, TOKEN_REVIEW_LIMITS),
        None => router,
    };
    Ok(serve(listener, acceptor, router, limits(), std::future::pending()))
}

/// Returns the routes without a guard. Their paths are checked when the manager starts: each is there once.
fn open(metrics: Arc<Metrics>, own: &[(String, MethodRouter)]) -> Router {
    let router = Router::new().route(METRICS_PATH, get(move || async move { page(&metrics) }));
    own.iter().fold(router, |router, (path, handler)| router.route(path, handler.clone()))
}

/// Guards routes. What is not found is not guarded, so the number of paths to authorize is that of the routes.
fn guard(router: Router, client: Client, limits: TokenReviewLimits) -> Router {
    let reviews = Arc::new(Mutex::new(TokenReviews::new(limits, Instant::now())));
    router.route_layer(from_fn_with_state(Gate { client, reviews }, guarded))
}

type Page = ([(header::HeaderName, &'static str); 1], String);

fn page(metrics: &Metrics) -> Page {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], metrics.page())
}

async fn guarded(State(gate): State<Gate>, request: Request, next: Next) -> Result<Response, StatusCode> {
    let token = request
        .headers()
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("Bearer "))
        .filter(|token| token.len() <= MAX_TOKEN_BYTES)
        .ok_or(StatusCode::UNAUTHORIZED)?;
    let (path, verb) = (request.uri().path(), request.method().as_str().to_lowercase());
    let access = format!("{verb} {path} {token}");
    let decision = lock(&gate.reviews).decide(&access, Instant::now());
    let access = match decision {
        TokenDecision::Known(access) => access,
        TokenDecision::Limited => return Err(StatusCode::TOO_MANY_REQUESTS),
        TokenDecision::Review => {
            let reviewed = gate.review(token, path, verb).await.map_err(|error| {
                tracing::warn!(path, %error, "failed to review the token of a client");
                StatusCode::INTERNAL_SERVER_ERROR
            })?;
            let mut reviews = lock(&gate.reviews);
            reviews.record(&access, reviewed, Instant::now());
            reviewed
        }
    };
    match access {
        TokenAccess::Allowed => Ok(next.run(request).await),
        TokenAccess::Forbidden => Err(StatusCode::FORBIDDEN),
        TokenAccess::Unauthenticated => Err(StatusCode::UNAUTHORIZED),
    }
}

impl Gate {
    async fn review(&self, token: &str, path: &str, verb: String) -> kube::Result<TokenAccess> {
        let review = TokenReview {
            spec: TokenReviewSpec { token: Some(token.to_owned()), ..TokenReviewSpec::default() },
            ..TokenReview::default()
        };
        let reviews: Api<TokenReview> = Api::all(self.client.clone());
        let status = reviews.create(&PostParams::default(), &review).await?.status.unwrap_or_default();
        let Some(user) = status.user.filter(|_| status.authenticated == Some(true)) else {
            return Ok(TokenAccess::Unauthenticated);
        };
        let review = SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: user.username,
                groups: user.groups,
                uid: user.uid,
                extra: user.extra,
                non_resource_attributes: Some(NonResourceAttributes {
                    path: Some(path.to_owned()),
                    verb: Some(verb),
                }),
                ..SubjectAccessReviewSpec::default()
            },
            ..SubjectAccessReview::default()
        };
        let reviews: Api<SubjectAccessReview> = Api::all(self.client.clone());
        let status = reviews.create(&PostParams::default(), &review).await?.status;
        let allowed = status.is_some_and(|status| status.allowed);
        Ok(if allowed { TokenAccess::Allowed } else { TokenAccess::Forbidden })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversion::Conversion;
    use crate::manager::pki;
    use crate::testing::MockApi;
    use crate::testing::sample::{Bucket, Cluster, IDENTITY, old};
    use axum::body::Body as ServerBody;
    use axum::http::Response;
    use kube::client::Body;
    use rustls::crypto::ring;
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject;
    use rustls::{ClientConfig, RootCertStore};
    use serde_json::{Value, json};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;
    use tokio::task::JoinHandle;
    use tokio_rustls::TlsConnector;
    use tokio_rustls::client::TlsStream;
    use tower::ServiceExt as _;
    use tower_test::mock;

    /// An API server that knows two tokens, one of which may read the metrics, and counts its requests.
    fn api_server() -> (Client, Arc<Mutex<usize>>) {
        let (service, mut handle) = mock::pair::<axum::http::Request<Body>, Response<ServerBody>>();
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
                    let metrics = spec["nonResourceAttributes"] == json!({"path": "/metrics", "verb": "get"});
                    json!({"allowed": metrics && spec["user"] == "prometheus"})
                };
                reply.send_response(Response::new(ServerBody::from(review.to_string())));
            }
        });
        (Client::new(service, "default"), asked)
    }

    fn guarded_metrics(client: Client, limits: TokenReviewLimits) -> Router {
        let reload = ("/reload".to_owned(), post(async |body: String| body).get(async || "idle"));
        guard(open(Arc::new(Metrics::new(&IDENTITY)), &[reload]), client, limits)
    }

    async fn answer(router: &Router, token: Option<&str>) -> StatusCode {
        answer_to(router, axum::http::Request::get("/metrics"), token).await
    }

    async fn answer_to(
        router: &Router,
        request: axum::http::request::Builder,
        token: Option<&str>,
    ) -> StatusCode {
        let request = match token {
            Some(token) => request.header("Authorization", format!("Bearer {token}")),
            None => request,
        };
        router.clone().oneshot(request.body(ServerBody::empty()).unwrap()).await.unwrap().status()
    }

    #[tokio::test]
    async fn metrics_are_served_only_to_clients_that_the_api_server_authorizes() {
        let (client, asked) = api_server();
        let router = guarded_metrics(client, TOKEN_REVIEW_LIMITS);
        assert_eq!(answer(&router, None).await, StatusCode::UNAUTHORIZED);
        assert_eq!(*asked.lock().unwrap(), 0, "no request without a token");
        assert_eq!(answer(&router, Some("made up")).await, StatusCode::UNAUTHORIZED);
        assert_eq!(answer(&router, Some("stranger")).await, StatusCode::FORBIDDEN);
        assert_eq!(answer(&router, Some("prometheus")).await, StatusCode::OK);
        let before = *asked.lock().unwrap();
        assert_eq!(answer(&router, Some("prometheus")).await, StatusCode::OK);
        assert_eq!(*asked.lock().unwrap(), before, "the result is used for a minute");
    }

    #[tokio::test]
    async fn own_routes_are_authorized_by_path_and_method() {
        let (client, asked) = api_server();
        let router = guarded_metrics(client, TOKEN_REVIEW_LIMITS);
        let request = axum::http::Request::builder;
        assert_eq!(answer(&router, Some("prometheus")).await, StatusCode::OK);
        let get = answer_to(&router, request().uri("/reload"), Some("prometheus")).await;
        assert_eq!(get, StatusCode::FORBIDDEN, "the metrics do not open other paths");
        let posted = request().uri("/metrics").method("POST");
        assert_eq!(answer_to(&router, posted, Some("prometheus")).await, StatusCode::FORBIDDEN);
        let before = *asked.lock().unwrap();
        let absent = answer_to(&router, request().uri("/absent"), Some("prometheus")).await;
        assert_eq!((absent, *asked.lock().unwrap()), (StatusCode::NOT_FOUND, before));

        let reload = ("/reload".to_owned(), post(async |body: String| body));
        let open = open(Arc::new(Metrics::new(&IDENTITY)), &[reload]);
        let posted = request().uri("/reload").method("POST");
        assert_eq!(answer_to(&open, posted, None).await, StatusCode::OK);
    }

    #[tokio::test]
    async fn made_up_tokens_are_reviewed_a_limited_number_of_times_and_do_not_lock_out_a_scraper() {
        let (client, asked) = api_server();
        let limits = TokenReviewLimits { rate: 0.0, burst: 3.0, ..TOKEN_REVIEW_LIMITS };
        let limits = TokenReviewLimits { allowed_ttl: Duration::ZERO, ..limits };
        let router = guarded_metrics(client, limits);
        assert_eq!(answer(&router, Some("prometheus")).await, StatusCode::OK);
        let mut codes = Vec::new();
        for index in 0..100 {
            codes.push(answer(&router, Some(&format!("made-up-{index}"))).await.as_u16());
        }
        assert_eq!(codes.iter().filter(|code| **code == 401).count(), 2, "{codes:?}");
        assert_eq!(codes.iter().filter(|code| **code == 429).count(), 98, "{codes:?}");
        assert_eq!(*asked.lock().unwrap(), 2 + 2, "two reviews for the scraper, one for each other token");
        assert_eq!(answer(&router, Some("made-up-0")).await, StatusCode::UNAUTHORIZED, "a known result");
        // Its result has expired, and the budget is spent.
        assert_eq!(answer(&router, Some("prometheus")).await, StatusCode::OK);
        let long = "x".repeat(MAX_TOKEN_BYTES + 1);
        assert_eq!(answer(&router, Some(&long)).await, StatusCode::UNAUTHORIZED);
    }

    #[test]
    fn remembered_tokens_are_limited_in_number_and_expire() {
        let start = Instant::now();
        let limits = TokenReviewLimits { max_allowed: 2, max_denied: 3, ..TOKEN_REVIEW_LIMITS };
        let mut reviews = TokenReviews::new(limits, start);
        for index in 0..1000 {
            reviews.record(&format!("denied-{index}"), TokenAccess::Unauthenticated, start);
            reviews.record(&format!("allowed-{index}"), TokenAccess::Allowed, start);
        }
        assert_eq!(reviews.results.len(), 5);
        assert_eq!(reviews.decide("denied-0", start), TokenDecision::Known(TokenAccess::Unauthenticated));
        let later = start + TOKEN_REVIEW_LIMITS.denied_ttl;
        assert_eq!(reviews.decide("denied-0", later), TokenDecision::Review);
        assert_eq!(reviews.decide("allowed-0", later), TokenDecision::Known(TokenAccess::Allowed));
        reviews.record("denied-0", TokenAccess::Forbidden, later);
        assert_eq!(reviews.results.len(), 3, "expired results are dropped");
    }

    /// Connects to a TLS server with a certificate authority.
    async fn connect(
        address: std::net::SocketAddr,
        certificate: &[u8],
    ) -> std::io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(certificate).unwrap()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let stream = TcpStream::connect(address).await?;
        TlsConnector::from(Arc::new(config)).connect("localhost".try_into().unwrap(), stream).await
    }

    async fn converted(router: &Router, kind: &str, group: &str, to: &str) -> Value {
        let object = json!({
            "apiVersion": format!("{group}/v1beta1"), "kind": kind, "metadata": {"name": "a"},
            "spec": {"replicas": 3},
        });
        let review = json!({"request": {"uid": "7", "desiredAPIVersion": format!("{group}/{to}"), "objects": [object]}});
        let request = axum::http::Request::post(CONVERT_PATH)
            .header("content-type", "application/json")
            .body(ServerBody::from(review.to_string()))
            .unwrap();
        let response = router.clone().oneshot(request).await.unwrap();
        let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
        serde_json::from_slice::<Value>(&body).unwrap()["response"].clone()
    }

    #[tokio::test]
    async fn webhooks_of_two_converted_kinds_share_a_path() {
        let webhooks = [
            Webhook::conversion(Conversion::<Cluster>::new().spoke::<old::Cluster>()),
            Webhook::conversion(Conversion::<Bucket>::new()),
        ];
        let router = router(&webhooks, &MockApi::start().1);
        let response = converted(&router, "Cluster", "example.com", "v1").await;
        assert_eq!(response["convertedObjects"][0]["spec"]["size"], 3, "{response}");
        let message = async |kind: &str, group: &str| {
            let response = converted(&router, kind, group, "v1").await;
            assert_eq!((&response["uid"], &response["result"]["status"]), (&json!("7"), &json!("Failure")));
            response["result"]["message"].as_str().unwrap().to_owned()
        };
        // Its webhook knows one version only.
        let bucket = message("Bucket", "example.com").await;
        assert_eq!(bucket, "failed to convert a: unknown version `example.com/v1beta1`");
        let queue = message("Queue", "example.com").await;
        assert_eq!(queue, "no conversion webhook for the kind `Queue` of the group `example.com`");
        let other = message("Cluster", "other.example.com").await;
        assert_eq!(other, "no conversion webhook for the kind `Cluster` of the group `other.example.com`");
    }

    /// Sends a review of this declared size whose body does not arrive before the returned sender is dropped.
    fn send_slowly(
        router: &Router,
        bytes: usize,
    ) -> (tokio::sync::oneshot::Sender<()>, JoinHandle<StatusCode>) {
        let (sender, receiver) = tokio::sync::oneshot::channel::<()>();
        let chunk = futures::stream::once(async move {
            let _ = receiver.await;
            Ok::<_, std::convert::Infallible>(axum::body::Bytes::from(vec![b' '; bytes]))
        });
        let body = ServerBody::new(http_body(bytes, ServerBody::from_stream(chunk)));
        let request = axum::http::Request::post(CONVERT_PATH).body(body).unwrap();
        let response = router.clone().oneshot(request);
        (sender, tokio::spawn(async move { response.await.unwrap().status() }))
    }

    /// A body with a known size.
    fn http_body(
        bytes: usize,
        body: ServerBody,
    ) -> impl axum::body::HttpBody<Data = axum::body::Bytes, Error = axum::Error> {
        struct Sized(u64, ServerBody);
        impl axum::body::HttpBody for Sized {
            type Data = axum::body::Bytes;
            type Error = axum::Error;
            fn poll_frame(
                mut self: std::pin::Pin<&mut Self>,
                context: &mut std::task::Context<'_>,
            ) -> std::task::Poll<Option<Result<hyper::body::Frame<Self::Data>, Self::Error>>> {
                std::pin::Pin::new(&mut self.1).poll_frame(context)
            }
            fn size_hint(&self) -> hyper::body::SizeHint {
                hyper::body::SizeHint::with_exact(self.0)
            }
        }
        Sized(bytes as u64, body)
    }

    #[tokio::test(start_paused = true)]
    async fn large_reviews_are_received_a_few_at_a_time_and_small_ones_do_not_wait() {
        let router = router(&[Webhook::conversion(Conversion::<Bucket>::new())], &MockApi::start().1);
        let large = SMALL_REVIEW_BYTES + 1;
        let began = tokio::time::Instant::now();
        let slow = (0..MAX_LARGE_REVIEWS).map(|_| send_slowly(&router, large)).collect::<Vec<_>>();
        tokio::task::yield_now().await;
        let (arrives, waits) = send_slowly(&router, large);
        drop(arrives);
        let (arrives, small) = send_slowly(&router, SMALL_REVIEW_BYTES);
        drop(arrives);
        assert_eq!(small.await.unwrap(), StatusCode::OK);
        assert_eq!(began.elapsed(), Duration::ZERO);
        assert_eq!(waits.await.unwrap(), StatusCode::OK);
        assert_eq!(began.elapsed().as_secs(), RECEIVE_TIMEOUT.as_secs(), "until the others had their time");
        for (_sender, response) in slow {
            assert_eq!(response.await.unwrap(), StatusCode::REQUEST_TIMEOUT);
        }
        let (arrives, too_large) = send_slowly(&router, MAX_REVIEW_BYTES + 1);
        drop(arrives);
        assert_eq!(too_large.await.unwrap(), StatusCode::PAYLOAD_TOO_LARGE);
    }

    #[tokio::test(start_paused = true)]
    async fn webhook_that_fails_or_hangs_is_left_to_its_failure_policy() {
        let review = crate::testing::admission_review(&json!({"spec": {"size": 1}}), None).to_string();
        let post = async |webhook: Webhook| {
            let router = router(std::slice::from_ref(&webhook), &MockApi::start().1);
            let request = axum::http::Request::post(webhook.path()).body(ServerBody::from(review.clone()));
            router.oneshot(request.unwrap()).await.unwrap().status()
        };
        let failing = async |_, _| Err(crate::controller::Error::other("the API is away"));
        let status = post(Webhook::validating::<Cluster, _>(failing)).await;
        assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
        let status = post(Webhook::validating::<Cluster, _>(|_, _| std::future::pending())).await;
        assert_eq!(status, StatusCode::GATEWAY_TIMEOUT);
    }

    #[tokio::test]
    async fn admission_request_in_flight_is_answered_during_shutdown() {
        let now = jiff::Timestamp::now();
        let authority = pki::new_authority(&IDENTITY, now).unwrap();
        let names = ["localhost".to_owned()];
        let pair = pki::new_serving_certificate(
            &IDENTITY,
            &authority,
            &names,
            now,
            jiff::SignedDuration::from_hours(1),
        )
        .unwrap();
        let certificate = Certificate::default();
        certificate.set(pair.certificate.as_bytes(), pair.key.as_bytes()).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let webhook =
            Webhook::defaulting::<Cluster, _>(async |_, _| Ok(crate::admission::Decision::allowed()));
        let (_api, client) = MockApi::start();
        let (drain, draining) = watch::channel(false);
        let server =
            webhooks(listener, &certificate, std::slice::from_ref(&webhook), &client, draining, async {
                let _ = stopped.await;
            });
        let server = tokio::spawn(server.unwrap());

        let body = crate::testing::admission_review(&json!({"spec": {"size": 1}}), None).to_string();
        let uid = "\"uid\":\"705ab4f5";
        let request = format!(
            "POST {} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            webhook.path(),
            body.len()
        );
        let mut kept = connect(address, authority.certificate.as_bytes()).await.unwrap();
        let mut received = [0; 15];
        kept.write_all(request.as_bytes()).await.unwrap();
        kept.read_exact(&mut received).await.unwrap();
        drain.send(true).unwrap();
        kept.write_all(request.as_bytes()).await.unwrap();
        let mut responses = String::new();
        kept.read_to_string(&mut responses).await.unwrap();
        let closed = responses.matches("connection: close").count();
        assert_eq!((responses.matches(uid).count(), closed), (2, 1), "{responses}");

        let mut connection = connect(address, authority.certificate.as_bytes()).await.unwrap();
        let head = format!(
            "POST {} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nexpect: 100-continue\r\ncontent-length: {}\r\n\r\n",
            webhook.path(),
            body.len()
        );
        connection.write_all(head.as_bytes()).await.unwrap();
        // The server asks for the body: the request is in flight.
        let mut received = [0; 25];
        connection.read_exact(&mut received).await.unwrap();
        assert!(received.starts_with(b"HTTP/1.1 100 Continue"));
        stop.send(()).unwrap();
        tokio::task::yield_now().await;
        connection.write_all(body.as_bytes()).await.unwrap();
        let mut response = String::new();
        connection.read_to_string(&mut response).await.unwrap();
        assert!(response.starts_with("HTTP/1.1 200 OK"), "{response}");
        assert!(response.contains(uid), "{response}");
        server.await.unwrap();
        assert!(TcpStream::connect(address).await.is_err(), "the listener is closed");
    }
}
