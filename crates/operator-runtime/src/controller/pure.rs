//! Runs a reconciler's pure functions, for tests.

use super::children::wanted;
use super::error::{Error, Invalid};
use super::info::ControllerInfo;
use super::key::Key;
use super::observed::Observed;
use super::owns::Owns;
use super::reconciler::Reconciler;
use super::run::example_outlines;
use crate::context::Platform;
use crate::identity::Identity;
use kube::Resource;
use kube::core::ApiResource;
use serde_json::Value;
use std::sync::Arc;

fn info<R: Reconciler>(reconciler: &R) -> Arc<ControllerInfo> {
    let mut owns = Owns::default();
    reconciler.owns(&mut owns);
    Arc::new(ControllerInfo {
        name: String::new(),
        resource: ApiResource::erase::<R::Object>(&()),
        namespaced: true,
        owns: Arc::new(owns),
        finalizer: R::FINALIZER,
    })
}

/// Returns a view of a world in which nothing but the object exists.
pub(crate) fn observed<R: Reconciler>(reconciler: &R, object: &R::Object) -> Observed {
    Observed::nothing(Key::of(object.meta()), &info(reconciler).owns, Platform::default())
}

/// Returns the children of an object as they are applied.
pub(crate) fn desired<R: Reconciler>(
    reconciler: &R,
    object: &R::Object,
    observed: &Observed,
    identity: &Identity,
) -> Result<Result<Vec<Value>, Invalid>, Error> {
    let owns = Arc::clone(&info(reconciler).owns);
    match reconciler.desired(object, observed) {
        Ok(children) => {
            observed.check_views()?;
            let bodies = children.complete(object, &owns, identity)?;
            Ok(Ok(bodies.into_iter().map(|body| body.object).collect()))
        }
        Err(invalid) => Ok(Err(invalid)),
    }
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
    let children = match reconciler.desired(object, observed) {
        Ok(children) => children,
        Err(invalid) => return Err(Error::other(invalid.message().to_owned())),
    };
    let bodies = children.complete(object, &info.owns, identity)?;
    Ok(wanted(&bodies, &outlines).iter().all(|wanted| wanted.digest.is_some()))
}
