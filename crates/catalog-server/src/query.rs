//! What clients may ask of a catalog, apart from how they ask.
//!
//! Answers and errors are those of `opm serve`, with one difference: where its order is random (Go's maps), ours is by
//! package, channel and bundle.
//!
//! Source: `pkg/cache/cache.go` and `pkg/cache/pkgs.go` of operator-registry.

use std::fmt::Write as _;

use super::csv;
use super::document::icon_text;
use super::index::{Index, IndexError, Row, Table, find, push_field};
use super::proto::{Channel, ChannelEntry, Deprecation, Package};

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// The catalog has nothing of this name; the message is `opm`'s.
    #[error("{0}")]
    NotFound(String),
    /// The index cannot be read any more.
    #[error(transparent)]
    Index(#[from] IndexError),
}

pub(crate) type Result<T, E = QueryError> = std::result::Result<T, E>;

/// An API as a client names it.
#[derive(Debug, Clone, Copy)]
pub struct Api<'a> {
    /// The API's group.
    pub group: &'a str,
    /// The API's version.
    pub version: &'a str,
    /// The API's kind.
    pub kind: &'a str,
}

/// Which fields a bundle is sent with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// All, except for the edges of the upgrade graph.
    Whole,
    /// With the edges; without the CSV and the objects, if the bundle has an image.
    Listed,
}

/// The columns of the tables (`docs/internals/index-format.md`).
pub(crate) mod column {
    pub(crate) mod package {
        pub(crate) const NAME: usize = 0;
        pub(crate) const DEFAULT: usize = 2;
        pub(crate) const DEPRECATION: usize = 4;
        pub(crate) const DESCRIPTION: usize = 6;
        pub(crate) const ICON: usize = 7;
        pub(crate) const MEDIA_TYPE: usize = 8;
        pub(crate) const CHANNELS: usize = 10;
    }
    pub(crate) mod channel {
        pub(crate) const NAME: usize = 0;
        pub(crate) const PACKAGE: usize = 2;
        pub(crate) const HEAD: usize = 3;
        pub(crate) const DEPRECATION: usize = 4;
        pub(crate) const ENTRIES: usize = 6;
    }
    pub(crate) mod entry {
        pub(crate) const BUNDLE: usize = 0;
        pub(crate) const CHANNEL: usize = 1;
        pub(crate) const REPLACES: usize = 2;
        pub(crate) const SKIP_RANGE: usize = 4;
        pub(crate) const SKIPS: usize = 6;
    }
    pub(crate) mod bundle {
        pub(crate) const NAME: usize = 0;
        pub(crate) const PACKAGE: usize = 2;
        pub(crate) const VERSION: usize = 3;
        pub(crate) const DEPRECATION: usize = 5;
        pub(crate) const SMALL: usize = 7;
        pub(crate) const FIXED: usize = 8;
        pub(crate) const CSV_KIND: usize = 9;
        pub(crate) const CSV: usize = 10;
        pub(crate) const CSV_START: usize = 11;
        pub(crate) const CSV_LENGTH: usize = 12;
        pub(crate) const OBJECTS: usize = 13;
        pub(crate) const APIS: usize = 14;
        pub(crate) const HAS_IMAGE: usize = 16;
    }
    pub(crate) mod custom {
        pub(crate) const SCHEMA: usize = 0;
        pub(crate) const PACKAGE: usize = 2;
        pub(crate) const MESSAGE: usize = 4;
    }
}

use column::{bundle, channel, custom, entry, package};

/// A catalog that answers queries.
#[derive(Debug)]
pub struct Catalog {
    pub(crate) index: Index,
}

impl Catalog {
    /// Returns the catalog of an index.
    #[must_use]
    pub fn new(index: Index) -> Self {
        Self { index }
    }

