//! Controllers: a [`Reconciler`] describes what an object owns and which status it has; the rest is done here.
//!
//! A reconcile is a pipeline with one file per step: `observed` (what the watches report) → [`Reconciler::desired`] →
//! `plan` (what differs) → `apply` → [`Reconciler::status`] → `update_status`. Reads come from the watches only.
//! A reconcile that finds everything as desired makes no request at all.

mod apply;
mod cache;
mod changes;
mod children;
mod error;
mod external;
mod finalize;
mod info;
mod key;
mod live;
mod object;
mod observed;
mod owns;
mod params;
mod plan;
#[cfg(any(test, feature = "testing"))]
pub(crate) mod pure;
mod queued;
mod reconcile;
mod reconciler;
mod related;
mod run;
mod shape;
mod update_status;
mod view;
mod written;

pub use crate::problem::{Problem, reason_word};
pub use changes::{Change, Changes};
pub use children::Children;
pub use error::{Error, Invalid};
pub use external::External;
pub use key::Key;
pub use object::{Object, Spec, SpecOf, Status, StatusOf};
pub use observed::Observed;
pub use owns::{ChildOptions, Owns};
pub use reconciler::{Digests, Reconciler};
pub use view::{Exists, View};

#[cfg(test)]
pub(crate) use cache::OwnerKind;
#[cfg(any(test, feature = "testing"))]
pub(crate) use run::Probe;
pub(crate) use run::{AnyController, Launch, Typed};
