//! Lists of the CSV whose entries need two fields.

use crate::prelude::*;
use kube_yaml::Value;

/// Reports a list below `spec` that is empty, and its entries that lack one of two fields.
pub(crate) fn check(csv: &Csv<'_>, list: &str, fields: [&str; 2], reporter: &mut Reporter<'_>) {
    let root = Path::ROOT;
    let spec = root.field("spec");
    let path = spec.field(list);
    let entries = csv.dig(&["spec", list]).filter(|entries| !entries.is_empty());
    let Some(entries) = entries else {
        return reporter.field(&csv.object, &path, format!("spec.{list} is empty"));
    };
    for (index, entry) in entries.items().enumerate() {
        for field in fields {
            if entry.get(field).is_none_or(Value::is_null) {
                reporter.field(&csv.object, &path.index(index), format!("missing required field `{field}`"));
            }
        }
    }
}
