//! The upgrade graph of packages: as text, JSON, Mermaid and DOT, as an SVG drawing and as a page for browsers.
//!
//! [`svg()`] draws one package; it needs nothing but the drawing itself, so that a page may contain it as it is. [`page()`]
//! is a page with the drawings of all packages, and [`parts()`] what a page that contains the drawing of one package needs. Graphs that OLM rejects are drawn, too: what is wrong is marked.

mod dot;
mod json;
mod layout;
mod mermaid;
mod node;
mod page;
mod svg;
mod text;

pub use dot::dot;
pub use json::json;
pub use layout::{DrawError, MAX_NODES};
pub use mermaid::mermaid;
pub use page::{Parts, page, parts};
pub use svg::{Drawing, Installed, PartLimits, svg};
pub use text::text;
