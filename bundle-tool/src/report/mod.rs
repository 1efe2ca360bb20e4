//! Findings, and the printers that show them to people and programs.
//!
//! What is printed as text passes through [`crate::model::text::printable`]; JSON escapes by itself.

mod bundle;
mod finding;
mod json;
mod origin;
pub mod rules;
pub mod suggest;
mod text;

pub use bundle::{BundleReport, UnreadBundle};
pub use finding::{Finding, Severity, Suite};
pub use json::json;
pub use origin::{Impact, Project, Source, Validator};
pub use text::text;
