//! Values held against schemas, with the peculiarities of the API server's own validator: which values a type takes,
//! how numbers are compared, which formats are checked, what is dropped as unknown.

mod email;
mod formats;
mod metadata;
mod prune;
mod validate;

pub(super) use formats::is_checked;
pub(super) use metadata::{Step, embedded, surrounded};
pub(super) use prune::unknown_field;
pub(super) use validate::{Mismatch, validate};
