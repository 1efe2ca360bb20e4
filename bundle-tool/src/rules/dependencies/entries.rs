//! The entries of `dependencies.yaml` and `properties.yaml`, which differ in the name of their list alone.

use crate::model::yaml::{Kind, Path, Value};
use crate::model::{Bundle, File};

/// One dependency or property: a type and a value whose form the type decides.
pub(super) struct Entry<'b> {
    /// The file that it stands in.
    pub(super) file: &'b File,
    /// The whole document.
    root: Value<'b>,
    /// The list that it stands in.
    list: &'static str,
    /// Its place in the list.
    index: usize,
    /// `type`, as readers take it: numbers and booleans become text.
    pub(super) kind: &'b str,
    /// `value`
    pub(super) value: Option<Value<'b>>,
}

impl Entry<'_> {
    /// Calls `report` with the path and place of the field `field` of this entry.
    pub(super) fn at(&self, field: &str, report: impl FnOnce(&str, crate::model::yaml::Position)) {
        let root = Path::ROOT;
        let list = root.field(self.list);
        let entry = list.index(self.index);
        let path = if field.is_empty() { entry } else { entry.field(field) };
        report(&path.to_string(), self.root.locate(&path));
    }

    /// A text in the value; nothing where it is missing or no text.
    pub(super) fn text(&self, key: &str) -> &str {
        self.value.and_then(|value| get(value, key)?.as_str()).unwrap_or_default()
    }
}

/// A field of a dependency, whose readers do not care for upper and lower case.
pub(super) fn get<'a>(value: Value<'a>, key: &str) -> Option<Value<'a>> {
    value.entries().rev().find(|(name, _)| name.text().eq_ignore_ascii_case(key)).map(|(_, value)| value)
}

/// The bundle's dependencies.
pub(super) fn dependencies(bundle: &Bundle) -> Vec<Entry<'_>> {
    read(bundle, "dependencies")
}

/// The bundle's properties.
pub(super) fn properties(bundle: &Bundle) -> Vec<Entry<'_>> {
    read(bundle, "properties")
}

fn read<'b>(bundle: &'b Bundle, list: &'static str) -> Vec<Entry<'b>> {
    let Some((file, items)) = bundle.metadata_list(list) else { return Vec::new() };
    // With one entry that cannot be decoded, the file as a whole does not count; dependencies-unread says so.
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
    let Some(root) = file.document().map(crate::model::yaml::Tree::root) else { return Vec::new() };
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
