//! Makes an index of the documents of a valid catalog. The same documents give the same bytes.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use flate2::{Compress, Compression, FlushCompress};
use prost::Message as _;
use prost::encoding::{WireType, encode_key, encode_varint};
use sha2::Digest as _;

use super::super::document::{Bundle, Channel, Csv, Custom, Document, Package};
use super::error::IndexError;
use super::header::{Digest, HEADER, Header, MAX_SIZE, MAX_TABLES, content_digest};
use super::tables::{MAX_BLOB, NONE, Table};

/// A document whose large parts are compressed.
#[derive(Debug)]
pub(crate) enum Prepared {
    Package(Package, Option<Blob>, Option<Blob>),
    Channel(Channel),
    Bundle(Box<PreparedBundle>),
    Deprecations(super::super::document::Deprecations),
    Custom(String, String, Blob),
}

/// A bundle whose parts are compressed.
#[derive(Debug)]
pub(crate) struct PreparedBundle {
    package: String,
    name: String,
    version: String,
    has_image: bool,
    small: Blob,
    fixed: usize,
    csv: PreparedCsv,
    objects: Option<Blob>,
    provided: Vec<[String; 3]>,
}

#[derive(Debug)]
enum PreparedCsv {
    None,
    /// Where it is in the objects.
    Object(usize, usize),
    Metadata {
        blob: Blob,
        before: usize,
        between: usize,
        needs_description: bool,
    },
}

/// Bytes, deflated if they become smaller.
#[derive(Debug)]
pub(crate) struct Blob {
    stored: Vec<u8>,
    raw: usize,
}

/// What an index is made for, which decides how well it is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A file, which is written once and read often.
    File,
    /// This process, which answers nothing before it is made.
    Memory,
}

impl Purpose {
    fn compression(self) -> Compression {
        match self {
            Self::File => Compression::new(6),
            Self::Memory => Compression::fast(),
        }
    }
}

impl Blob {
    fn new(bytes: Vec<u8>, purpose: Purpose) -> Self {
        let raw = bytes.len();
        let mut stored = Vec::with_capacity(raw);
        let mut deflate = Compress::new(purpose.compression(), false);
        let result = deflate.compress_vec(&bytes, &mut stored, FlushCompress::Finish);
        // The capacity is the original size: what does not fit would not be smaller.
        match result {
            Ok(flate2::Status::StreamEnd) if stored.len() < raw => {
                stored.shrink_to_fit();
                Self { stored, raw }
            }
            _ => Self { stored: bytes, raw },
        }
    }

    fn some(bytes: Vec<u8>, purpose: Purpose) -> Option<Self> {
        (!bytes.is_empty()).then(|| Self::new(bytes, purpose))
    }
}

/// Appends a field of a message that holds a string or another message.
pub(crate) fn push_field(tag: u32, value: &[u8], out: &mut Vec<u8>) {
    encode_key(tag, WireType::LengthDelimited, out);
    encode_varint(value.len() as u64, out);
    out.extend_from_slice(value);
}

fn push_text(tag: u32, value: &str, out: &mut Vec<u8>) {
    if !value.is_empty() {
        push_field(tag, value.as_bytes(), out);
    }
}

/// Compresses the large parts of a document.
pub(crate) fn prepare(document: Document, purpose: Purpose) -> Prepared {
    match document {
        Document::Package(mut package) => {
            let description = Blob::some(std::mem::take(&mut package.description).into_bytes(), purpose);
            let icon = package.icon.as_mut().map(|icon| Blob::new(std::mem::take(&mut icon.data), purpose));
            Prepared::Package(package, description, icon)
        }
        Document::Channel(channel) => Prepared::Channel(channel),
        Document::Bundle(bundle) => Prepared::Bundle(Box::new(prepare_bundle(*bundle, purpose))),
        Document::Deprecations(deprecations) => Prepared::Deprecations(deprecations),
        Document::Custom(Custom { schema, package, message }) => {
            Prepared::Custom(schema, package, Blob::new(message, purpose))
        }
    }
}

