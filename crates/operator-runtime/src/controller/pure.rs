//! Runs a reconciler's pure functions, for tests.

use super::children::desired_children;
use super::error::Error;
use super::object::Key;
use super::observed::Observed;
use super::reconciler::Reconciler;
use super::run::{ControllerInfo, example_outlines};
use super::watches::Watches;
use crate::context::Platform;
use crate::identity::Identity;
use kube::Resource;
use kube::core::ApiResource;
use serde_json::Value;
use std::sync::Arc;

fn info<R: Reconciler>(reconciler: &R) -> Arc<ControllerInfo> {
    let mut watches = Watches::default();
    reconciler.watches(&mut watches);
    Arc::new(ControllerInfo {
        name: String::new(),
        resource: ApiResource::erase::<R::Object>(&()),
        namespaced: true,
        watches: Arc::new(watches),
        finalizer: R::FINALIZER,
    })
}

/// Returns a view of a world in which nothing but the object exists.
pub(crate) fn observed<R: Reconciler>(reconciler: &R, object: &R::Object) -> Observed {
    Observed::empty(Key::from(object.meta()), &info(reconciler).watches, Platform::default())
}

/// Returns the children of an object as they are applied.
pub(crate) fn desired<R: Reconciler>(
    reconciler: &R,
    object: &R::Object,
    observed: &Observed,
    identity: &Identity,
) -> Result<Vec<Value>, Error> {
    let watches = Arc::clone(&info(reconciler).watches);
    let desired = reconciler.desired(object, observed);
    observed.check_views()?;
    let bodies = desired?.into_bodies(object, &watches, identity)?;
    Ok(bodies.into_iter().map(|body| body.object).collect())
}

/// Returns whether the example of a reconciler's digests covers everything that is applied for an object.
pub(crate) fn covered<R: Reconciler>(
    reconciler: &R,
    object: &R::Object,
    observed: &Observed,
    identity: &Identity,
) -> Result<bool, Error> {
    let info = info(reconciler);
    let (outlines, _) = example_outlines(reconciler, &info, identity, observed.platform())?;
    if outlines.iter().all(Option::is_none) {
        return Ok(false);
    }
    let bodies = reconciler.desired(object, observed)?.into_bodies(object, &info.watches, identity)?;
    Ok(desired_children(&bodies, &outlines).iter().all(|wanted| wanted.digest.is_some()))
}
