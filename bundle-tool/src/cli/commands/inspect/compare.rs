//! Whether the parts of an image agree, and whether it is the image of a directory.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;
use oci_images::layout::Contents;

use crate::cli::commands::push::bundle_image;
use kube_yaml::text::excerpt;
use olm_model::disk;
use olm_model::read;

/// The maximum number of differences that are listed.
const MAX_DIFFERENCES: usize = 100;

/// What the labels of bundles begin with. Tools that build images add others of their own.
const PREFIX: &str = "operators.operatorframework.io.";

/// Compares the labels of a bundle image with its annotations.
pub(crate) fn labels(contents: &Contents) -> Vec<String> {
    let bundle = read::bundle::files("image", &contents.clone().into_bundle());
    let Some(annotations) = bundle.annotations() else {
        return vec!["metadata/annotations.yaml is missing or contains no annotations".to_owned()];
    };
    let expected = annotations.labels();
    let mut problems = Vec::new();
    for (key, annotation) in &expected {
        match contents.labels.get(key) {
            Some(label) if label == annotation => {}
            Some(label) => problems.push(format!(
                "label `{}` is `{}`, but metadata/annotations.yaml has `{}`",
                excerpt(key),
                excerpt(label),
                excerpt(annotation)
            )),
            None => {
                let key = excerpt(key);
                problems.push(format!("label `{key}` is missing, but metadata/annotations.yaml has it"));
            }
        }
    }
    let own = contents.labels.keys().filter(|key| key.starts_with(PREFIX) && !expected.contains_key(*key));
    problems.extend(own.map(|key| format!("label `{}` is not in metadata/annotations.yaml", excerpt(key))));
    problems.truncate(MAX_DIFFERENCES);
    problems
}

/// Compares a bundle image with the image that `push bundle` builds from `directory`.
pub(crate) fn directory(contents: Contents, directory: &Path) -> Result<Vec<String>> {
    let bundle = disk::bundle::directory(directory)?;
    let built = Contents::read(&bundle_image(directory, &bundle)?)?;
    let mut problems = Vec::new();
    if contents.digest == built.digest {
        return Ok(problems);
    }
    let shown = directory.display();
    difference(&contents.labels, &built.labels, |name, found| {
        let key = excerpt(name);
        problems.push(match found {
            Found::Both => format!("label `{key}` differs from {shown}"),
            Found::First if !name.starts_with(PREFIX) => return,
            Found::First => format!("label `{key}` is not in {shown}"),
            Found::Second => format!("label `{key}` is missing"),
        });
    });
    let (files, expected) = (contents.into_bundle(), built.into_bundle());
    difference(&files, &expected, |path, found| {
        let path = excerpt(path);
        problems.push(match found {
            Found::Both => format!("{path} differs from {shown}/{path}"),
            Found::First => format!("{path} is not in {shown}"),
            Found::Second => format!("{path} is in {shown}, but not in the image"),
        });
    });
    let more = problems.len().saturating_sub(MAX_DIFFERENCES);
    problems.truncate(MAX_DIFFERENCES);
    if more > 0 {
        problems.push(format!("{more} more differences"));
    }
    Ok(problems)
}

/// Where a key is that two maps do not agree on.
enum Found {
    Both,
    First,
    Second,
}

fn difference<V: PartialEq>(
    first: &BTreeMap<String, V>,
    second: &BTreeMap<String, V>,
    mut report: impl FnMut(&str, Found),
) {
    let keys: BTreeSet<&String> = first.keys().chain(second.keys()).collect();
    for key in keys {
        match (first.get(key), second.get(key)) {
            (Some(one), Some(two)) if one == two => {}
            (Some(_), Some(_)) => report(key, Found::Both),
            (Some(_), None) => report(key, Found::First),
            (None, _) => report(key, Found::Second),
        }
    }
}