fn prepare_bundle(bundle: Bundle, purpose: Purpose) -> PreparedBundle {
    let Bundle { package, name, version, image, csv, objects, provided, required, dependencies, properties } =
        bundle;
    let mut small = Vec::new();
    push_text(6, &image, &mut small);
    for api in &provided {
        push_field(7, &api.encode_to_vec(), &mut small);
    }
    for api in &required {
        push_field(8, &api.encode_to_vec(), &mut small);
    }
    push_text(9, &version, &mut small);
    let fixed = small.len();
    for dependency in &dependencies {
        push_field(11, &dependency.encode_to_vec(), &mut small);
    }
    for property in &properties {
        push_field(12, &property.encode_to_vec(), &mut small);
    }
    let mut fields = Vec::new();
    let mut object_ends = Vec::new();
    for object in &objects {
        push_field(5, object.as_bytes(), &mut fields);
        object_ends.push(fields.len());
    }
    let csv = match csv {
        Csv::None => PreparedCsv::None,
        Csv::Object(index) => match (object_ends.get(index), objects.get(index)) {
            (Some(end), Some(object)) => PreparedCsv::Object(end - object.len(), object.len()),
            _ => PreparedCsv::None,
        },
        Csv::Metadata(parts) => {
            let (before, between) = (parts.before.len(), parts.between.len());
            let text = parts.before + &parts.between + &parts.after;
            PreparedCsv::Metadata {
                blob: Blob::new(text.into_bytes(), purpose),
                before,
                between,
                needs_description: parts.needs_description,
            }
        }
    };
    PreparedBundle {
        package,
        name,
        version,
        has_image: !image.is_empty(),
        small: Blob::new(small, purpose),
        fixed,
        csv,
        objects: Blob::some(fields, purpose),
        provided: provided.into_iter().map(|api| [api.group, api.version, api.kind]).collect(),
    }
}

/// All that belongs to one package.
#[derive(Default)]
struct Group {
    package: Option<(Package, Option<Blob>, Option<Blob>)>,
    channels: BTreeMap<String, Channel>,
    bundles: BTreeMap<String, PreparedBundle>,
    /// By schema and name.
    deprecations: HashMap<(String, String), String>,
}

/// An index that was made: to be served from memory, or to be written to a file.
#[derive(Debug)]
pub(crate) struct Made {
    /// By their numbers.
    pub(crate) blobs: Vec<Vec<u8>>,
    /// As they are in the file.
    pub(crate) tables: Vec<u8>,
}

/// Makes the index of the documents of a catalog.
///
/// # Errors
/// [`IndexError::TooLarge`] beyond the limits, [`IndexError::Unlinked`] if the catalog is invalid.
pub(crate) fn make(documents: impl IntoIterator<Item = Prepared>) -> Result<Made, IndexError> {
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    let mut custom = Vec::new();
    for document in documents {
        match document {
            Prepared::Package(package, description, icon) => {
                let group = groups.entry(package.name.clone()).or_default();
                group.package = Some((package, description, icon));
            }
            Prepared::Channel(channel) => {
                let group = groups.entry(channel.package.clone()).or_default();
                group.channels.insert(channel.name.clone(), channel);
            }
            Prepared::Bundle(bundle) => {
                let group = groups.entry(bundle.package.clone()).or_default();
                group.bundles.insert(bundle.name.clone(), *bundle);
            }
            Prepared::Deprecations(deprecations) => {
                let group = groups.entry(deprecations.package).or_default();
                for (schema, name, message) in deprecations.entries {
                    group.deprecations.insert((schema, name), message);
                }
            }
            Prepared::Custom(schema, package, blob) => custom.push((schema, package, blob)),
        }
    }
    let mut writer = Writer::new();
    for (name, group) in groups {
        writer.group(&name, group)?;
    }
    // The order of the files within one schema and package, as opm keeps it.
    custom.sort_by(|(a_schema, a_package, _), (b_schema, b_package, _)| {
        (a_schema, a_package).cmp(&(b_schema, b_package))
    });
    for (schema, package, blob) in custom {
        let (schema, package) = (writer.string(&schema)?, writer.string(&package)?);
        let blob = writer.blob(Some(blob))?;
        writer.push(Table::Custom, &[schema.0, schema.1, package.0, package.1, blob]);
    }
    writer.finish()
}

impl Made {
    /// Returns the bytes of the file, for the catalog with this digest.
    pub(crate) fn into_bytes(self, catalog: Digest) -> Vec<u8> {
        let Self { blobs, tables } = self;
        let tables_offset = HEADER + blobs.iter().map(Vec::len).sum::<usize>();
        let mut out = Vec::with_capacity(tables_offset + tables.len());
        out.resize(HEADER, 0);
        for blob in blobs {
            out.extend_from_slice(&blob);
        }
        out.extend_from_slice(&tables);
        let mut header = Header {
            size: out.len() as u64,
            catalog,
            content: Digest::default(),
            tables_offset: tables_offset as u64,
            tables_length: tables.len() as u64,
        };
        let mut hash = content_digest(&header);
        hash.update(&out[HEADER..]);
        header.content.copy_from_slice(&hash.finalize());
        out[..HEADER].copy_from_slice(&header.to_bytes());
        out
    }
}

