//! The tables of an index: rows of fixed length, looked up in place.

use std::cmp::Ordering;

use super::error::IndexError;

/// The maximum size of one blob in bytes: that of a document of a catalog, with room for another encoding.
pub(crate) const MAX_BLOB: u32 = 256 << 20;

/// The tables, in the order of their directory. `docs/internals/index-format.md` lists the columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Table {
    Strings,
    Packages,
    Channels,
    Entries,
    Skips,
    Bundles,
    Apis,
    Order,
    Custom,
    Blobs,
}

impl Table {
    pub(crate) const COUNT: usize = 10;

    /// How many words a row has; the strings are bytes.
    pub(crate) const fn width(self) -> usize {
        match self {
            Self::Strings => 0,
            Self::Packages => 12,
            Self::Channels | Self::Entries => 8,
            Self::Skips => 2,
            Self::Bundles => 17,
            Self::Apis => 6,
            Self::Order => 1,
            Self::Custom => 5,
            Self::Blobs => 4,
        }
    }

    pub(crate) const ALL: [Self; Self::COUNT] = [
        Self::Strings,
        Self::Packages,
        Self::Channels,
        Self::Entries,
        Self::Skips,
        Self::Bundles,
        Self::Apis,
        Self::Order,
        Self::Custom,
        Self::Blobs,
    ];
}

/// The number that stands for nothing.
pub(crate) const NONE: u32 = u32::MAX;

/// The tables, in memory as they are in the file.
#[derive(Debug)]
pub(crate) struct Tables {
    bytes: Vec<u8>,
    /// Where each table begins and ends.
    ranges: [(usize, usize); Table::COUNT],
}

/// One row of a table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row<'t> {
    bytes: &'t [u8],
}

impl Row<'_> {
    /// Returns the word in a column, which the table has.
    pub(crate) fn word(self, column: usize) -> u32 {
        let at = column * 4;
        match self.bytes.get(at..at + 4) {
            Some(&[a, b, c, d]) => u32::from_le_bytes([a, b, c, d]),
            _ => NONE,
        }
    }
}

impl Tables {
    pub(crate) fn new(bytes: Vec<u8>) -> Result<Self, IndexError> {
        let damaged = || IndexError::Damaged("tables");
        let mut ranges = [(0, 0); Table::COUNT];
        let directory = Row { bytes: bytes.get(..Table::COUNT * 8).ok_or_else(damaged)? };
        for (number, table) in Table::ALL.into_iter().enumerate() {
            let word = |column| usize::try_from(directory.word(column)).map_err(|_| damaged());
            let (start, length) = (word(number * 2)?, word(number * 2 + 1)?);
            let end = start.checked_add(length).filter(|end| *end <= bytes.len()).ok_or_else(damaged)?;
            if table != Table::Strings && length % (table.width() * 4) != 0 {
                return Err(damaged());
            }
            ranges[number] = (start, end);
        }
        Ok(Self { bytes, ranges })
    }

    fn table(&self, table: Table) -> &[u8] {
        let (start, end) = self.ranges[table as usize];
        self.bytes.get(start..end).unwrap_or_default()
    }

    /// Returns how many rows a table has.
    pub(crate) fn count(&self, table: Table) -> u32 {
        u32::try_from(self.table(table).len() / (table.width().max(1) * 4)).unwrap_or(NONE)
    }

    /// Returns a row.
    pub(crate) fn row(&self, table: Table, number: u32) -> Result<Row<'_>, IndexError> {
        let width = table.width() * 4;
        let start = usize::try_from(number).ok().and_then(|number| number.checked_mul(width));
        let bytes = start.and_then(|start| self.table(table).get(start..start.checked_add(width)?));
        bytes.map(|bytes| Row { bytes }).ok_or(IndexError::Damaged("row"))
    }

    /// Returns the string that two columns name.
    pub(crate) fn string(&self, row: Row<'_>, column: usize) -> Result<&str, IndexError> {
        self.optional_string(row, column)?.ok_or(IndexError::Damaged("string"))
    }

    /// Returns the string that two columns name, unless they stand for nothing.
    pub(crate) fn optional_string(&self, row: Row<'_>, column: usize) -> Result<Option<&str>, IndexError> {
        if row.word(column) == NONE {
            return Ok(None);
        }
        let damaged = IndexError::Damaged("string");
        let start = row.word(column) as usize;
        let bytes = start
            .checked_add(row.word(column + 1) as usize)
            .and_then(|end| self.table(Table::Strings).get(start..end));
        match bytes.map(std::str::from_utf8) {
            Some(Ok(text)) => Ok(Some(text)),
            _ => Err(damaged),
        }
    }
}

/// Finds the row of a sorted range of a table by its name.
pub(crate) fn find<'t>(
    (first, count): (u32, u32),
    name: &str,
    name_of: impl Fn(u32) -> Result<&'t str, IndexError>,
) -> Result<Option<u32>, IndexError> {
    let (mut low, mut high) = (first, first.checked_add(count).ok_or(IndexError::Damaged("range"))?);
    while low < high {
        let middle = low + (high - low) / 2;
        match name_of(middle)?.cmp(name) {
            Ordering::Equal => return Ok(Some(middle)),
            Ordering::Less => low = middle + 1,
            Ordering::Greater => high = middle,
        }
    }
    Ok(None)
}
