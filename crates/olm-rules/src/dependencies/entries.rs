//! The entries of `dependencies.yaml` and `properties.yaml`, which differ only in the name of their list.

use crate::prelude::*;
use kube_yaml::{Kind, Value};
use olm_model::{Bundle, File};

/// One dependency or property: a type, and a value whose fields depend on the type.
pub(crate) struct Entry<'b> {
    /// The file that contains it.
    pub(crate) file: &'b File,
    /// The whole document.
    root: Value<'b>,
    /// The list that contains it.
    list: &'static str,
    /// Its index in the list.
    index: usize,
    /// `type` as opm decodes it: numbers and booleans become strings.
    pub(crate) kind: &'b str,
    /// `value`
    pub(crate) value: Option<Value<'b>>,
}

impl Entry<'_> {
    /// Calls `report` with the path and position of the field `field` of this entry.
    pub(crate) fn at(&self, field: &str, report: impl FnOnce(&str, kube_yaml::Position)) {
        let root = Path::ROOT;
        let list = root.field(self.list);
        let entry = list.index(self.index);
        let path = if field.is_empty() { entry } else { entry.field(field) };
        report(&path.to_string(), self.root.locate(&path));
    }

    /// Returns a string of the value; empty if it is missing or not a string.
    pub(crate) fn string(&self, key: &str) -> &str {
        self.value.and_then(|value| get(value, key)?.as_str()).unwrap_or_default()
    }
}

/// Returns a field of a dependency, whose name is case-insensitive.
pub(crate) fn get<'a>(value: Value<'a>, key: &str) -> Option<Value<'a>> {
    value.entries().rev().find(|(name, _)| name.text().eq_ignore_ascii_case(key)).map(|(_, value)| value)
}

/// Returns the bundle's dependencies.
pub(crate) fn dependencies(bundle: &Bundle) -> Vec<Entry<'_>> {
    read(bundle, "dependencies")
}

/// Returns the bundle's properties.
pub(crate) fn properties(bundle: &Bundle) -> Vec<Entry<'_>> {
    read(bundle, "properties")
}

fn read<'b>(bundle: &'b Bundle, list: &'static str) -> Vec<Entry<'b>> {
    let Some((file, items)) = bundle.metadata_list(list) else { return Vec::new() };
    // One entry that cannot be decoded makes opm ignore the whole file, which dependencies-unread reports.
    let decodes = |item: Value<'_>| match item.kind() {
        Kind::Null => true,
        Kind::Object => {
            !get(item, "type").is_some_and(|kind| matches!(kind.kind(), Kind::Array | Kind::Object))
        }
        _ => false,
    };
    if !items.items().all(decodes) {
        return Vec::new();
    }
    let Some(root) = file.document().map(kube_yaml::Tree::root) else { return Vec::new() };
    let entry = |(index, item): (usize, Value<'b>)| Entry {
        file,
        root,
        list,
        index,
        kind: get(item, "type").filter(|kind| !kind.is_null()).map(Value::text).unwrap_or_default(),
        value: get(item, "value"),
    };
    items.items().enumerate().map(entry).collect()
}
