//! What a reconciler knows of things outside of the API server.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

/// What [`Reconciler::reconcile_external`](super::Reconciler::reconcile_external) found outside of the API server.
#[derive(Clone, Default)]
pub struct External {
    value: Option<Arc<dyn Any + Send + Sync>>,
    pub(crate) again: Option<Duration>,
}

impl External {
    /// Returns no value.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Returns a value for [`Observed::external`](super::Observed::external).
    pub fn new<T: Send + Sync + 'static>(value: T) -> Self {
        Self { value: Some(Arc::new(value)), again: None }
    }

    /// Has the object reconciled again after this time.
    #[must_use]
    pub fn again_after(self, time: Duration) -> Self {
        Self { again: Some(time), ..self }
    }

    pub(crate) fn get<T: 'static>(&self) -> Option<&T> {
        self.value.as_ref()?.downcast_ref()
    }
}

impl Debug for External {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("External").field("again", &self.again).finish_non_exhaustive()
    }
}