    pub(crate) fn row(&self, table: Table, number: u32) -> Result<Row<'_>> {
        Ok(self.index.tables().row(table, number)?)
    }

    pub(crate) fn string(&self, row: Row<'_>, column: usize) -> Result<&str> {
        Ok(self.index.tables().string(row, column)?)
    }

    pub(crate) fn deprecation(&self, row: Row<'_>, column: usize) -> Result<Option<Deprecation>> {
        let message = self.index.tables().optional_string(row, column)?;
        Ok(message.map(|message| Deprecation { message: message.to_owned() }))
    }

    /// Returns how many packages, channels and entries of channels the catalog has.
    #[must_use]
    pub fn counts(&self) -> [u32; 3] {
        [Table::Packages, Table::Channels, Table::Entries].map(|table| self.index.tables().count(table))
    }

    /// Returns the names of the packages.
    pub fn packages(&self) -> impl Iterator<Item = Result<&str>> + use<'_> {
        (0..self.index.tables().count(Table::Packages))
            .map(|number| self.string(self.row(Table::Packages, number)?, package::NAME))
    }

    pub(crate) fn find_package(&self, name: &str) -> Result<Option<Row<'_>>> {
        let tables = self.index.tables();
        let name_of = |number| tables.string(tables.row(Table::Packages, number)?, package::NAME);
        let found = find((0, tables.count(Table::Packages)), name, name_of)?;
        found.map(|number| self.row(Table::Packages, number)).transpose()
    }

    pub(crate) fn find_channel(&self, package: Row<'_>, name: &str) -> Result<Option<Row<'_>>> {
        let tables = self.index.tables();
        let name_of = |number| tables.string(tables.row(Table::Channels, number)?, channel::NAME);
        let range = (package.word(package::CHANNELS), package.word(package::CHANNELS + 1));
        let found = find(range, name, name_of)?;
        found.map(|number| self.row(Table::Channels, number)).transpose()
    }

    /// The entries of a channel, sorted by bundle.
    pub(crate) fn entries(channel: Row<'_>) -> std::ops::Range<u32> {
        let first = channel.word(channel::ENTRIES);
        first..first.saturating_add(channel.word(channel::ENTRIES + 1))
    }

    pub(crate) fn entry_name(&self, entry: u32) -> Result<&str> {
        let bundle = self.row(Table::Entries, entry)?.word(entry::BUNDLE);
        self.string(self.row(Table::Bundles, bundle)?, bundle::NAME)
    }

    pub(crate) fn skips(&self, entry: Row<'_>) -> impl Iterator<Item = Result<&str>> + use<'_> {
        let first = entry.word(entry::SKIPS);
        (first..first.saturating_add(entry.word(entry::SKIPS + 1)))
            .map(|number| self.string(self.row(Table::Skips, number)?, 0))
    }

    fn channel_of(&self, package: &str, channel: &str) -> Result<Row<'_>> {
        let Some(row) = self.find_package(package)? else {
            return Err(QueryError::NotFound(format!("package {} not found", quoted(package))));
        };
        match self.find_channel(row, channel)? {
            Some(row) => Ok(row),
            None => Err(QueryError::NotFound(format!(
                "package {}, channel {} not found",
                quoted(package),
                quoted(channel)
            ))),
        }
    }

    /// Returns a package with its channels.
    ///
    /// # Errors
    /// There is no such package.
    pub fn package(&self, name: &str) -> Result<Package> {
        let Some(row) = self.find_package(name)? else {
            return Err(QueryError::NotFound(format!("package {} not found", quoted(name))));
        };
        let first = row.word(package::CHANNELS);
        let channel = |number: u32| {
            let row = self.row(Table::Channels, number)?;
            Ok(Channel {
                name: self.string(row, channel::NAME)?.to_owned(),
                csv_name: self.entry_name(row.word(channel::HEAD))?.to_owned(),
                deprecation: self.deprecation(row, channel::DEPRECATION)?,
            })
        };
        let channels = first..first.saturating_add(row.word(package::CHANNELS + 1));
        Ok(Package {
            name: self.string(row, package::NAME)?.to_owned(),
            channels: channels.map(channel).collect::<Result<_>>()?,
            default_channel_name: self.string(row, package::DEFAULT)?.to_owned(),
            deprecation: self.deprecation(row, package::DEPRECATION)?,
        })
    }

    /// Returns a bundle in a channel as an encoded message.
    ///
    /// # Errors
    /// There is no such package, channel, or bundle in it.
    pub fn bundle(&self, package: &str, channel: &str, name: &str) -> Result<Vec<u8>> {
        let row = self.channel_of(package, channel)?;
        let tables = self.index.tables();
        let Some(entry) =
            find((row.word(channel::ENTRIES), row.word(channel::ENTRIES + 1)), name, |number| {
                let bundle = tables.row(Table::Entries, number)?.word(entry::BUNDLE);
                tables.string(tables.row(Table::Bundles, bundle)?, bundle::NAME)
            })?
        else {
            return Err(QueryError::NotFound(format!(
                "package {}, channel {}, bundle {} not found",
                quoted(package),
                quoted(channel),
                quoted(name)
            )));
        };
        self.message(entry, Form::Whole)
    }

    /// Returns the bundle at the head of a channel as an encoded message.
    ///
    /// # Errors
    /// There is no such package or channel.
    pub(crate) fn channel_head(&self, package: &str, channel: &str) -> Result<Vec<u8>> {
        self.message(self.channel_of(package, channel)?.word(channel::HEAD), Form::Whole)
    }

    /// Returns the first bundle of a channel that replaces or skips another one, as an encoded message.
    ///
    /// # Errors
    /// There is no such package or channel, or nothing in it replaces the bundle.
    pub(crate) fn bundle_that_replaces(&self, name: &str, package: &str, channel: &str) -> Result<Vec<u8>> {
        // Of a package, opm's message lacks the quotes here.
        if self.find_package(package)?.is_none() {
            return Err(QueryError::NotFound(format!("package {package} not found")));
        }
        for number in Self::entries(self.channel_of(package, channel)?) {
            let row = self.row(Table::Entries, number)?;
            let replaces = self.string(row, entry::REPLACES)? == name;
            if replaces || self.any_skip(row, name)? {
                return self.message(number, Form::Whole);
            }
        }
        let message = format!("no entry found for package {}, channel {}", quoted(package), quoted(channel));
        Err(QueryError::NotFound(message))
    }

    fn any_skip(&self, entry: Row<'_>, name: &str) -> Result<bool> {
        for skip in self.skips(entry) {
            if skip? == name {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the entry of a channel as an edge that replaces `replaces`.
    fn edge(&self, entry: Row<'_>, replaces: &str) -> Result<ChannelEntry> {
        let channel = self.row(Table::Channels, entry.word(entry::CHANNEL))?;
        let package = self.row(Table::Packages, channel.word(channel::PACKAGE))?;
        let bundle = self.row(Table::Bundles, entry.word(entry::BUNDLE))?;
        Ok(ChannelEntry {
            package_name: self.string(package, package::NAME)?.to_owned(),
            channel_name: self.string(channel, channel::NAME)?.to_owned(),
            bundle_name: self.string(bundle, bundle::NAME)?.to_owned(),
            replaces: replaces.to_owned(),
        })
    }

    /// Returns the entries of all channels that replace or skip a bundle.
    ///
    /// # Errors
    /// There are none.
    pub(crate) fn entries_that_replace(&self, name: &str) -> Result<Vec<ChannelEntry>> {
        let mut found = Vec::new();
        for number in 0..self.index.tables().count(Table::Entries) {
            let row = self.row(Table::Entries, number)?;
            let replaces = self.string(row, entry::REPLACES)?;
            if replaces == name {
                found.push(self.edge(row, replaces)?);
                continue;
            }
            for skip in self.skips(row) {
                if skip? == name {
                    found.push(self.edge(row, replaces)?);
                }
            }
        }
        if found.is_empty() {
            Err(QueryError::NotFound(format!("no channel entries found that replace {name}")))
        } else {
            Ok(found)
        }
    }

    fn provides(&self, entry: u32, api: Api<'_>) -> Result<bool> {
        let bundle = self.row(Table::Bundles, self.row(Table::Entries, entry)?.word(entry::BUNDLE))?;
        let first = bundle.word(bundle::APIS);
        for number in first..first.saturating_add(bundle.word(bundle::APIS + 1)) {
            let row = self.row(Table::Apis, number)?;
            let is_same = self.string(row, 0)? == api.group
                && self.string(row, 2)? == api.version
                && self.string(row, 4)? == api.kind;
            if is_same {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Adds an entry once for what it replaces and once for each bundle that it skips; `all_skips` counts those that
    /// are not in the channel.
    fn push_edges(&self, number: u32, all_skips: bool, found: &mut Vec<ChannelEntry>) -> Result<()> {
        let row = self.row(Table::Entries, number)?;
        let replaces = self.string(row, entry::REPLACES)?;
        found.push(self.edge(row, replaces)?);
        let channel = self.row(Table::Channels, row.word(entry::CHANNEL))?;
        for skip in self.skips(row) {
            let skip = skip?;
            if skip != replaces && (all_skips || self.is_in_channel(channel, skip)?) {
                found.push(self.edge(row, skip)?);
            }
        }
        Ok(())
    }

    fn is_in_channel(&self, channel: Row<'_>, name: &str) -> Result<bool> {
        let tables = self.index.tables();
        let range = (channel.word(channel::ENTRIES), channel.word(channel::ENTRIES + 1));
        let found = find(range, name, |number| {
            let bundle = tables.row(Table::Entries, number)?.word(entry::BUNDLE);
            tables.string(tables.row(Table::Bundles, bundle)?, bundle::NAME)
        })?;
        Ok(found.is_some())
    }

    fn or_no_provider(found: Vec<ChannelEntry>, api: Api<'_>) -> Result<Vec<ChannelEntry>> {
        if found.is_empty() { Err(no_provider("channel entries found that provide", api)) } else { Ok(found) }
    }

    /// Returns the entries of all channels whose bundle provides an API.
    ///
    /// # Errors
    /// There are none.
    pub(crate) fn entries_that_provide(&self, api: Api<'_>) -> Result<Vec<ChannelEntry>> {
        let mut found = Vec::new();
        for number in 0..self.index.tables().count(Table::Entries) {
            if self.provides(number, api)? {
                self.push_edges(number, true, &mut found)?;
            }
        }
        Self::or_no_provider(found, api)
    }

    /// Returns the heads of all channels that provide an API.
    ///
    /// # Errors
    /// There are none.
    pub(crate) fn latest_entries_that_provide(&self, api: Api<'_>) -> Result<Vec<ChannelEntry>> {
        let mut found = Vec::new();
        for number in 0..self.index.tables().count(Table::Channels) {
            let head = self.row(Table::Channels, number)?.word(channel::HEAD);
            if self.provides(head, api)? {
                self.push_edges(head, false, &mut found)?;
            }
        }
        Self::or_no_provider(found, api)
    }

    /// Returns the head of the default channel of the first package that provides an API there, as an encoded message.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn default_bundle_that_provides(&self, api: Api<'_>) -> Result<Vec<u8>> {
        let mut is_provided = false;
        for number in 0..self.index.tables().count(Table::Channels) {
            let row = self.row(Table::Channels, number)?;
            let head = row.word(channel::HEAD);
            if !self.provides(head, api)? {
                continue;
            }
            is_provided = true;
            let package = self.row(Table::Packages, row.word(channel::PACKAGE))?;
            if self.string(package, package::DEFAULT)? == self.string(row, channel::NAME)? {
                return self.message(head, Form::Whole);
            }
        }
        let what =
            if is_provided { "entry found that provides" } else { "channel entries found that provide" };
        Err(no_provider(what, api))
    }

    /// Returns how many messages [`Catalog::listed_bundle`] has.
    #[must_use]
    pub(crate) fn listed_bundles(&self) -> u32 {
        self.index.tables().count(Table::Order)
    }

    /// Returns a bundle of the list of all bundles in all channels, sorted by channel, package and bundle.
    ///
    /// # Errors
    /// The index cannot be read any more.
    pub(crate) fn listed_bundle(&self, number: u32) -> Result<Vec<u8>> {
        self.message(self.row(Table::Order, number)?.word(0), Form::Listed)
    }

    /// Returns the documents of another schema that belong to a package, or to none, as `google.protobuf.Struct`.
    ///
    /// # Errors
    /// The index cannot be read any more.
    pub fn custom(&self, schema: &str, package: &str) -> Result<Vec<u32>> {
        let mut found = Vec::new();
        for number in 0..self.index.tables().count(Table::Custom) {
            let row = self.row(Table::Custom, number)?;
            if self.string(row, custom::SCHEMA)? == schema && self.string(row, custom::PACKAGE)? == package {
                found.push(row.word(custom::MESSAGE));
            }
        }
        Ok(found)
    }

    /// Reads one of the documents that [`Catalog::custom`] found.
    ///
    /// # Errors
    /// The index cannot be read any more.
    pub(crate) fn custom_message(&self, number: u32) -> Result<Vec<u8>> {
        Ok(self.index.blob(number)?)
    }

    /// Puts together the message of a bundle in a channel, with the fields in the order of their numbers.
    fn message(&self, entry: u32, form: Form) -> Result<Vec<u8>> {
        let entry = self.row(Table::Entries, entry)?;
        let channel = self.row(Table::Channels, entry.word(entry::CHANNEL))?;
        let bundle = self.row(Table::Bundles, entry.word(entry::BUNDLE))?;
        let package = self.row(Table::Packages, bundle.word(bundle::PACKAGE))?;
        let damaged = || IndexError::Damaged("bundle");
        let mut out = Vec::new();
        let text = |tag: u32, text: &str, out: &mut Vec<u8>| {
            if !text.is_empty() {
                push_field(tag, text.as_bytes(), out);
            }
        };
        text(1, self.string(bundle, bundle::NAME)?, &mut out);
        text(2, self.string(package, package::NAME)?, &mut out);
        text(3, self.string(channel, channel::NAME)?, &mut out);
        if form == Form::Whole || bundle.word(bundle::HAS_IMAGE) == 0 {
            self.push_csv(bundle, package, &mut out)?;
        }
        let small = self.index.blob(bundle.word(bundle::SMALL))?;
        let (fixed, rest) =
            small.split_at_checked(bundle.word(bundle::FIXED) as usize).ok_or_else(damaged)?;
        out.extend_from_slice(fixed);
        text(10, self.string(entry, entry::SKIP_RANGE)?, &mut out);
        out.extend_from_slice(rest);
        if form == Form::Listed {
            text(13, self.string(entry, entry::REPLACES)?, &mut out);
            for skip in self.skips(entry) {
                push_field(14, skip?.as_bytes(), &mut out);
            }
        }
        if let Some(deprecation) = self.deprecation(bundle, bundle::DEPRECATION)? {
            push_field(15, &prost::Message::encode_to_vec(&deprecation), &mut out);
        }
        Ok(out)
    }

    /// Appends the CSV and the objects of a bundle.
    fn push_csv(&self, bundle: Row<'_>, package: Row<'_>, out: &mut Vec<u8>) -> Result<()> {
        let objects = match bundle.word(bundle::OBJECTS) {
            u32::MAX => None,
            blob => Some(self.index.blob(blob)?),
        };
        let (start, length) =
            (bundle.word(bundle::CSV_START) as usize, bundle.word(bundle::CSV_LENGTH) as usize);
        let damaged = || IndexError::Damaged("CSV");
        match bundle.word(bundle::CSV_KIND) {
            0 => {}
            1 => {
                let objects = objects.as_deref().unwrap_or_default();
                let end = start.checked_add(length).ok_or_else(damaged)?;
                push_field(4, objects.get(start..end).ok_or_else(damaged)?, out);
            }
            kind => {
                let blob = self.index.blob(bundle.word(bundle::CSV))?;
                let text = std::str::from_utf8(&blob).map_err(|_| damaged())?;
                let (before, rest) = text.split_at_checked(start).ok_or_else(damaged)?;
                let (between, after) = rest.split_at_checked(length).ok_or_else(damaged)?;
                let mut csv = String::with_capacity(text.len() + 1024);
                csv.push_str(before);
                if kind == 3 {
                    csv::push_description(&self.description(package)?, &mut csv);
                }
                csv.push_str(between);
                if let Some((data, media_type)) = self.icon(package)? {
                    csv::push_icon(&icon_text(&data), media_type, &mut csv);
                }
                csv.push_str(after);
                out.reserve(csv.len() * 2 + 20);
                push_field(4, csv.as_bytes(), out);
                if objects.is_none() {
                    push_field(5, csv.as_bytes(), out);
                }
            }
        }
        out.extend_from_slice(objects.as_deref().unwrap_or_default());
        Ok(())
    }

    pub(crate) fn description(&self, package: Row<'_>) -> Result<String> {
        match package.word(package::DESCRIPTION) {
            u32::MAX => Ok(String::new()),
            blob => String::from_utf8(self.index.blob(blob)?)
                .map_err(|_| IndexError::Damaged("description").into()),
        }
    }

    pub(crate) fn icon(&self, package: Row<'_>) -> Result<Option<(Vec<u8>, &str)>> {
        match package.word(package::ICON) {
            u32::MAX => Ok(None),
            blob => Ok(Some((self.index.blob(blob)?, self.string(package, package::MEDIA_TYPE)?))),
        }
    }
}

fn no_provider(what: &str, api: Api<'_>) -> QueryError {
    QueryError::NotFound(format!(
        "no {what} group:{} version:{} kind:{}",
        quoted(api.group),
        quoted(api.version),
        quoted(api.kind)
    ))
}

/// Returns a string as Go's `%q` writes it.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        // Writing to a string cannot fail.
        let _ = match character {
            '"' | '\\' => write!(out, "\\{character}"),
            '\u{7}' => write!(out, "\\a"),
            '\u{8}' => write!(out, "\\b"),
            '\u{c}' => write!(out, "\\f"),
            '\n' => write!(out, "\\n"),
            '\r' => write!(out, "\\r"),
            '\t' => write!(out, "\\t"),
            '\u{b}' => write!(out, "\\v"),
            '\0'..='\u{1f}' | '\u{7f}' => write!(out, "\\x{:02x}", u32::from(character)),
            _ if character.is_control() => write!(out, "\\u{:04x}", u32::from(character)),
            _ => write!(out, "{character}"),
        };
    }
    out.push('"');
    out
}
