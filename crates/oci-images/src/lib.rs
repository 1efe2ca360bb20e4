//! OCI images as values: built from files, read from and written to layouts and archives, pushed to and pulled from
//! registries.
//!
//! | module | contents | may import | feature |
//! | --- | --- | --- | --- |
//! | [`labels`] | the names of the labels of OLM's images | – | |
//! | [`compressed`] | tells compressed files | – | |
//! | [`platform`] | the platforms of images | – | |
//! | [`layout`] | images, layers, OCI layouts and archives, extraction of files; no network | `labels`, `compressed`, `platform`, `zstd`, `json` | `layout` |
//! | [`zstd`] | the decoder of compressed layers | – | `zstd` |
//! | [`mod@reference`] | names of images | – | |
//! | [`open_files`] | the limit of open files, for transfers of many layers | – | `registry` |
//! | [`plain`] | errors of the system, of TLS and of HTTP in plain words | `message` | `transport` |
//! | [`secrets`] | secrets, addresses that may contain some, and the text of messages without them | `message` | `transport` |
//! | `message` | text of users and servers on one line, escaped and short | – | `layout`, `transport` |
//! | `json` | errors of JSON in plain words | `message` | `layout` |
//! | `keyed_locks` | locks by key, so that concurrent tasks do not repeat the same work | – | `registry` |
//! | `blocking` | work that must not run beside transfers | – | `registry` |
//! | [`registry`] | the distribution protocol: a client, signatures, and a small server | `layout`, `reference`, `blocking`, `json`, `plain`, `secrets`, `message`, `open_files`, `keyed_locks` | `registry`; `sign` for signatures, `server` for the server |
//! | `error` | why an image cannot be read, written or copied | `layout`, `registry` | `registry` |
//! | `fill` | fetching images into a layout | `layout`, `registry`, `error`, `blocking`, `keyed_locks` | `registry` |
//! | [`location`] | where images are, and copying between any two of these | `layout`, `registry`, `error`, `blocking`, `fill`, `keyed_locks` | `registry` |
//! | [`transfer`] | copying many images, with their signatures, SBOMs and provenance | `layout`, `reference`, `location`, `registry`, `fill`, `blocking`, `keyed_locks` | `registry` |
//!
//! `registry` is on by default. Without any feature, nothing here does I/O.

#[cfg(all(doctest, feature = "registry"))]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(feature = "registry")]
mod blocking;
pub mod compressed;
#[cfg(feature = "registry")]
mod error;
#[cfg(feature = "registry")]
mod fill;
#[cfg(feature = "layout")]
mod json;
#[cfg(feature = "registry")]
mod keyed_locks;
pub mod labels;
#[cfg(feature = "layout")]
#[cfg_attr(
    not(feature = "registry"),
    expect(dead_code, unused_imports, reason = "places and registries use them")
)]
pub mod layout;
#[cfg(feature = "registry")]
pub mod location;
#[cfg(any(feature = "layout", feature = "transport"))]
#[cfg_attr(not(feature = "transport"), expect(dead_code, reason = "addresses use it"))]
mod message;
#[cfg(feature = "registry")]
pub mod open_files;
#[cfg(feature = "transport")]
pub mod plain;
pub mod platform;
pub mod reference;
#[cfg(feature = "registry")]
pub mod registry;
#[cfg(feature = "transport")]
pub mod secrets;
#[cfg(feature = "layout")]
mod sys;
#[cfg(feature = "registry")]
pub mod transfer;
#[cfg(feature = "zstd")]
pub mod zstd;
