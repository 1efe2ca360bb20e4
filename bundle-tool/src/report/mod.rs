//! Findings, and the printers that show them to people and programs.
//!
//! Printers take [`Subject`]s, which borrow from the reports of bundles and catalogs. What is printed as text passes
//! through [`crate::model::text::printable`]; JSON escapes by itself.

mod alpha;
mod bundle;
mod diagnostic;
mod excerpt;
mod finding;
pub mod fix;
mod github;
mod json;
mod junit;
mod origin;
pub mod rules;
mod sarif;
pub mod suggest;
mod summary;
pub mod text;
mod wrap;
pub mod xml;

pub use alpha::alpha;
pub use bundle::{BundleReport, UnreadBundle};
pub use diagnostic::{Diagnostic, RelatedPlace, Subject, path_below};
pub use excerpt::{Excerpt, Lines};
pub use finding::{Finding, Ignored, IgnoredBy, Related, Severity, Suite};
pub use fix::{Change, Fix, Safety};
pub use github::github;
pub use json::json;
pub use junit::junit;
pub use origin::{Impact, OLDEST_RELEASES, Project, Source, Validator};
pub use sarif::{RuleDescription, sarif};
pub use summary::Summary;
