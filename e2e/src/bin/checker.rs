//! A scorecard test, to be run from an image: it prints the files that it finds in /bundle, and fails if it cannot write to its
//! storage. With the argument `silent`, it prints no results.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

/// Adds the files below a directory; links are not followed, as by most programs that walk a directory.
fn walk(directory: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            walk(&entry.path(), found)?;
        } else if kind.is_file() {
            found.push(entry.path());
        }
    }
    Ok(())
}

fn main() -> std::io::Result<()> {
    if std::env::args().nth(1).as_deref() == Some("silent") {
        println!("no results");
        return Ok(());
    }
    let storage = PathBuf::from(std::env::var_os("SCORECARD_STORAGE").unwrap_or_default());
    let mut files = Vec::new();
    walk(Path::new("/bundle"), &mut files)?;
    files.sort();
    let written = fs::write(storage.join("report"), "all files\n");
    let files: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
    let namespace = std::env::var("SCORECARD_NAMESPACE").unwrap_or_default();
    let result = json!({
        "name": "files",
        "state": if written.is_ok() { "pass" } else { "fail" },
        "log": format!("{namespace}\n{}", files.join("\n")),
        "errors": written.err().map(|error| vec![error.to_string()]).unwrap_or_default(),
    });
    println!("{}", json!({"results": [result]}));
    Ok(())
}
