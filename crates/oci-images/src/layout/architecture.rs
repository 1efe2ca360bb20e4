//! The architecture that a program is built for, from the header of its file.

use std::collections::BTreeSet;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use super::error::Error;
use super::files::{FileMap, Source};
use super::regular::open_regular;

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
            Source::Link(_) => None,
        });
    }
    Ok(found)
}

/// Returns whether the program in a file needs no other file to start: an ELF file that names no interpreter.
///
/// # Errors
///
/// [`Error::Read`] and [`Error::NotRegular`] if the file cannot be read.
pub fn is_static(path: &Path) -> Result<bool, Error> {
    /// The maximum length of all program headers in bytes. Linux accepts one page.
    const MAX_HEADERS: u64 = 64 << 10;
    let (mut file, _) = open_regular(path)?;
    let mut start = Vec::new();
    file.by_ref().take(64).read_to_end(&mut start).map_err(Error::read(path))?;
    let Some((offset, length, count)) = program_headers(&start) else { return Ok(false) };
    let mut headers = Vec::new();
    file.seek(SeekFrom::Start(offset)).map_err(Error::read(path))?;
    file.take((length * count).min(MAX_HEADERS)).read_to_end(&mut headers).map_err(Error::read(path))?;
    let is_little = start.get(5) == Some(&1);
    let mut types = headers.chunks_exact(usize::try_from(length).unwrap_or(usize::MAX).max(4));
    Ok(types.all(|header| number(&header[..4], is_little) != PT_INTERP))
}

/// The type of the program header that names the interpreter, which loads shared libraries.
const PT_INTERP: u64 = 3;

fn number(bytes: &[u8], is_little: bool) -> u64 {
    let add = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
    if is_little { bytes.iter().rev().fold(0, add) } else { bytes.iter().fold(0, add) }
}

/// Returns the offset of an ELF file's program headers, the length of each, and how many there are.
fn program_headers(start: &[u8]) -> Option<(u64, u64, u64)> {
    let (offset, length, count) = match start {
        [0x7f, b'E', b'L', b'F', 1, ..] => (28..32, 42..44, 44..46),
        [0x7f, b'E', b'L', b'F', 2, ..] => (32..40, 54..56, 56..58),
        _ => return None,
    };
    let is_little = start.get(5) == Some(&1);
    let read = |range: std::ops::Range<usize>| start.get(range).map(|bytes| number(bytes, is_little));
    Some((read(offset)?, read(length)?, read(count)?))
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
    fn static_programs_name_no_interpreter() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("program");
        let is = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            is_static(&path).unwrap()
        };
        let program = |types: &[u32]| {
            let mut bytes = elf(2, 1, [62, 0]);
            bytes.resize(64, 0);
            bytes[32] = 64;
            bytes[54] = 56;
            bytes[56] = u8::try_from(types.len()).unwrap();
            for kind in types {
                bytes.extend(kind.to_le_bytes());
                bytes.resize(bytes.len() + 52, 0);
            }
            bytes
        };
        assert!(is(&program(&[1, 2])));
        assert!(!is(&program(&[1, 3, 2])));
        assert!(!is(b"#!/bin/sh\n") && !is(b""));
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
    fn own_program_has_one_architecture() {
        let mut files = FileMap::new();
        files.collect(&std::env::current_exe().unwrap(), "test").unwrap();
        assert_eq!(architectures(&files).unwrap().len(), 1);
    }
}
