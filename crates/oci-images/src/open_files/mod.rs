//! The limit of open files. Each layer in transfer is one, so a program that copies images raises its limit; programs that it
//! starts get the limit that it was started with, because some of them close or wait for every file that may be open.

#[cfg(unix)]
mod unix;
#[cfg(unix)]
pub use unix::{raise_limit, restore_limit};

#[cfg(not(unix))]
mod other;
#[cfg(not(unix))]
pub use other::{raise_limit, restore_limit};
