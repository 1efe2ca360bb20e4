//! Runs and measures controllers of plain kube-rs.

use super::{ControllerMetrics, ReconcileResult};
use futures::future::BoxFuture;
use futures::{FutureExt, Stream, StreamExt};
use kube::runtime::controller::{Action, Error};
use std::error::Error as StdError;
use std::sync::Arc;
use tokio::time::Instant;

/// Measures the reconciles of a `kube::runtime::Controller` under its name: results, errors, durations and how many run. From
/// [`Metrics::measure`](crate::metrics::Metrics::measure) or [`Operator::kube_controller`](crate::Operator::kube_controller).
///
/// The queue of kube-rs cannot be observed: its metrics stay zero.
#[derive(Clone, Debug)]
pub struct Measure {
    pub(crate) metrics: Arc<ControllerMetrics>,
}

impl Measure {
    /// Returns a function for `Controller::run` that measures what it calls.
    pub fn reconcile<K, C, E, F, R>(
        &self,
        reconcile: R,
    ) -> impl Fn(Arc<K>, Arc<C>) -> BoxFuture<'static, Result<Action, E>> + use<K, C, E, F, R>
    where
        R: Fn(Arc<K>, Arc<C>) -> F,
        F: Future<Output = Result<Action, E>> + Send + 'static,
    {
        let metrics = Arc::clone(&self.metrics);
        move |object, context| {
            let (metrics, reconcile) = (Arc::clone(&metrics), reconcile(object, context));
            async move {
                let running = Running::start(metrics);
                let result = reconcile.await;
                running.end(result.as_ref().map_or(ReconcileResult::Error, ReconcileResult::after));
                result
            }
            .boxed()
        }
    }
}

/// A reconcile that runs. If it is dropped before its end, it counts as neither success nor failure.
struct Running {
    metrics: Arc<ControllerMetrics>,
    began: Instant,
}

impl Running {
    fn start(metrics: Arc<ControllerMetrics>) -> Self {
        metrics.begun();
        Self { metrics, began: Instant::now() }
    }

    fn end(self, result: ReconcileResult) {
        self.metrics.finished(result, self.began.elapsed());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.metrics.ended();
    }
}

/// Polls the results of a controller until it ends, and logs its errors.
pub(crate) async fn drain<R, E, Q>(name: &str, results: impl Stream<Item = Result<R, Error<E, Q>>>)
where
    E: StdError + 'static,
    Q: StdError + 'static,
{
    results
        .for_each(|result| {
            match result {
                // Deleted before its turn.
                Ok(_) | Err(Error::ObjectNotFound(_)) => {}
                Err(Error::ReconcilerFailed(error, object)) => {
                    tracing::warn!(controller = name, %object, %error, "reconcile failed");
                }
                Err(error) => {
                    let cause = error.source().map(tracing::field::display);
                    tracing::warn!(controller = name, %error, cause, "the controller's queue failed");
                }
            }
            std::future::ready(())
        })
        .await;
}
