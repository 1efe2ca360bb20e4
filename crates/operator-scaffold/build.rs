//! Embeds the sources of operator-runtime, which `bundle-tool init` copies into projects.
//!
//! Without them beside this crate, as in a package of it alone, the list is empty.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The crates that are copied: operator-runtime, and those of this repository that it depends on.
const CRATES: [&str; 3] = ["operator-runtime", "atomic-files", "limited-http"];

fn main() -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    if root.join("crates/operator-runtime").is_dir() {
        for name in ["CHANGELOG.md", "Cargo.toml", "LICENSE"] {
            files.push((name.to_owned(), root.join(name)));
        }
        for name in CRATES {
            let directory = root.join("crates").join(name);
            for file in ["Cargo.toml", "README.md"] {
                files.push((format!("{name}/{file}"), directory.join(file)));
            }
            // Changes of the whole directory are noticed: a new file, too.
            println!("cargo::rerun-if-changed={}", directory.join("src").display());
            sources(&directory.join("src"), &format!("{name}/src"), &mut files)?;
        }
    }
    files.sort();
    let mut list = String::from("&[\n");
    for (name, path) in &files {
        println!("cargo::rerun-if-changed={}", path.display());
        let path = fs::canonicalize(path)?.display().to_string();
        writeln!(list, "    ({name:?}, include_str!({path:?})),").map_err(io::Error::other)?;
    }
    list.push_str("]\n");
    let out =
        env::var_os("OUT_DIR").map(PathBuf::from).ok_or_else(|| io::Error::other("OUT_DIR is not set"))?;
    fs::write(out.join("runtime_sources.rs"), list)
}

fn sources(directory: &Path, name: &str, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = format!("{name}/{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            sources(&entry.path(), &name, files)?;
        } else {
            files.push((name, entry.path()));
        }
    }
    Ok(())
}
