//! Runs a reconciler's pure functions, for tests.

use super::children::desired_children;
use super::error::Error;
use super::object::Key;
use super::observed::{Observed, Snapshot};
use super::reconciler::Reconciler;
use super::run::example_outlines;
use super::watches::Declared;
use crate::context::Platform;
use crate::identity::Identity;
use kube::Resource;
use serde_json::Value;
use std::sync::Arc;

/// Returns a view of a world in which nothing but the object exists.
pub(crate) fn observed<R: Reconciler>(declared: &Arc<Declared>, object: &R::Object) -> Observed<R> {
    Observed::<R>::from_snapshot(
        Snapshot::empty(Key::from(object.meta()), declared),
        object,
        Platform::default(),
    )
}

/// Returns the children of an object as they are applied.
pub(crate) fn desired<R: Reconciler>(
    reconciler: &R,
    declared: &Declared,
    object: &R::Object,
    observed: &Observed<R>,
    identity: &Identity,
) -> Result<Vec<Value>, Error> {
    let (bodies, _) = reconciler.desired(object, observed)?.into_bodies(object, declared, identity)?;
    Ok(bodies.into_iter().map(|body| body.object).collect())
}

/// Returns whether the example of a reconciler's digests covers everything that is applied for an object.
pub(crate) fn covered<R: Reconciler>(
    reconciler: &R,
    declared: &Arc<Declared>,
    object: &R::Object,
    observed: &Observed<R>,
    identity: &Identity,
) -> Result<bool, Error> {
    let (outlines, _) = example_outlines(reconciler, declared, identity, observed.platform())?;
    if outlines.iter().all(Option::is_none) {
        return Ok(false);
    }
    let (bodies, _) = reconciler.desired(object, observed)?.into_bodies(object, declared, identity)?;
    Ok(desired_children(&bodies, &outlines).iter().all(|wanted| wanted.digest.is_some()))
}
