//! Findings about bundles and catalogs: what is wrong, where, what to do, and who rejects it.
//!
//! A [`Finding`] is one defect in one place; [`Fix`] is a change that fixes it; [`rules`] is the documentation of the rules that find them.

mod bundle;
mod excerpt;
mod finding;
pub mod fix;
mod origin;
pub mod rules;
pub mod suggest;
pub mod wrap;

pub use bundle::{BundleReport, CatalogReport, UnreadBundle};
pub use excerpt::{Excerpt, Lines};
pub use finding::{Finding, Ignored, IgnoredBy, Related, Severity, Suite, one_line};
pub use fix::{Change, Fix, Safety};
pub use origin::{Impact, OLDEST_RELEASES, Project, Source, Validator};
