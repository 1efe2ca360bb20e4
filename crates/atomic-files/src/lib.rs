#![doc = include_str!("../README.md")]

mod error;
mod file;
mod lock;
mod pending;
mod replace;
mod temporary;
mod tree;

pub use error::Error;
pub use file::{Change, compare, file};
pub use lock::{DirectoryLock, tree};
pub use pending::Pending;
pub use temporary::{TEMPORARY_PREFIX, is_temporary};
pub use tree::{Changes, Tree};
