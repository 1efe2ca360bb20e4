//! The CSV that everything else is put into: a person's base from the input, or one with what must be there.

use serde_json::{Map, Value as Json, json};

use super::Document;
use super::error::Error;
use super::input::{self, Collected, Item};
use super::json::{entries, map_mut, text};
use super::ledger::{Fate, Ledger};

/// The name of the package: as asked for, or as the only CSV of the input is named.
///
/// # Errors
/// Nobody says it, several CSVs say different ones, or it cannot be the name of a package.
pub(super) fn package(
    asked: Option<&str>,
    collected: &Collected,
    kustomize: Option<&Document>,
) -> Result<String, Error> {
    let name = if let Some(name) = asked {
        name.to_owned()
    } else {
        let mut names: Vec<String> =
            collected.csvs.iter().map(|csv| package_of(csv.name()).to_owned()).collect();
        if names.is_empty() {
            let base = kustomize
                .and_then(|base| base.tree.root().dig(&["metadata", "name"]))
                .and_then(crate::model::yaml::Value::as_str);
            names.extend(base.map(|name| package_of(name).to_owned()));
        }
        names.sort();
        names.dedup();
        match names.len() {
            0 => return Err(Error::NoPackage),
            1 => names.swap_remove(0),
            _ => return Err(Error::Packages(names)),
        }
    };
    let letters = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    if name.is_empty() || !name.chars().all(letters) || name.starts_with(['.', '-']) {
        return Err(Error::PackageName(name));
    }
    Ok(name)
}

/// `memcached-operator` of `memcached-operator.v0.0.1`.
fn package_of(csv: &str) -> &str {
    csv.split_once(".v").map_or(csv, |(package, _)| package)
}

/// The base: the package's CSV of the input, or that of the kustomize folder, or a bare one.
///
/// # Errors
/// The kustomize folder's CSV does not fit its type, or the input holds two of the package.
pub(super) fn choose(
    package: &str,
    collected: &Collected,
    kustomize: Option<&Document>,
    ledger: &mut Ledger,
) -> Result<Item, Error> {
    let prefix = format!("{package}.");
    let outside = match kustomize {
        Some(document) if collected.csvs.is_empty() => Some(input::typed_csv(document, ledger)?),
        _ => None,
    };
    let mut chosen: Option<&Item> = None;
    for csv in collected.csvs.iter().chain(&outside) {
        if !csv.name().starts_with(&prefix) {
            ledger.fate(csv.source, Fate::LeftOut(format!("it is no CSV of the package {package}")));
            ledger.warn(
                csv.source,
                format!(
                    "the ClusterServiceVersion {:?} was not used: its name must begin with {prefix:?}",
                    csv.name()
                ),
            );
        } else if let Some(first) = chosen {
            return Err(Error::Duplicate {
                kind: "ClusterServiceVersion of the package",
                name: package.to_owned(),
                first: ledger.place(first.source),
                second: ledger.place(csv.source),
            });
        } else {
            ledger.fate(csv.source, Fate::Csv("(its base)".to_owned()));
            chosen = Some(csv);
        }
    }
    if let Some(csv) = chosen {
        return Ok(csv.clone());
    }
    ledger.inform(None, "there is no base ClusterServiceVersion: description, icon and links are made up");
    Ok(Item { source: usize::MAX, json: bare(package) })
}

/// What a CSV must say, made up from the package's name.
pub(super) fn bare(package: &str) -> Json {
    let display = display_name(package);
    json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {
            "annotations": {"alm-examples": "[]", "capabilities": "Basic Install"},
            "name": format!("{package}.v0.0.0"),
            "namespace": "placeholder",
        },
        "spec": {
            "apiservicedefinitions": {},
            "customresourcedefinitions": {},
            "description": format!("{display} description. TODO."),
            "displayName": display,
            "icon": [{"base64data": "", "mediatype": ""}],
            "install": {"strategy": "", "spec": {"deployments": []}},
            "installModes": [
                {"type": "OwnNamespace", "supported": false},
                {"type": "SingleNamespace", "supported": false},
                {"type": "MultiNamespace", "supported": false},
                {"type": "AllNamespaces", "supported": true},
            ],
            "keywords": [package],
            "links": [{"name": display, "url": format!("https://{package}.domain")}],
            "maintainers": [{"name": "Maintainer Name", "email": "your@email.com"}],
            "maturity": "alpha",
            "provider": {"name": "Provider Name", "url": "https://your.domain"},
            "version": "0.0.0",
        },
    })
}

/// `Memcached Operator` of `memcached-operator`, `Flight Ticket` of `FlightTicket`.
pub(super) fn display_name(name: &str) -> String {
    let words = name.split(['.', '-', '_', ' ']).map(str::trim).filter(|word| !word.is_empty());
    let mut out = String::new();
    for word in words {
        if !out.is_empty() {
            out.push(' ');
        }
        let mut previous: Option<char> = None;
        for c in word.chars() {
            if c.is_uppercase() && previous.is_some_and(|previous| !previous.is_uppercase()) {
                out.push(' ');
            }
            match previous {
                None => out.extend(c.to_uppercase()),
                Some(_) => out.push(c),
            }
            previous = Some(c);
        }
    }
    out
}

/// The annotations of a CSV, made if there are none.
pub(super) fn annotations(csv: &mut Json) -> Option<&mut Map<String, Json>> {
    map_mut(csv.get_mut("metadata")?, "annotations")
}

/// An annotation of a CSV; empty where it has none.
pub(super) fn annotation<'j>(csv: &'j Json, key: &str) -> &'j str {
    entries(csv, &["metadata", "annotations"])
        .and_then(|annotations| annotations.get(key))
        .and_then(Json::as_str)
        .unwrap_or_default()
}

/// The name of a CSV.
pub(super) fn name(csv: &Json) -> &str {
    text(csv, &["metadata", "name"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_titles() {
        for (name, title) in [
            ("memcached-operator", "Memcached Operator"),
            ("another-_AppOperator_againTwiceThrice More", "Another App Operator Again Twice Thrice More"),
            ("API", "API"),
            ("a.b", "A B"),
        ] {
            assert_eq!(display_name(name), title);
        }
    }

    #[test]
    fn the_package_is_what_stands_before_the_version() {
        assert_eq!(package_of("memcached-operator.v0.0.1"), "memcached-operator");
        assert_eq!(package_of("plain"), "plain");
    }
}
