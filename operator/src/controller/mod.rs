//! The controllers, a module for each kind.

pub mod memcached;
