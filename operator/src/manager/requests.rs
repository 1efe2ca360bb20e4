//! A layer in the client that sees every request to the API server: counted for the metrics, and recorded by the tests
//! that compare what is asked with what the rules allow.

use crate::metrics::Metrics;
use axum::http::{Request, Response};
use futures::FutureExt;
use futures::future::BoxFuture;
use std::sync::Arc;
use std::task::{Context, Poll};
use tower::{Layer, Service};

/// Counts requests by method and answer.
#[derive(Clone, Debug)]
pub(super) struct Counted {
    metrics: Arc<Metrics>,
}

impl Counted {
    pub(super) fn new(metrics: Arc<Metrics>) -> Self {
        Self { metrics }
    }
}

impl<S> Layer<S> for Counted {
    type Service = Counting<S>;

    fn layer(&self, inner: S) -> Counting<S> {
        Counting { inner, metrics: Arc::clone(&self.metrics) }
    }
}

/// The service that [`Counted`] makes.
#[derive(Clone, Debug)]
pub(super) struct Counting<S> {
    inner: S,
    metrics: Arc<Metrics>,
}

impl<S, Q, A> Service<Request<Q>> for Counting<S>
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
            .map(move |answer| {
                let code = answer.as_ref().map_or(0, |answer| answer.status().as_u16());
                metrics.requested(&method, code);
                answer
            })
            .boxed()
    }
}
