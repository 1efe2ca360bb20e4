//! Prints findings about bundles and catalogs, for people and programs: text with snippets, JSON, SARIF, JUnit and GitHub
//! annotations.
//!
//! Printers take [`Subject`]s, which borrow from the reports of bundles and catalogs. What is printed as text passes
//! through [`kube_yaml::text::printable`]; JSON escapes by itself.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod alpha;
mod diagnostic;
mod github;
mod json;
mod junit;
mod sarif;
mod summary;
pub mod text;

pub use alpha::alpha;
pub use diagnostic::{Diagnostic, RelatedPlace, Subject};
pub use github::github;
pub use json::json;
pub use junit::junit;
pub use sarif::{RuleDescription, sarif};
pub use summary::Summary;
