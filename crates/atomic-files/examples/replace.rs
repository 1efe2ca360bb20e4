//! Replaces text in files of the current directory: in all of them or, if one changes meanwhile, in none.
//!
//! `cargo run --example replace -- OLD NEW FILE...`

use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::Duration;

use atomic_files::{DirectoryLock, Tree};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(old), Some(new)) = (arguments.next(), arguments.next()) else {
        return Err("usage: replace OLD NEW FILE...".into());
    };
    let mut lock = DirectoryLock::acquire(Path::new("."), Duration::from_secs(10), |_| {
        eprintln!("waiting for another process");
    })?;
    let mut tree = Tree::new();
    for path in arguments {
        let text = fs::read_to_string(lock.path().join(&path))?;
        let replaced = text.replace(&old, &new).into_bytes();
        tree.file(path, Some(text), replaced);
    }
    let changes = lock.write(&tree)?;
    println!("{} changed, {} unchanged", changes.replaced.len(), changes.unchanged.len());
    Ok(())
}
