//! What the pages show: packages with their descriptions, icons and channels, and the entries of a channel.

use prost::Message as _;

use super::index::{Row, Table};
use super::proto::{Bundle, Deprecation};
use super::query::column::{bundle, channel, entry, package};
use super::query::{Catalog, QueryError, Result, quoted};
use olm_catalog::browse::{Channel, Entry, Package};

impl Catalog {
    /// Returns how many bundles the catalog has.
    #[must_use]
    pub fn bundles(&self) -> u32 {
        self.index.tables().count(Table::Bundles)
    }

    fn message_of(&self, row: Row<'_>, column: usize) -> Result<Option<String>> {
        Ok(self.deprecation(row, column)?.map(|Deprecation { message }| message))
    }

    /// Returns a package as it is shown; nothing if there is none of this name.
    pub(crate) fn package_details(&self, name: &str) -> Result<Option<Package>> {
        let Some(row) = self.find_package(name)? else { return Ok(None) };
        let first = row.word(package::CHANNELS);
        let details = |number: u32| {
            let row = self.row(Table::Channels, number)?;
            Ok(Channel {
                name: self.string(row, channel::NAME)?.to_owned(),
                head: self.entry_name(row.word(channel::HEAD))?.to_owned(),
                entries: row.word(channel::ENTRIES + 1) as usize,
                deprecation: self.message_of(row, channel::DEPRECATION)?,
            })
        };
        let channels = first..first.saturating_add(row.word(package::CHANNELS + 1));
        Ok(Some(Package {
            name: name.to_owned(),
            default_channel: self.string(row, package::DEFAULT)?.to_owned(),
            description: self.description(row)?,
            has_icon: row.word(package::ICON) != u32::MAX,
            deprecation: self.message_of(row, package::DEPRECATION)?,
            channels: channels.map(details).collect::<Result<_>>()?,
        }))
    }

    /// Returns a package's icon with its media type; nothing if it has none.
    pub(crate) fn package_icon(&self, name: &str) -> Result<Option<(Vec<u8>, &str)>> {
        match self.find_package(name)? {
            Some(row) => self.icon(row),
            None => Ok(None),
        }
    }

    /// Returns the entries of a channel, sorted by bundle; nothing if there is no such channel.
    pub(crate) fn channel_details(&self, package: &str, name: &str) -> Result<Option<Vec<Entry>>> {
        let Some(row) = self.find_package(package)? else { return Ok(None) };
        let Some(row) = self.find_channel(row, name)? else { return Ok(None) };
        let head = self.entry_name(row.word(channel::HEAD))?;
        let details = |number: u32| {
            let row = self.row(Table::Entries, number)?;
            let bundle = self.row(Table::Bundles, row.word(entry::BUNDLE))?;
            Ok(Entry {
                name: self.string(bundle, bundle::NAME)?.to_owned(),
                is_head: self.string(bundle, bundle::NAME)? == head,
                version: self.string(bundle, bundle::VERSION)?.to_owned(),
                replaces: self.string(row, entry::REPLACES)?.to_owned(),
                skips: self.skips(row).map(|skip| skip.map(str::to_owned)).collect::<Result<_>>()?,
                skip_range: self.string(row, entry::SKIP_RANGE)?.to_owned(),
                deprecation: self.message_of(bundle, bundle::DEPRECATION)?,
            })
        };
        Self::entries(row).map(details).collect::<Result<_>>().map(Some)
    }

    /// Returns the bundle at the head of a channel.
    pub(crate) fn head(&self, package: &str, channel: &str) -> Result<Bundle> {
        let message = self.channel_head(package, channel)?;
        Bundle::decode(message.as_slice())
            .map_err(|_| QueryError::NotFound(format!("package {} has a damaged bundle", quoted(package))))
    }
}
