//! Directory trees on a real file system: what is written, what is preserved, and what remains after an error.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::time::Duration;

use atomic_files::{Changes, DirectoryLock, Error, Expected, Fingerprint, Tree, tree};

fn files(entries: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
    entries.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect()
}

fn write(directory: &Path, tree: &Tree<'_>) -> Result<Changes, Error> {
    DirectoryLock::acquire(directory, Duration::ZERO, |_| {})?.write(tree)
}

/// Returns every entry below `directory`: files with their text, links with their target, directories with a slash.
fn entries(directory: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(next) = pending.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(directory).unwrap().display().to_string();
            if path.is_symlink() {
                found.push((name, fs::read_link(path).unwrap().display().to_string()));
            } else if path.is_dir() {
                found.push((format!("{name}/"), String::new()));
                pending.push(path);
            } else {
                found.push((name, fs::read_to_string(path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

fn expected(entries: &[(&str, &str)]) -> Vec<(String, String)> {
    entries.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

#[test]
fn write_touches_and_reports_only_what_differs() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("deep/out");
    let changes = tree(&out, files(&[("a", "1"), ("m/b", "2"), ("m/c", "3")])).unwrap();
    assert_eq!(changes.created, ["a", "m/b", "m/c"]);
    let tree = |replaced: &str, removed| {
        let mut next = Tree::new();
        next.file("a", Some("1"), b"1").file("m/b", Some(replaced), b"two");
        next.remove("m/c", removed).remove("m/never", None::<&str>);
        write(&out, &next)
    };
    let changes = tree("2", Some("3")).unwrap();
    assert_eq!(changes.replaced, ["m/b"]);
    assert_eq!(changes.removed, ["m/c"]);
    assert_eq!(changes.unchanged, ["a"]);
    assert_eq!(entries(&out), expected(&[("a", "1"), ("m/", ""), ("m/b", "two")]));
    assert!(tree("two", None).unwrap().is_empty());
    assert_eq!(entries(&scratch.path().join("deep")).len(), 4, "something was left beside the directory");
}

#[test]
fn write_leaves_other_entries_and_keeps_modes() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("out");
    tree(&out, files(&[("a", "1"), ("b", "1"), ("same", "1")])).unwrap();
    fs::create_dir_all(out.join("mine/empty")).unwrap();
    fs::write(out.join("mine/run.sh"), "echo").unwrap();
    fs::set_permissions(out.join("mine/run.sh"), fs::Permissions::from_mode(0o754)).unwrap();
    fs::set_permissions(out.join("mine/empty"), fs::Permissions::from_mode(0o711)).unwrap();
    fs::set_permissions(out.join("b"), fs::Permissions::from_mode(0o640)).unwrap();
    fs::set_permissions(&out, fs::Permissions::from_mode(0o750)).unwrap();
    symlink("../elsewhere", out.join("mine/link")).unwrap();
    let before = |name: &str| {
        let metadata = fs::symlink_metadata(out.join(name)).unwrap();
        (metadata.ino(), metadata.mtime_nsec(), metadata.mode())
    };
    let (script, same) = (before("mine/run.sh"), before("same"));
    tree(&out, files(&[("a", "2"), ("b", "2"), ("same", "1")])).unwrap();
    assert_eq!((before("mine/run.sh"), before("same")), (script, same));
    let mode = |name: &str| fs::metadata(out.join(name)).unwrap().mode() & 0o7777;
    assert_eq!((mode(""), mode("mine/empty"), mode("b")), (0o750, 0o711, 0o640));
    assert_eq!(
        entries(&out),
        expected(&[
            ("a", "2"),
            ("b", "2"),
            ("mine/", ""),
            ("mine/empty/", ""),
            ("mine/link", "../elsewhere"),
            ("mine/run.sh", "echo"),
            ("same", "1"),
        ])
    );
}

#[test]
fn write_changes_nothing_if_one_file_cannot_be_written() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("out");
    tree(&out, files(&[("a", "1"), ("z", "a file in the way")])).unwrap();
    let before = entries(scratch.path());
    let error = tree(&out, files(&[("a", "2"), ("new/deep/b", "3"), ("z/below", "4")])).unwrap_err();
    assert!(error.to_string().contains("z/below"), "{error}");
    assert_eq!(entries(scratch.path()), before);
    // Found only while writing: no file system takes a name of 300 bytes.
    let long = "x".repeat(300);
    tree(&out, files(&[("a", "2"), (&long, "3")])).unwrap_err();
    assert_eq!(entries(scratch.path()), before);
}

#[test]
fn lock_removes_a_directory_that_it_created_and_nobody_used() {
    let scratch = tempfile::tempdir().unwrap();
    let lock = DirectoryLock::acquire(&scratch.path().join("a/b"), Duration::ZERO, |_| {}).unwrap();
    drop(lock);
    assert!(entries(scratch.path()).is_empty());
}

#[test]
fn paths_outside_the_directory_are_rejected() {
    let scratch = tempfile::tempdir().unwrap();
    for name in ["../out", "/etc/x", "a/../../out", "", "a/", ".atomic-files-x", "a/.atomic-files-x/b"] {
        assert!(tree(scratch.path(), files(&[(name, "x")])).is_err(), "{name:?} was accepted");
    }
    assert!(entries(scratch.path()).is_empty());
}

#[test]
fn link_inside_the_directory_is_replaced_and_its_target_unchanged() {
    for other in [&[][..], &[("b", "2")][..]] {
        let scratch = tempfile::tempdir().unwrap();
        let out = scratch.path().join("out");
        fs::create_dir(&out).unwrap();
        fs::write(scratch.path().join("victim"), "victim").unwrap();
        symlink("../victim", out.join("a")).unwrap();
        symlink("../nothing", out.join("dangling")).unwrap();
        let mut wanted = files(&[("a", "1"), ("dangling", "1")]);
        wanted.extend(files(other));
        tree(&out, wanted).unwrap();
        assert_eq!(fs::read_to_string(scratch.path().join("victim")).unwrap(), "victim");
        assert!(!scratch.path().join("nothing").exists());
        assert!(fs::symlink_metadata(out.join("a")).unwrap().is_file());
    }
}

#[test]
fn link_in_place_of_a_subdirectory_is_an_error() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("out");
    fs::create_dir(&out).unwrap();
    fs::create_dir(scratch.path().join("elsewhere")).unwrap();
    symlink("../elsewhere", out.join("m")).unwrap();
    let error = tree(&out, files(&[("m/a", "1"), ("m/b", "1")])).unwrap_err();
    assert!(error.to_string().ends_with("out/m"), "{error}");
    assert!(entries(&scratch.path().join("elsewhere")).is_empty());
}

#[test]
fn link_to_the_directory_itself_is_followed() {
    let scratch = tempfile::tempdir().unwrap();
    fs::create_dir(scratch.path().join("real")).unwrap();
    symlink("real", scratch.path().join("out")).unwrap();
    tree(&scratch.path().join("out"), files(&[("a", "1"), ("b", "1")])).unwrap();
    assert!(scratch.path().join("out").is_symlink());
    assert_eq!(entries(&scratch.path().join("real")), expected(&[("a", "1"), ("b", "1")]));
}

#[test]
fn leftovers_of_killed_processes_are_removed() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("out");
    tree(&out, files(&[("m/a", "1"), ("b", "1")])).unwrap();
    for name in ["out/.atomic-files-1", "out/m/.atomic-files-2", ".atomic-files-3"] {
        fs::write(scratch.path().join(name), "half a file").unwrap();
    }
    fs::create_dir_all(scratch.path().join(".atomic-files-4/m")).unwrap();
    tree(&out, files(&[("m/a", "2"), ("b", "2")])).unwrap();
    assert_eq!(
        entries(scratch.path()),
        expected(&[("out/", ""), ("out/b", "2"), ("out/m/", ""), ("out/m/a", "2")])
    );
    // Also where nothing else changes.
    fs::write(out.join("m/.atomic-files-5"), "half a file").unwrap();
    tree(&out, files(&[("m/a", "2"), ("b", "2")])).unwrap();
    assert!(!out.join("m/.atomic-files-5").exists());
}

#[test]
fn temporary_file_in_use_is_not_a_leftover() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("out");
    let mut pending = atomic_files::Pending::new(&scratch.path().join("file")).unwrap();
    pending.append(b"text").unwrap();
    tree(&out, files(&[("a", "1"), ("b", "1")])).unwrap();
    pending.commit().unwrap();
    assert_eq!(fs::read_to_string(scratch.path().join("file")).unwrap(), "text");
}

