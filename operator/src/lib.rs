//! The memcached operator.
