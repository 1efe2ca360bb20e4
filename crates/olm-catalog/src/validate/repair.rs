//! The fixes of findings: what to change in the document that a finding is in.

use kube_yaml::edit::{Location, PathStep};
use kube_yaml::text::shortened;
use olm_model::report::Finding;
use olm_model::report::fix::{Change, Fix, Safety};

/// The maximum number of characters of an instruction: it quotes names from the catalog.
const MAX_HELP: usize = 500;

/// Returns a finding with an instruction of its own and with a fix. Without an instruction, the title of the fix is one.
pub(crate) fn with(mut finding: Finding, proposal: Option<String>, fix: Option<Fix>) -> Finding {
    let help = proposal.or_else(|| fix.as_ref().map(|fix| fix.title.clone()));
    if let Some(help) = help {
        finding.help = shortened(&help, MAX_HELP).into_owned().into();
    }
    finding.fix = fix.map(Box::new);
    finding
}

/// Returns the fix that sets the string at a path such as `entries[0].name`.
pub(crate) fn set(safety: Safety, path: &str, value: &str) -> Fix {
    let name = path.rsplit('.').next().unwrap_or_default();
    fix(safety, path, format!("set `{name}: {value}`"), Change::SetString(value.to_owned()))
}

/// Returns the fix that adds a string to the map at a path, which is empty for the document's root.
pub(crate) fn insert(safety: Safety, path: &str, key: &str, value: &str) -> Fix {
    fix(safety, path, format!("set `{key}: {value}`"), Change::Insert(key.to_owned(), value.to_owned()))
}

/// Returns the fix that removes the entry or the item at a path, or the document where the path is empty; `what` names it.
pub(crate) fn remove(safety: Safety, path: &str, what: &str) -> Fix {
    fix(safety, path, format!("remove {what}"), Change::Remove)
}

/// Returns the fix that replaces the objects of a bundle with the metadata of its CSV.
pub(crate) fn migrate() -> Fix {
    let title = "replace `olm.bundle.object` with `olm.csv.metadata`".to_owned();
    fix(Safety::Safe, "properties", title, Change::ObjectsToMetadata)
}

fn fix(safety: Safety, path: &str, title: String, change: Change) -> Fix {
    Fix { safety, title, file: None, place: Location::Path(steps(path)), change }
}

/// Returns the steps of a path of known fields and indices.
fn steps(path: &str) -> Vec<PathStep> {
    let parts = path.split(['.', '[', ']']).filter(|part| !part.is_empty());
    let step = |part: &str| match part.parse() {
        Ok(index) => PathStep::Index(index),
        Err(_) => PathStep::Key(part.to_owned()),
    };
    parts.map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_fields_and_items() {
        let key = |name: &str| PathStep::Key(name.to_owned());
        assert_eq!(
            steps("entries[12].skips[0]"),
            [key("entries"), PathStep::Index(12), key("skips"), PathStep::Index(0)]
        );
        assert_eq!(steps("icon.mediatype"), [key("icon"), key("mediatype")]);
        assert_eq!(steps(""), []);
        assert_eq!(set(Safety::Safe, "entries[1].reference.name", "a").title, "set `name: a`");
    }
}
