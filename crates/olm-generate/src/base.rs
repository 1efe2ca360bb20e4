//! The CSV that everything else is put into: a person's base from the input, or one with what must be there.

use serde_json::{Map, Value as Json, json};

use super::error::Error;
use super::input::{self, Collected, Item};
use super::json::{entries, map_mut, string_at};
use super::merge;
use super::options::{Options, Origin};
use super::report::{GenerateReport, ObjectOutcome};
use olm_model::{Document, names};

/// Checks that a name is one that catalogs accept for a package: a DNS-1123 label.
///
/// Source: `ConvertToModel` in `alpha/declcfg/declcfg_to_model.go` of operator-registry.
///
/// # Errors
/// It is not.
pub fn check_package_name(name: &str) -> Result<(), Error> {
    if names::is_label(name) {
        Ok(())
    } else {
        Err(Error::PackageName(super::report::clip(name).into_owned()))
    }
}

/// Returns the name of the package, and where it comes from: the options, the only CSV of the input, or the fallback.
///
/// # Errors
/// There is none, several CSVs have different ones, or it is not valid.
pub(crate) fn package(
    options: &Options,
    collected: &Collected,
    kustomize: Option<&Document>,
) -> Result<(String, Origin), Error> {
    let (name, origin) = if let Some(name) = &options.package {
        (name.clone(), Origin::Option)
    } else {
        let mut names: Vec<String> =
            collected.csvs.iter().map(|csv| package_of(csv.name()).to_owned()).collect();
        if names.is_empty() {
            let base = kustomize
                .and_then(|base| base.tree.root().dig(&["metadata", "name"]))
                .and_then(kube_yaml::Value::as_str);
            names.extend(base.map(|name| package_of(name).to_owned()));
        }
        names.sort();
        names.dedup();
        match (names.len(), &options.fallback_package) {
            (0, None) => return Err(Error::NoPackage),
            (0, Some(fallback)) => (fallback.clone(), Origin::Fallback),
            (1, _) => (names.swap_remove(0), Origin::Csv),
            _ => return Err(Error::Packages(names)),
        }
    };
    // operator-sdk checks only the name of the CSV that begins with it.
    if !options.is_of_sdk() || !names::is_subdomain(&name) {
        check_package_name(&name)?;
    }
    Ok((name, origin))
}

/// `memcached-operator` of `memcached-operator.v0.0.1`.
fn package_of(csv: &str) -> &str {
    csv.split_once(".v").map_or(csv, |(package, _)| package)
}

/// The base: the package's CSV of the input, or that of the kustomize directory, or a bare one.
///
/// # Errors
/// The kustomize directory's CSV does not fit its type, or the input holds two of the package or those of several packages, of which
/// operator-sdk uses the first of the package.
pub(crate) fn choose(
    package: &str,
    collected: &Collected,
    kustomize: Option<&Document>,
    is_of_sdk: bool,
    report: &mut GenerateReport,
) -> Result<Item, Error> {
    let prefix = format!("{package}.");
    let outside = match kustomize {
        Some(document) if collected.csvs.is_empty() => Some(input::typed_csv(document, report)?),
        _ => None,
    };
    let mut packages: Vec<String> =
        collected.csvs.iter().map(|csv| package_of(csv.name()).to_owned()).collect();
    packages.sort();
    packages.dedup();
    if packages.len() > 1 && !is_of_sdk {
        return Err(Error::Packages(packages));
    }
    let mut chosen: Option<&Item> = None;
    for csv in collected.csvs.iter().chain(&outside) {
        if !csv.name().starts_with(&prefix) {
            report
                .record(csv.source, ObjectOutcome::Omitted(format!("it is not a CSV of package {package}")));
            report.warn(
                csv.source,
                format!(
                    "ClusterServiceVersion `{}` was omitted: its name must begin with `{}`",
                    csv.name().escape_debug(),
                    prefix.escape_debug()
                ),
            );
        } else if let Some(first) = chosen {
            if is_of_sdk {
                let title = report.title(csv.source);
                report.record(csv.source, ObjectOutcome::Omitted("another CSV is the base".to_owned()));
                report.warn(csv.source, format!("{title} was omitted: another one is the base"));
                continue;
            }
            return Err(Error::Duplicate {
                kind: "ClusterServiceVersion of the package",
                name: package.to_owned(),
                first: report.place(first.source),
                second: report.place(csv.source),
            });
        } else {
            report.record(csv.source, ObjectOutcome::Csv("(its base)".to_owned()));
            chosen = Some(csv);
        }
    }
    if let Some(csv) = chosen {
        return Ok(csv.clone());
    }
    let mut base = bare(package);
    let lack = if is_of_sdk {
        merge::overlay(&mut base, &placeholder_base(package));
        "placeholders".to_owned()
    } else {
        format!("no {}", missing(&base).join(", "))
    };
    report.warn_at(
        None,
        format!(
            "no base ClusterServiceVersion found, so the CSV has {lack}; create one with `bundle-tool generate manifests`, or add one to the input"
        ),
    );
    Ok(Item { source: usize::MAX, json: base, status: Json::Null })
}

