#![doc = include_str!("../README.md")]

mod error;
mod expected;
mod file;
mod journal;
mod lock;
mod moves;
mod pending;
mod sys;
mod temporary;
mod transaction;
mod tree;

pub use error::{Error, with_advice};
pub use expected::{Expected, Fingerprint};
pub use file::{Change, compare, file};
pub use lock::{DirectoryLock, tree};
pub use pending::Pending;
pub use temporary::is_temporary;
pub use transaction::{Pause, pause};
pub use tree::{Changes, Tree};
