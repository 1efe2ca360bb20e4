//! Bundles and catalogs in memory, for the page that validates them in a browser.
//!
//! | module | contents |
//! | --- | --- |
//! | [`Workspace`] | the files of one bundle or catalog, and what is asked about them |
//! | [`decompressed`] | archives and layers without compression that browsers do not know |
//! | `settings` | the settings of the page: suites, profiles, versions |
//! | `exports` | the functions that JavaScript calls; only for WebAssembly |
//!
//! Nothing here does I/O: the page reads files and archives, and passes their bytes.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod compressed;
#[cfg(target_arch = "wasm32")]
pub mod exports;
mod settings;
mod workspace;

pub use compressed::decompressed;
pub use settings::{SettingsError, choices};
pub use workspace::{Error, Workspace, explain};
