//! The memcached operator.
fn main() {}