/// Returns the fields that catalogs show and a CSV does not have.
pub(crate) fn missing(csv: &Json) -> Vec<&'static str> {
    let has_text = |keys: &[&str]| !string_at(csv, keys).trim().is_empty();
    let has_items = |keys: &[&str]| !super::json::items(csv, keys).is_empty();
    [
        ("spec.description", has_text(&["spec", "description"])),
        ("spec.icon", has_items(&["spec", "icon"])),
        ("spec.keywords", has_items(&["spec", "keywords"])),
        ("spec.links", has_items(&["spec", "links"])),
        ("spec.maintainers", has_items(&["spec", "maintainers"])),
        ("spec.provider.name", has_text(&["spec", "provider", "name"])),
    ]
    .into_iter()
    .filter_map(|(field, exists)| (!exists).then_some(field))
    .collect()
}

/// What a CSV must have, derived from the package's name.
pub(crate) fn bare(package: &str) -> Json {
    let display = display_name(package);
    json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {
            "annotations": {"alm-examples": "[]", "capabilities": "Basic Install"},
            "name": format!("{package}.v0.0.0"),
        },
        "spec": {
            "apiservicedefinitions": {},
            "customresourcedefinitions": {},
            "displayName": display,
            "install": {"strategy": "", "spec": {"deployments": []}},
            "installModes": [
                {"type": "OwnNamespace", "supported": false},
                {"type": "SingleNamespace", "supported": false},
                {"type": "MultiNamespace", "supported": false},
                {"type": "AllNamespaces", "supported": true},
            ],
            "maturity": "alpha",
            "version": "0.0.0",
        },
    })
}

/// Returns the base CSV of a package that has none, with operator-sdk's placeholders for what is not known. The native commands write
/// no placeholders, so that none is published.
///
/// Source: `New` in `internal/generate/clusterserviceversion/bases` of operator-sdk v1.42.
#[must_use]
pub fn placeholder_base(package: &str) -> Json {
    let display = display_name(package);
    json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {
            "name": format!("{package}.v0.0.0"),
            "namespace": "placeholder",
            "annotations": { "capabilities": "Basic Install", "alm-examples": "[]" },
        },
        "spec": {
            "displayName": display,
            "description": format!("{display} description. TODO."),
            "provider": { "name": "Provider Name", "url": "https://your.domain" },
            "maintainers": [{ "name": "Maintainer Name", "email": "your@email.com" }],
            "links": [{ "name": display, "url": format!("https://{package}.domain") }],
            "maturity": "alpha",
            "keywords": [package],
            "icon": [{ "base64data": "", "mediatype": "" }],
            "installModes": [
                { "type": "OwnNamespace", "supported": false },
                { "type": "SingleNamespace", "supported": false },
                { "type": "MultiNamespace", "supported": false },
                { "type": "AllNamespaces", "supported": true },
            ],
        },
    })
}

/// Returns a name as capitalized words: `Memcached Operator` for `memcached-operator`, `Flight Ticket` for `FlightTicket`.
///
/// Source: `GetDisplayName` in `internal/util/k8sutil` of operator-sdk v1.42.
#[must_use]
pub fn display_name(name: &str) -> String {
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
pub(crate) fn annotations(csv: &mut Json) -> Option<&mut Map<String, Json>> {
    map_mut(csv.get_mut("metadata")?, "annotations")
}

/// An annotation of a CSV; empty where it has none.
pub(crate) fn annotation<'j>(csv: &'j Json, key: &str) -> &'j str {
    entries(csv, &["metadata", "annotations"])
        .and_then(|annotations| annotations.get(key))
        .and_then(Json::as_str)
        .unwrap_or_default()
}

/// The name of a CSV.
pub(crate) fn name(csv: &Json) -> &str {
    string_at(csv, &["metadata", "name"])
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
            ("MemcachedRS", "Memcached RS"),
            ("a.b", "A B"),
        ] {
            assert_eq!(display_name(name), title);
        }
    }

    #[test]
    fn package_names_are_dns_labels() {
        for name in ["memcached-operator", "a", "3scale"] {
            assert!(check_package_name(name).is_ok(), "{name}");
        }
        for name in ["", "Op_X", "a.b", "-a", "a-", "a\nb", "../x", "é", &"a".repeat(64)] {
            assert!(check_package_name(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn the_package_is_what_stands_before_the_version() {
        assert_eq!(package_of("memcached-operator.v0.0.1"), "memcached-operator");
        assert_eq!(package_of("plain"), "plain");
    }
}
