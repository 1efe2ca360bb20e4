//! A catalog as catalogd serves it: one line of JSON for each blob, in the order of the files.
//!
//! Source: `internal/catalogd/storage` of operator-controller and `alpha/declcfg/declcfg.go` of operator-registry.

use bytes::Bytes;
use serde_json::Value as Json;

use crate::model::json::reencoded;
use crate::serve::fields::text;

/// A blob as a line, with what it is found by.
#[derive(Debug)]
pub(in crate::serve) struct Line {
    schema: String,
    package: String,
    name: String,
    text: Bytes,
}

impl Line {
    /// Returns the line of a blob.
    pub(in crate::serve) fn of(blob: &Json) -> Self {
        let mut line = reencoded(blob, false);
        line.push('\n');
        let owned = |field| text(blob, field).to_owned();
        Self { schema: owned("schema"), package: owned("package"), name: owned("name"), text: line.into() }
    }
}

/// Which blobs are requested; an empty string matches everything.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::serve) struct Filter {
    pub(in crate::serve) schema: String,
    pub(in crate::serve) package: String,
    pub(in crate::serve) name: String,
}

/// All lines of a catalog.
#[derive(Debug)]
pub(in crate::serve) struct Content {
    lines: Vec<Line>,
    size: u64,
}

impl Content {
    pub(in crate::serve) fn new(lines: Vec<Line>) -> Self {
        let size = lines.iter().map(|line| line.text.len() as u64).sum();
        Self { lines, size }
    }

    /// Returns the length of all lines together.
    pub(in crate::serve) fn size(&self) -> u64 {
        self.size
    }

    /// Returns the lines that match. The fields are compared as they are written: the blob `olm.package` has its name in
    /// `name`, so that a filter by package omits it.
    pub(in crate::serve) fn matching(&self, filter: &Filter) -> Vec<Bytes> {
        let is = |wanted: &str, value: &str| wanted.is_empty() || wanted == value;
        let matches = |line: &&Line| {
            is(&filter.schema, &line.schema)
                && is(&filter.package, &line.package)
                && is(&filter.name, &line.name)
        };
        self.lines.iter().filter(matches).map(|line| line.text.clone()).collect()
    }

    /// Returns `length` bytes from `start`.
    pub(in crate::serve) fn range(&self, start: u64, length: u64) -> Vec<Bytes> {
        let end = start.saturating_add(length).min(self.size);
        let mut at = 0;
        let mut found = Vec::new();
        for line in &self.lines {
            let line_end = at + line.text.len() as u64;
            let (from, to) = (start.max(at), end.min(line_end));
            if from < to {
                // Both are within the line.
                let within = |position: u64| usize::try_from(position - at).unwrap_or(line.text.len());
                found.push(line.text.slice(within(from)..within(to)));
            }
            at = line_end;
            if at >= end {
                break;
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lines_are_found_by_their_fields_and_by_position() {
        let blobs = [
            json!({"schema": "olm.package", "name": "a", "b": "<", "a": 1}),
            json!({"Schema": "olm.bundle", "package": "a", "name": "a.v1"}),
            json!({"schema": "olm.bundle", "package": "b", "name": "b.v1"}),
        ];
        let content = Content::new(blobs.iter().map(Line::of).collect());
        let found = |schema: &str, package: &str, name: &str| {
            let filter = Filter { schema: schema.into(), package: package.into(), name: name.into() };
            String::from_utf8(content.matching(&filter).concat()).unwrap()
        };
        assert_eq!(
            found("olm.package", "", ""),
            "{\"a\":1,\"b\":\"<\",\"name\":\"a\",\"schema\":\"olm.package\"}\n"
        );
        assert_eq!(found("", "a", ""), "{\"Schema\":\"olm.bundle\",\"name\":\"a.v1\",\"package\":\"a\"}\n");
        assert_eq!(found("olm.bundle", "b", "a.v1"), "");
        let all = content.matching(&Filter::default()).concat();
        assert_eq!(content.size(), all.len() as u64);
        for start in 0..all.len() {
            for length in 0..=all.len() - start {
                let range = content.range(start as u64, length as u64).concat();
                assert_eq!(range, all[start..start + length], "{start} {length}");
            }
        }
    }
}
