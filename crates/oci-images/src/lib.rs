//! OCI images as values: built from files, read from and written to layouts and archives, pushed to and pulled from
//! registries.
//!
//! | module | contents | may import | feature |
//! | --- | --- | --- | --- |
//! | [`labels`] | the names of the labels of OLM's images | nothing | |
//! | [`layout`] | images, layers, OCI layouts and archives, extraction of files; no network | `labels` | |
//! | [`mod@reference`] | names of images | nothing | |
//! | `blocking` | work that must not run beside transfers | nothing | `registry` |
//! | [`registry`] | the distribution protocol: a client, and a small server | `layout`, `reference`, `blocking` | `registry`; `server` for the server |
//! | [`place`] | where images are, and copying between any two places | `layout`, `registry`, `blocking` | `registry` |
//!
//! Both features are on by default.

#[cfg(all(doctest, feature = "server"))]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(feature = "registry")]
mod blocking;
pub mod labels;
#[cfg_attr(
    not(feature = "registry"),
    expect(dead_code, unused_imports, reason = "places and registries use them")
)]
pub mod layout;
#[cfg(feature = "registry")]
pub mod place;
pub mod reference;
#[cfg(feature = "registry")]
pub mod registry;
