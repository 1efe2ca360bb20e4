//! OCI images as values: built from files, read from and written to layouts and archives, pushed to and pulled from
//! registries.
//!
//! | module | contents | may import |
//! | --- | --- | --- |
//! | [`labels`] | the names of the labels of OLM's images | nothing |
//! | [`layout`] | images, layers, OCI layouts and archives, extraction of files; no network | `labels` |
//! | [`mod@reference`] | names of images | nothing |
//! | [`registry`] | the distribution protocol: a client and a small server | `layout` |
//! | [`place`] | where images are, and copying between any two places | `layout`, `registry` |

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod labels;
pub mod layout;
pub mod place;
pub mod reference;
pub mod registry;
