//! Prints findings about bundles and catalogs, for people and programs: text with snippets, JSON, SARIF, JUnit and GitHub
//! annotations.
//!
//! Printers take [`Subject`]s, which borrow from the reports of bundles and catalogs. What is printed as text passes
//! through [`kube_yaml::text::printable`]; JSON escapes by itself.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod diagnostic;
mod github;
mod json;
mod junit;
mod sarif;
mod sdk_json;
mod summary;
pub mod text;

pub use diagnostic::{Diagnostic, RelatedPlace, Subject};
pub use github::github;
pub use json::json;
pub use junit::junit;
pub use sarif::{RuleDescription, sarif};
pub use sdk_json::{SdkOutput, SdkResult, sdk_json};
pub use summary::Summary;
