//! Controllers: a [`Reconciler`] describes what an object owns and which status it has; the rest is done here.
//!
//! `model` holds what is known of the objects and of their children: what the watches reported and what own writes returned.
//! A reconcile is a pipeline with one file per step: `observed` (what is known when it begins) → [`Reconciler::desired`] →
//! `plan` (what differs) → `apply` → [`Reconciler::status`] → `update_status`. Reads come from the watches only.
//! A reconcile that finds everything as desired makes no request at all.

mod apply;
mod changes;
mod children;
mod error;
mod external;
mod external_memo;
mod finalize;
mod immutable;
mod model;
mod object;
mod observed;
mod outline;
mod plan;
#[cfg(any(test, feature = "testing"))]
pub(crate) mod pure;
mod queue;
mod rate_limit;
mod raw_object;
mod reconcile;
mod reconciler;
mod references;
mod run;
mod store;
mod stored;
mod update_status;
mod view;
mod watches;

pub use crate::conditions::Status;
pub use crate::problem::{ReconcileProblem, reason_word};
pub use changes::{Change, Changes};
pub use children::Children;
pub use error::{Error, Failure, Invalid};
pub use external::{Cleanup, External};
pub use object::{Key, Object};
pub use observed::{Observed, ObservedState};
pub use rate_limit::RateLimit;
pub use reconciler::{Reconciler, SkipUnchanged};
pub use references::Reference;
pub use store::Objects;
pub use view::{Exists, View};
pub use watches::{Child, ChildOptions, ImmutableFields, OwnMetadata, References, Related, Watches};

#[cfg(test)]
pub(crate) use model::OwnerKind;
#[cfg(any(test, feature = "testing"))]
pub(crate) use run::Probe;
pub(crate) use run::{AnyController, ControllerSettings, TypedController};
#[cfg(any(test, feature = "testing"))]
pub(crate) use watches::Declared;
