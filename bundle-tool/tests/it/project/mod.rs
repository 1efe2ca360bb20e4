//! An operator's project in a temporary directory, and the tool as a person runs it there.
#![allow(
    dead_code,
    clippy::unwrap_used,
    missing_docs,
    unreachable_pub,
    reason = "each test uses a part of it"
)]

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use assert_cmd::assert::Assert;

pub struct Project {
    directory: tempfile::TempDir,
    command: &'static [&'static str],
}

impl Project {
    /// A project of these files, in which the tool is run with `command` before its other arguments.
    pub fn new(command: &'static [&'static str], files: &[(&str, &str)]) -> Self {
        let project = Self { directory: tempfile::tempdir().unwrap(), command };
        for (name, text) in files {
            project.write(name, text);
        }
        project
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// All files, with their bytes.
    pub fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        files(self.directory.path())
    }

    /// The tool in the project's directory, without arguments, at no given time.
    pub fn tool(&self) -> Command {
        let mut tool = Command::cargo_bin("bundle-tool").unwrap();
        tool.current_dir(self.directory.path()).env_remove("SOURCE_DATE_EPOCH");
        tool
    }

    /// Runs the project's command with further arguments.
    pub fn run(&self, arguments: &[&str]) -> Assert {
        self.tool().args(self.command).args(arguments).assert()
    }

    /// As [`Project::run`], at a time in seconds since 1970.
    pub fn run_at(&self, epoch: &str, arguments: &[&str]) -> Assert {
        self.tool().env("SOURCE_DATE_EPOCH", epoch).args(self.command).args(arguments).assert()
    }
}

pub fn stderr(assert: &Assert) -> String {
    String::from_utf8(assert.get_output().stderr.clone()).unwrap()
}

pub fn stdout(assert: &Assert) -> String {
    String::from_utf8(assert.get_output().stdout.clone()).unwrap()
}

fn files(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push((path.clone(), fs::read(path).unwrap()));
        }
    }
    found.sort();
    found
}
