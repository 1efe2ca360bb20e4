//! What is parsed of the objects that a controller watches.

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

/// What is parsed and kept of a watched object: any type that can be deserialized from the object's JSON.
///
/// The smaller the view, the less memory it takes, and the fewer changes cause a reconcile: a change that leaves the view
/// equal is not looked at. `k8s_openapi`'s types are views as well, of everything.
pub trait View: DeserializeOwned + Debug + PartialEq + Send + Sync + 'static {}

impl<T: DeserializeOwned + Debug + PartialEq + Send + Sync + 'static> View for T {}

/// The view of an object of which only the existence matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "IgnoredAny")]
pub struct Exists;

impl From<IgnoredAny> for Exists {
    fn from(_: IgnoredAny) -> Self {
        Self
    }
}

/// A view whose type is only known to who registered it.
pub(crate) trait ErasedView: Any + Debug + Send + Sync {
    fn equals(&self, other: &dyn ErasedView) -> bool;
    fn as_any(&self) -> &dyn Any;
}

impl<V: View> ErasedView for V {
    fn equals(&self, other: &dyn ErasedView) -> bool {
        other.as_any().downcast_ref::<V>() == Some(self)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A shared view.
#[derive(Clone, Debug)]
pub(crate) struct AnyView(Arc<dyn ErasedView>);

impl AnyView {
    pub(crate) fn parse<V: View>(text: &str) -> serde_json::Result<Self> {
        Ok(Self(Arc::new(serde_json::from_str::<V>(text)?)))
    }

    pub(crate) fn get<V: View>(&self) -> Option<&V> {
        self.0.as_any().downcast_ref()
    }
}

impl PartialEq for AnyView {
    fn eq(&self, other: &Self) -> bool {
        self.0.equals(&*other.0)
    }
}

/// Parses the view of an object's JSON.
pub(crate) type ParseView = fn(&str) -> serde_json::Result<AnyView>;
