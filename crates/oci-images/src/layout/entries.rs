//! The entries of a layer, one after the other, within budgets of bytes; and their list.

use std::io::{self, BufReader, Read};

use tar::EntryType;

use super::blob::Blob;
use super::decompress::{Exceeded, Meter, Metered, decompressed};
use super::error::{Error, Quoted};

/// The maximum size of an entry's headers (long names, extended attributes) in bytes.
const MAX_HEADER_BYTES: u64 = 1 << 20;

/// The maximum number of entries in a list.
const MAX_ENTRIES: u64 = 200_000;

/// The maximum length of a name in a list, in bytes; the rest is not shown.
const MAX_NAME: usize = 4096;

/// The maximum decompressed size of a layer that is listed: this many times its compressed size, and this many bytes more.
const MAX_RATIO: u64 = 200;
const RATIO_FLOOR: u64 = 256 << 20;

/// The archive of a layer.
pub(crate) type Opened = Metered<BufReader<Box<dyn Read>>>;

/// Turns an error of an archive into one about its layer.
pub(crate) type Failed<'a> = &'a dyn Fn(io::Error) -> Error;

/// The number of bytes that may come out of a layer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    /// The limit, as an error names it.
    pub(crate) limit: u64,
    /// What is left of it.
    pub(crate) left: u64,
}

/// Calls `visit` with every entry of `layer`, then reads the layer to its end, where digest and size are verified. Returns
/// the number of bytes that are left of the budget.
pub(crate) fn for_each(
    layer: &Blob,
    budget: Budget,
    mut visit: impl FnMut(&mut tar::Entry<'_, Opened>, Failed<'_>) -> Result<(), Error>,
) -> Result<u64, Error> {
    let what = format!("layer {}", layer.digest());
    let failed = |error: io::Error| match Exceeded::find_in(&error) {
        Some(Exceeded::Header) => {
            Error::TooLarge { what: format!("the header of an entry in {what}"), limit: MAX_HEADER_BYTES }
        }
        Some(Exceeded::Total) => {
            let what = format!("the decompressed size of the layers up to {what}");
            Error::TooLarge { what, limit: budget.limit }
        }
        None => match layer.error(error) {
            Error::Read { source, .. } => Error::malformed(what.as_str(), "layer", &source),
            error => error,
        },
    };
    let reader = BufReader::new(decompressed(layer, &what)?);
    let meter = Meter::default();
    meter.entry.set(MAX_HEADER_BYTES);
    meter.total.set(budget.left);
    let mut archive = tar::Archive::new(Metered { reader, meter: meter.clone() });
    for entry in archive.entries().map_err(failed)? {
        let mut entry = entry.map_err(failed)?;
        // What is not read here is skipped on the way to the next header.
        meter.entry.set(entry.size().saturating_add(MAX_HEADER_BYTES + 1024));
        visit(&mut entry, &failed)?;
    }
    // The end of the archive is not the end of the layer: only there are digest and size verified.
    let mut rest = archive.into_inner();
    meter.entry.set(u64::MAX);
    io::copy(&mut rest, &mut io::sink()).map_err(failed)?;
    Ok(meter.total.get())
}

/// An entry of a layer, as its archive names it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listed {
    /// The path, without a leading `./` or `/`. It is foreign text.
    pub path: String,
    /// The size in bytes.
    pub size: u64,
    /// The target of a link.
    pub target: Option<String>,
    /// Whether it is a directory.
    pub is_directory: bool,
}

/// Lists the entries of a layer in their order. Nothing is extracted, and paths are not judged.
///
/// # Errors
///
/// [`Error::TooMany`] beyond 200,000 entries, [`Error::TooLarge`] if the layer decompresses to 256 MiB and 200 times its
/// size, [`Error::Malformed`] if it is not a tar archive, [`Error::Mismatch`] if it does not match its descriptor.
pub fn list(layer: &Blob) -> Result<Vec<Listed>, Error> {
    let limit = RATIO_FLOOR.saturating_add(layer.size().saturating_mul(MAX_RATIO));
    let mut entries = Vec::new();
    for_each(layer, Budget { limit, left: limit }, |entry, _| {
        let kind = entry.header().entry_type();
        if matches!(kind, EntryType::XGlobalHeader) {
            return Ok(());
        }
        if entries.len() as u64 >= MAX_ENTRIES {
            let what = format!("the number of entries in layer {}", Quoted(layer.digest().as_ref()));
            return Err(Error::TooMany { what, limit: MAX_ENTRIES });
        }
        let text = |bytes: &[u8]| {
            String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_NAME)]).trim_end_matches('\0').to_owned()
        };
        let path = text(&entry.path_bytes());
        entries.push(Listed {
            path: path.trim_start_matches("./").trim_start_matches('/').to_owned(),
            size: entry.size(),
            target: entry.link_name_bytes().map(|target| text(&target)),
            is_directory: kind.is_dir(),
        });
        Ok(())
    })?;
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::super::{File, FileMap, Source, layer};
    use super::*;

    #[test]
    fn entries_are_listed_in_their_order() {
        let mut files = FileMap::new();
        for (path, source) in
            [("a/b.yaml", Source::Bytes(b"12345".to_vec())), ("a/link", Source::Link("b.yaml".to_owned()))]
        {
            files.add(path, File { source, executable: false }).unwrap();
        }
        let listed = list(&layer(&files, 0).unwrap().blob).unwrap();
        let shown: Vec<_> =
            listed.iter().map(|entry| (entry.path.as_str(), entry.size, entry.target.as_deref())).collect();
        assert_eq!(shown, [("a/", 0, None), ("a/b.yaml", 5, None), ("a/link", 0, Some("b.yaml"))]);
        assert!(listed[0].is_directory && !listed[1].is_directory);
    }
}
