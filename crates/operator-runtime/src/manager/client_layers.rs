//! Layers of the client that every request to the API server passes: one counts requests for the metrics, the other
//! fails those that get no response in time.

use crate::metrics::Metrics;
use axum::BoxError;
use axum::body::{Body, Bytes, HttpBody, to_bytes};
use axum::http::{Request, Response};
use futures::FutureExt;
use futures::future::BoxFuture;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::timeout;
use tower::{Layer, Service};

/// The largest response that is read. A page of a list has 100 objects, and hardly one of them is larger than 100 kB.
const MAX_RESPONSE_BYTES: usize = 64 * 1024 * 1024;

/// Counts requests by method and status code.
#[derive(Clone, Debug)]
pub struct CountRequests {
    metrics: Arc<Metrics>,
}

impl CountRequests {
    /// Returns the layer.
    #[must_use]
    pub fn new(metrics: Arc<Metrics>) -> Self {
        Self { metrics }
    }
}

impl<S> Layer<S> for CountRequests {
    type Service = CountingService<S>;

    fn layer(&self, inner: S) -> CountingService<S> {
        CountingService { inner, metrics: Arc::clone(&self.metrics) }
    }
}

/// The service of [`CountRequests`].
#[derive(Clone, Debug)]
pub struct CountingService<S> {
    inner: S,
    metrics: Arc<Metrics>,
}

impl<S, Q, A> Service<Request<Q>> for CountingService<S>
where
    S: Service<Request<Q>, Response = Response<A>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Q>) -> Self::Future {
        let metrics = Arc::clone(&self.metrics);
        let method = request.method().to_string();
        self.inner
            .call(request)
            .map(move |response| {
                let code = response.as_ref().map_or(0, |response| response.status().as_u16());
                metrics.requested(&method, code);
                response
            })
            .boxed()
    }
}

/// The API server accepted a request and did not respond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no response from the API server within {} s", .0.as_secs_f64())]
pub struct NoResponse(pub Duration);

/// Fails requests whose response is not complete within a time limit, and responses larger than a limit.
///
/// Of a watch only the response's head is waited for: its body lasts for minutes, and kube-runtime detects one that
/// went silent.
#[derive(Clone, Copy, Debug)]
pub struct LimitRequests {
    timeout: Duration,
    bytes: usize,
}

impl LimitRequests {
    /// Returns the layer with this time limit, and one of 64 MiB.
    #[must_use]
    pub fn new(timeout: Duration) -> Self {
        Self { timeout, bytes: MAX_RESPONSE_BYTES }
    }
}

impl<S> Layer<S> for LimitRequests {
    type Service = LimitedService<S>;

    fn layer(&self, inner: S) -> LimitedService<S> {
        LimitedService { inner, limits: *self }
    }
}

/// The service of [`LimitRequests`].
#[derive(Clone, Debug)]
pub struct LimitedService<S> {
    inner: S,
    limits: LimitRequests,
}

impl<S, Q, A> Service<Request<Q>> for LimitedService<S>
where
    S: Service<Request<Q>, Response = Response<A>>,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    A: HttpBody<Data = Bytes> + Send + 'static,
    A::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Response<Body>, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Q>) -> Self::Future {
        let LimitRequests { timeout: limit, bytes } = self.limits;
        let watches = is_watch(request.uri().query().unwrap_or_default());
        let response = self.inner.call(request);
        let whole = async move {
            let (parts, body) = response.await.map_err(Into::into)?.into_parts();
            let body = Body::new(body);
            let body = if watches { body } else { Body::from(to_bytes(body, bytes).await?) };
            Ok(Response::from_parts(parts, body))
        };
        async move { timeout(limit, whole).await.map_err(|_| NoResponse(limit))? }.boxed()
    }
}

fn is_watch(query: &str) -> bool {
    query.split('&').any(|pair| matches!(pair, "watch=true" | "watch=1"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::stream;
    use std::convert::Infallible;
    use tower::{ServiceExt as _, service_fn};

    const LIMITS: LimitRequests = LimitRequests { timeout: Duration::from_millis(50), bytes: 1000 };

    /// A response whose body has this many bytes and then, unless it ends, nothing more.
    fn body(bytes: usize, ends: bool) -> Body {
        let chunk = stream::iter([Ok::<_, Infallible>(Bytes::from(vec![b'x'; bytes]))]);
        if ends {
            Body::from_stream(chunk)
        } else {
            Body::from_stream(futures::StreamExt::chain(chunk, stream::pending()))
        }
    }

    async fn get(path: &str, bytes: usize, ends: bool) -> Result<Response<Body>, BoxError> {
        let service =
            service_fn(move |_| async move { Ok::<_, Infallible>(Response::new(body(bytes, ends))) });
        LIMITS.layer(service).oneshot(Request::get(path).body(()).unwrap()).await
    }

    #[tokio::test]
    async fn request_without_a_response_fails_in_time() {
        let service = service_fn(|_| std::future::pending::<Result<Response<Body>, Infallible>>());
        for path in ["/api/v1/pods", "/api/v1/pods?watch=true"] {
            let request = Request::get(path).body(()).unwrap();
            let error = LIMITS.layer(service).oneshot(request).await.unwrap_err();
            assert!(error.is::<NoResponse>(), "{path}: {error}");
        }
    }

    #[tokio::test]
    async fn body_that_never_ends_fails_in_time_unless_it_is_a_watch() {
        assert!(get("/api/v1/pods", 10, false).await.unwrap_err().is::<NoResponse>());
        assert!(get("/api/v1/pods", 10, true).await.is_ok());
        assert!(get("/api/v1/pods?watch=true&x=1", 10, false).await.is_ok());
    }

    #[tokio::test]
    async fn response_that_is_too_large_fails() {
        assert!(get("/api/v1/pods", 1000, true).await.is_ok());
        assert!(get("/api/v1/pods", 1001, true).await.is_err());
    }
}
