//! A catalog as catalogd serves it: one line of JSON for each blob, in the order of the files.
//!
//! Source: `internal/catalogd/storage` of operator-controller and `alpha/declcfg/declcfg.go` of operator-registry.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value as Json;

use crate::fields::string;
use kube_yaml::go_json::reencoded;

/// A blob as a line, with what it is found by.
#[derive(Debug)]
pub(crate) struct Line {
    schema: String,
    package: String,
    name: String,
    text: Bytes,
}

impl Line {
    /// Returns the line of a blob.
    pub(crate) fn new(blob: &Json) -> Self {
        let mut line = reencoded(blob, false);
        line.push('\n');
        let owned = |field| string(blob, field).to_owned();
        Self { schema: owned("schema"), package: owned("package"), name: owned("name"), text: line.into() }
    }
}

/// Which blobs are requested; an empty string matches everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    pub(crate) schema: String,
    pub(crate) package: String,
    pub(crate) name: String,
}

/// All lines of a catalog.
#[derive(Debug)]
pub(crate) struct Content {
    lines: Arc<[Line]>,
    size: u64,
}

impl Content {
    pub(crate) fn new(lines: Vec<Line>) -> Self {
        let size = lines.iter().map(|line| line.text.len() as u64).sum();
        Self { lines: lines.into(), size }
    }

    /// Returns the length of all lines together.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Returns the lines that match, one after the other: a response takes no memory for those that a client has not read. The fields
    /// are compared as they are written: the blob `olm.package` has its name in `name`, so that a filter by package omits it.
    pub(crate) fn matching(&self, filter: Filter) -> impl Iterator<Item = Bytes> + Send + use<> {
        let lines = Arc::clone(&self.lines);
        let is = |wanted: &str, value: &str| wanted.is_empty() || wanted == value;
        (0..lines.len()).filter_map(move |index| {
            let line = &lines[index];
            let is_match = is(&filter.schema, &line.schema)
                && is(&filter.package, &line.package)
                && is(&filter.name, &line.name);
            is_match.then(|| line.text.clone())
        })
    }

    /// Returns `length` bytes from `start`, as [`Self::matching`] does.
    pub(crate) fn range(&self, start: u64, length: u64) -> impl Iterator<Item = Bytes> + Send + use<> {
        let lines = Arc::clone(&self.lines);
        let end = start.saturating_add(length).min(self.size);
        let mut line_end = 0;
        let parts = (0..lines.len()).map_while(move |index| {
            let (line, at) = (&lines[index].text, line_end);
            line_end += line.len() as u64;
            // Both are within the line.
            let within = |position: u64| usize::try_from(position - at).unwrap_or(line.len());
            let (from, to) = (start.max(at), end.min(line_end));
            (at < end).then(|| (from < to).then(|| line.slice(within(from)..within(to))))
        });
        parts.flatten()
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
        let content = Content::new(blobs.iter().map(Line::new).collect());
        let found = |schema: &str, package: &str, name: &str| {
            let filter = Filter { schema: schema.into(), package: package.into(), name: name.into() };
            String::from_utf8(content.matching(filter).collect::<Vec<_>>().concat()).unwrap()
        };
        assert_eq!(
            found("olm.package", "", ""),
            "{\"a\":1,\"b\":\"<\",\"name\":\"a\",\"schema\":\"olm.package\"}\n"
        );
        assert_eq!(found("", "a", ""), "{\"Schema\":\"olm.bundle\",\"name\":\"a.v1\",\"package\":\"a\"}\n");
        assert_eq!(found("olm.bundle", "b", "a.v1"), "");
        let all = content.matching(Filter::default()).collect::<Vec<_>>().concat();
        assert_eq!(content.size(), all.len() as u64);
        for start in 0..all.len() {
            for length in 0..=all.len() - start {
                let range = content.range(start as u64, length as u64).collect::<Vec<_>>().concat();
                assert_eq!(range, all[start..start + length], "{start} {length}");
            }
        }
    }
}
