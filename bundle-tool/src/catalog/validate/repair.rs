//! The fixes of problems: what to change in the document that a problem is in.

use crate::report::fix::{Change, Fix, Place, PlaceStep, Safety};

/// Returns the fix that sets the string at a path such as `entries[0].name`.
pub(super) fn set(safety: Safety, path: &str, value: &str) -> Fix {
    let name = path.rsplit('.').next().unwrap_or_default();
    fix(safety, path, format!("set `{name}: {value}`"), Change::SetString(value.to_owned()))
}

/// Returns the fix that adds a string to the map at a path, which is empty for the document's root.
pub(super) fn insert(safety: Safety, path: &str, key: &str, value: &str) -> Fix {
    fix(safety, path, format!("set `{key}: {value}`"), Change::Insert(key.to_owned(), value.to_owned()))
}

/// Returns the fix that removes the entry or the item at a path, or the document where the path is empty; `what` names it.
pub(super) fn remove(safety: Safety, path: &str, what: &str) -> Fix {
    fix(safety, path, format!("remove {what}"), Change::Remove)
}

/// Returns the fix that replaces the objects of a bundle with the metadata of its CSV.
pub(super) fn migrate() -> Fix {
    let title = "replace `olm.bundle.object` with `olm.csv.metadata`".to_owned();
    fix(Safety::Safe, "properties", title, Change::ObjectsToMetadata)
}

fn fix(safety: Safety, path: &str, title: String, change: Change) -> Fix {
    Fix { safety, title, place: Place::Path(steps(path)), change }
}

/// Returns the steps of a path of known fields and indices.
fn steps(path: &str) -> Vec<PlaceStep> {
    let parts = path.split(['.', '[', ']']).filter(|part| !part.is_empty());
    let step = |part: &str| match part.parse() {
        Ok(index) => PlaceStep::Index(index),
        Err(_) => PlaceStep::Key(part.to_owned()),
    };
    parts.map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_fields_and_items() {
        let key = |name: &str| PlaceStep::Key(name.to_owned());
        assert_eq!(
            steps("entries[12].skips[0]"),
            [key("entries"), PlaceStep::Index(12), key("skips"), PlaceStep::Index(0)]
        );
        assert_eq!(steps("icon.mediatype"), [key("icon"), key("mediatype")]);
        assert_eq!(steps(""), []);
        assert_eq!(set(Safety::Safe, "entries[1].reference.name", "a").title, "set `name: a`");
    }
}