#[test]
fn write_fails_if_a_file_is_not_what_was_read() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("out");
    tree(&out, files(&[("a", "1"), ("b", "1")])).unwrap();
    symlink("b", out.join("link")).unwrap();
    let before = entries(&out);
    let nothing = None::<&str>;
    let changed = |name: &str, tree: &Tree<'_>| {
        let error = write(&out, tree).unwrap_err();
        assert!(matches!(&error, Error::Changed { path } if *path == out.join(name)), "{error}");
        assert_eq!(error.path(), out.join(name));
        assert_eq!(entries(&out), before);
    };
    changed("a", Tree::new().file("a", Some("2"), b"lost").file("b", Some("1"), b"2"));
    changed("b", Tree::new().file("a", Some("1"), b"2").file("b", nothing, b"lost"));
    changed("b", Tree::new().file("a", Some("1"), b"2").remove("b", Some("2")));
    changed("new", Tree::new().file("new", Some("1"), b"lost"));
    changed("gone", Tree::new().remove("gone", Some("1")));
    // Also where the bytes are those that it should hold: they were computed from others.
    changed("a", Tree::new().file("a", Some("0"), b"1"));
    changed("link", Tree::new().file("link", Some("2"), b"lost"));
    let mut tree = Tree::new();
    tree.file("a", Fingerprint::new(b"1"), b"2").file("b", Expected::Anything, b"2").file(
        "link",
        Some("1"),
        b"2",
    );
    write(&out, &tree).unwrap();
    assert_eq!(entries(&out), expected(&[("a", "2"), ("b", "2"), ("link", "2")]));
}

#[test]
fn directories_of_version_control_are_never_written() {
    let scratch = tempfile::tempdir().unwrap();
    for name in [".git/hooks/post-checkout", "m/.GIT/config", ".hg/hgrc", ".jj/x", ".svn/x"] {
        let error = tree(scratch.path(), files(&[(name, "x")])).unwrap_err();
        assert!(error.path().ends_with(name), "{error}");
    }
    assert!(entries(scratch.path()).is_empty());
    tree(scratch.path(), files(&[(".gitignore", "x"), (".github/workflows/ci.yaml", "x")])).unwrap();
}

#[test]
fn lock_names_a_path_that_is_not_a_directory() {
    let scratch = tempfile::tempdir().unwrap();
    let write = |name: &str| {
        let error = tree(&scratch.path().join(name), BTreeMap::new()).unwrap_err();
        format!("{error}: {}", std::error::Error::source(&error).unwrap())
    };
    fs::write(scratch.path().join("file"), "").unwrap();
    symlink("nowhere", scratch.path().join("dangling")).unwrap();
    let error = write("file");
    assert!(error.ends_with("file: it exists and is not a directory"), "{error}");
    let error = write("dangling");
    assert!(error.ends_with("dangling: it is a symbolic link to nothing; remove it first"), "{error}");
}
