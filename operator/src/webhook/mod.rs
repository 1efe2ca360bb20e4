//! The webhooks, a module for each kind.

pub mod memcached;
