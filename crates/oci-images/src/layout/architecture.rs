//! The architecture that a program is built for, from the header of its file.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

use super::files::Source;
use super::regular::open_regular;
use super::{Error, FileMap};

/// Returns the architectures, as Go names them, that the executable files among `files` are built for.
///
/// Only ELF files have one.
///
/// # Errors
///
/// [`Error::Read`] and [`Error::NotRegular`] if a file cannot be read.
pub fn architectures(files: &FileMap) -> Result<BTreeSet<&'static str>, Error> {
    let mut found = BTreeSet::new();
    for (_, file) in files.iter().filter(|(_, file)| file.executable) {
        found.extend(match &file.source {
            Source::Bytes(bytes) => architecture(bytes),
            Source::Disk(path) => architecture(&start(path)?),
        });
    }
    Ok(found)
}

fn start(path: &Path) -> Result<Vec<u8>, Error> {
    let mut start = Vec::new();
    open_regular(path)?.0.take(20).read_to_end(&mut start).map_err(Error::read(path))?;
    Ok(start)
}

/// Reads `e_machine` of an ELF header (elf(5)), in the file's own byte order.
fn architecture(start: &[u8]) -> Option<&'static str> {
    let (class, order, machine) = match start {
        [0x7f, b'E', b'L', b'F', class, order, rest @ ..] => (class, order, rest.get(12..14)?),
        _ => return None,
    };
    let little = *order == 1;
    let machine = [machine[0], machine[1]];
    match (if little { u16::from_le_bytes(machine) } else { u16::from_be_bytes(machine) }, class, little) {
        (3, 1, true) => Some("386"),
        (62, 2, true) => Some("amd64"),
        (40, 1, true) => Some("arm"),
        (183, 2, true) => Some("arm64"),
        (21, 2, true) => Some("ppc64le"),
        (22, 2, false) => Some("s390x"),
        (243, 2, true) => Some("riscv64"),
        (258, 2, true) => Some("loong64"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elf(class: u8, order: u8, machine: [u8; 2]) -> Vec<u8> {
        let mut start = vec![0x7f, b'E', b'L', b'F', class, order];
        start.resize(18, 0);
        start.extend(machine);
        start
    }

    #[test]
    fn elf_headers() {
        assert_eq!(architecture(&elf(2, 1, [62, 0])), Some("amd64"));
        assert_eq!(architecture(&elf(2, 1, [183, 0])), Some("arm64"));
        assert_eq!(architecture(&elf(2, 2, [0, 22])), Some("s390x"));
        assert_eq!(architecture(&elf(1, 1, [62, 0])), None);
        assert_eq!(architecture(b"#!/bin/sh\nexit 0\n   "), None);
        assert_eq!(architecture(b"\x7fELF"), None);
    }

    #[test]
    fn this_test_has_one_architecture() {
        let mut files = FileMap::new();
        files.collect(&std::env::current_exe().unwrap(), "test").unwrap();
        assert_eq!(architectures(&files).unwrap().len(), 1);
    }
}
