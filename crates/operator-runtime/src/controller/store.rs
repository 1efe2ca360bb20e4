//! A controller's cache and queue, for the rest of the program.

use super::object::{Key, Object};
use super::stored::Stored;
use crate::lock::lock;
use kube::runtime::reflector::Store;
use std::fmt;
use std::sync::{Arc, Mutex};

/// Adds an object to the queue of the controller that has it.
type Route = Arc<dyn Fn(&Key) + Send + Sync>;

/// The objects of a controller as its cache holds them, and its queue; see [`Watches::objects`](super::Watches::objects).
///
/// It is empty until the controller runs. What is read may be older than the controller's own last write.
pub struct Objects<O: Object> {
    inner: Arc<Mutex<Inner<O>>>,
}

struct Inner<O: Object> {
    /// By namespace.
    stores: Vec<Store<Stored<O>>>,
    route: Option<Route>,
}

impl<O: Object> Clone for Objects<O> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl<O: Object> Default for Objects<O> {
    fn default() -> Self {
        Self { inner: Arc::new(Mutex::new(Inner { stores: Vec::new(), route: None })) }
    }
}

impl<O: Object> fmt::Debug for Objects<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Objects").finish_non_exhaustive()
    }
}

impl<O: Object> Objects<O> {
    /// Returns an object; `None` if there is none, or it cannot be parsed.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<Arc<O>> {
        let stores = lock(&self.inner).stores.clone();
        stores.iter().find_map(|store| store.get(&key.reference())?.valid().cloned())
    }

    /// Returns all objects that can be parsed, in no particular order.
    #[must_use]
    pub fn list(&self) -> Vec<Arc<O>> {
        let stores = lock(&self.inner).stores.clone();
        stores.iter().flat_map(Store::state).filter_map(|object| object.valid().cloned()).collect()
    }

    /// Has an object reconciled; nothing happens while the manager does not lead, and then everything is reconciled once.
    pub fn reconcile(&self, key: &Key) {
        let route = lock(&self.inner).route.clone();
        if let Some(route) = route {
            route(key);
        }
    }

    /// The controller starts to run.
    pub(crate) fn start(&self, stores: Vec<Store<Stored<O>>>, route: Route) {
        *lock(&self.inner) = Inner { stores, route: Some(route) };
    }
}
