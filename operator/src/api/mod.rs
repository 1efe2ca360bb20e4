//! The APIs: a module for each version, and the storage version of each kind.

pub mod v1;

pub use v1::memcached;