struct Writer {
    blobs: Vec<Vec<u8>>,
    /// Where the next blob is in a file.
    offset: u64,
    strings: HashMap<String, (u32, u32)>,
    tables: [Vec<u8>; Table::COUNT],
    /// Channel, package and bundle of each entry, with its number.
    order: BTreeSet<(String, String, String, u32)>,
}

impl Writer {
    fn new() -> Self {
        Self {
            blobs: Vec::new(),
            offset: HEADER as u64,
            strings: HashMap::new(),
            tables: Default::default(),
            order: BTreeSet::new(),
        }
    }

    fn string(&mut self, text: &str) -> Result<(u32, u32), IndexError> {
        if let Some(found) = self.strings.get(text) {
            return Ok(*found);
        }
        let pool = &mut self.tables[Table::Strings as usize];
        let place = (number(pool.len())?, number(text.len())?);
        pool.extend_from_slice(text.as_bytes());
        self.strings.insert(text.to_owned(), place);
        Ok(place)
    }

    fn optional_string(&mut self, text: Option<&String>) -> Result<(u32, u32), IndexError> {
        text.map_or(Ok((NONE, 0)), |text| self.string(text))
    }

    fn push(&mut self, table: Table, words: &[u32]) {
        debug_assert_eq!(words.len(), table.width(), "{table:?}");
        let rows = &mut self.tables[table as usize];
        for word in words {
            rows.extend_from_slice(&word.to_le_bytes());
        }
    }

    /// Returns the number of the next row.
    fn next(&self, table: Table) -> Result<u32, IndexError> {
        number(self.tables[table as usize].len() / (table.width() * 4))
    }

    fn blob(&mut self, blob: Option<Blob>) -> Result<u32, IndexError> {
        let Some(Blob { stored, raw }) = blob else { return Ok(NONE) };
        if raw > MAX_BLOB as usize {
            return Err(IndexError::TooLarge { limit: MAX_BLOB.into(), unit: "bytes in one document" });
        }
        let row = self.next(Table::Blobs)?;
        let offset = self.offset.to_le_bytes();
        let word =
            |at: usize| u32::from_le_bytes([offset[at], offset[at + 1], offset[at + 2], offset[at + 3]]);
        self.push(Table::Blobs, &[word(0), word(4), number(stored.len())?, number(raw)?]);
        self.offset += stored.len() as u64;
        self.blobs.push(stored);
        if self.offset > MAX_SIZE {
            return Err(IndexError::TooLarge { limit: MAX_SIZE, unit: "bytes" });
        }
        Ok(row)
    }

