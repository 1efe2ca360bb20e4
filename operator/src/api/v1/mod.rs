//! Version v1.

pub mod memcached;
