//! Validation of values against schemas as the API server implements it: which values a type accepts, how numbers
//! compare, which formats are checked, which fields are pruned.

mod defaulting;
mod email;
mod formats;
mod metadata;
mod object;
mod prune;
mod validate;

pub(crate) use formats::{is_checked, names as format_names};
pub(crate) use metadata::{Step, embedded, object_meta, surrounded};
pub use object::{Crds, Outcome};
pub(crate) use prune::unknown_field;
pub(crate) use validate::{Mismatch, validate};