    fn group(&mut self, name: &str, group: Group) -> Result<(), IndexError> {
        let Group { package, channels, bundles, deprecations } = group;
        let unlinked =
            |what: String| IndexError::Unlinked(format!("{what}: run `bundle-tool catalog validate`"));
        let Some((package, description, icon)) = package else {
            return Err(unlinked(format!("package `{name}` is not in the catalog")));
        };
        let deprecated = |schema: &str, name: &str| deprecations.get(&(schema.to_owned(), name.to_owned()));
        let package_row = self.next(Table::Packages)?;
        let mut bundle_rows = HashMap::new();
        for (name, bundle) in bundles {
            let row = self.bundle(package_row, bundle, deprecated("olm.bundle", &name))?;
            bundle_rows.insert(name, row);
        }
        let first_channel = self.next(Table::Channels)?;
        for (channel_name, channel) in &channels {
            let channel_row = self.next(Table::Channels)?;
            let first_entry = self.next(Table::Entries)?;
            let replaced: BTreeSet<&str> = channel
                .entries
                .iter()
                .flat_map(|entry| entry.skips.iter().chain([&entry.replaces]))
                .map(String::as_str)
                .collect();
            let mut entries: Vec<_> = channel.entries.iter().collect();
            entries.sort_by(|a, b| a.name.cmp(&b.name));
            let mut head = NONE;
            for entry in entries {
                let Some(bundle) = bundle_rows.get(&entry.name) else {
                    return Err(unlinked(format!(
                        "channel `{channel_name}` has entry `{}`, but there is no such bundle",
                        entry.name
                    )));
                };
                let row = self.next(Table::Entries)?;
                if !replaced.contains(entry.name.as_str()) {
                    head = row;
                }
                let first_skip = self.next(Table::Skips)?;
                for skip in &entry.skips {
                    let skip = self.string(skip)?;
                    self.push(Table::Skips, &[skip.0, skip.1]);
                }
                let (old, range) = (self.string(&entry.replaces)?, self.string(&entry.skip_range)?);
                self.push(
                    Table::Entries,
                    &[
                        *bundle,
                        channel_row,
                        old.0,
                        old.1,
                        range.0,
                        range.1,
                        first_skip,
                        number(entry.skips.len())?,
                    ],
                );
                self.order.insert((channel_name.clone(), name.to_owned(), entry.name.clone(), row));
            }
            if head == NONE {
                return Err(unlinked(format!("channel `{channel_name}` has no head")));
            }
            let deprecation = self.optional_string(deprecated("olm.channel", channel_name))?;
            let text = self.string(channel_name)?;
            self.push(
                Table::Channels,
                &[
                    text.0,
                    text.1,
                    package_row,
                    head,
                    deprecation.0,
                    deprecation.1,
                    first_entry,
                    number(channel.entries.len())?,
                ],
            );
        }
        let text = self.string(name)?;
        let default = self.string(&package.default_channel)?;
        let deprecation = self.optional_string(deprecated("olm.package", ""))?;
        let (description, icon) = (self.blob(description)?, self.blob(icon)?);
        let media_type = self.optional_string(package.icon.as_ref().map(|icon| &icon.media_type))?;
        self.push(
            Table::Packages,
            &[
                text.0,
                text.1,
                default.0,
                default.1,
                deprecation.0,
                deprecation.1,
                description,
                icon,
                media_type.0,
                media_type.1,
                first_channel,
                number(channels.len())?,
            ],
        );
        Ok(())
    }

    fn bundle(
        &mut self,
        package: u32,
        bundle: PreparedBundle,
        deprecation: Option<&String>,
    ) -> Result<u32, IndexError> {
        let PreparedBundle { package: _, name, version, has_image, small, fixed, csv, objects, provided } =
            bundle;
        let first_api = self.next(Table::Apis)?;
        for [group, version, kind] in &provided {
            let (group, version, kind) = (self.string(group)?, self.string(version)?, self.string(kind)?);
            self.push(Table::Apis, &[group.0, group.1, version.0, version.1, kind.0, kind.1]);
        }
        let row = self.next(Table::Bundles)?;
        let (name, version) = (self.string(&name)?, self.string(&version)?);
        let deprecation = self.optional_string(deprecation)?;
        let small = self.blob(Some(small))?;
        let objects = self.blob(objects)?;
        let (kind, csv_blob, a, b) = match csv {
            PreparedCsv::None => (0, NONE, 0, 0),
            PreparedCsv::Object(start, length) => (1, NONE, start, length),
            PreparedCsv::Metadata { blob, before, between, needs_description } => {
                (2 + u32::from(needs_description), self.blob(Some(blob))?, before, between)
            }
        };
        self.push(
            Table::Bundles,
            &[
                name.0,
                name.1,
                package,
                version.0,
                version.1,
                deprecation.0,
                deprecation.1,
                small,
                number(fixed)?,
                kind,
                csv_blob,
                number(a)?,
                number(b)?,
                objects,
                first_api,
                number(provided.len())?,
                u32::from(has_image),
            ],
        );
        Ok(row)
    }

    fn finish(mut self) -> Result<Made, IndexError> {
        for (.., entry) in std::mem::take(&mut self.order) {
            self.push(Table::Order, &[entry]);
        }
        let mut at = Table::COUNT * 8;
        let mut tables = Vec::with_capacity(at + self.tables.iter().map(Vec::len).sum::<usize>());
        for table in &self.tables {
            tables.extend_from_slice(&number(at)?.to_le_bytes());
            tables.extend_from_slice(&number(table.len())?.to_le_bytes());
            at += table.len();
        }
        if at as u64 > MAX_TABLES {
            return Err(IndexError::TooLarge { limit: MAX_TABLES, unit: "bytes of tables" });
        }
        for table in self.tables {
            tables.extend_from_slice(&table);
        }
        Ok(Made { blobs: self.blobs, tables })
    }
}

fn number(size: usize) -> Result<u32, IndexError> {
    match u32::try_from(size) {
        Ok(number) if number != NONE => Ok(number),
        _ => Err(IndexError::TooLarge { limit: NONE.into(), unit: "rows or bytes" }),
    }
}
