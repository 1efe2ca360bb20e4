//! The images that the manifests reference, and replacements for them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::base;
use super::input::{Collected, Item};
use super::json::{items, string_at};
use super::options::Rewrite;
use super::related_images::is_image;
use super::report::GenerateReport;

impl Rewrite {
    fn apply(&self, image: &str) -> Option<String> {
        if image == self.from {
            return Some(match split(&self.to) {
                (_, "") => format!("{}{}", self.to, split(image).1),
                _ => self.to.clone(),
            });
        }
        let (name, rest) = split(image);
        (name == self.from).then(|| match split(&self.to) {
            (_, "") => format!("{}{rest}", self.to),
            _ => self.to.clone(),
        })
    }
}

/// Returns an image's name, and its tag or digest with the separator.
fn split(image: &str) -> (&str, &str) {
    let name = image.rfind('/').map_or(0, |slash| slash + 1);
    match image[name..].find([':', '@']) {
        Some(at) => image.split_at(name + at),
        None => (image, ""),
    }
}

/// Returns an image reference with a digest: `name@sha256:…`.
fn pinned(image: &str, digest: &str) -> String {
    format!("{}@{digest}", split(image).0)
}

/// The environment variables whose values are names of images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Variables {
    /// Those whose names begin with `RELATED_IMAGE_` or end with `_IMAGE`.
    AnyImage,
    /// Those whose names begin with `RELATED_IMAGE_`, as for operator-sdk.
    RelatedImage,
}

/// Replaces image references: first by the user's replacements, then by digests.
pub(crate) fn rewrite(
    collected: &mut Collected,
    base: &mut Item,
    rewrites: &[Rewrite],
    pins: &BTreeMap<String, String>,
    variables: Variables,
    report: &mut GenerateReport,
) {
    if rewrites.is_empty() && pins.is_empty() {
        return;
    }
    let mut used = BTreeSet::new();
    each(collected, base, variables, &mut |image| {
        for (index, rewrite) in rewrites.iter().enumerate() {
            if let Some(new) = rewrite.apply(image) {
                used.insert(index);
                *image = new;
            }
        }
        if let Some(digest) = pins.get(image) {
            *image = pinned(image, digest);
        }
    });
    for (index, rewrite) in rewrites.iter().enumerate() {
        if !used.contains(&index) {
            report.warn_at(
                None,
                format!("--replace-image {}={}: no manifest uses that image", rewrite.from, rewrite.to),
            );
        }
    }
}

/// Returns all images that are referenced by tag.
pub(crate) fn unpinned(collected: &mut Collected, base: &mut Item, variables: Variables) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    each(collected, base, variables, &mut |image| {
        if !image.contains('@') {
            found.insert(image.clone());
        }
    });
    found
}

/// Calls `look` for every image of the Deployments and of the base.
fn each(
    collected: &mut Collected,
    base: &mut Item,
    variables: Variables,
    look: &mut impl FnMut(&mut String),
) {
    let mut at = |json: Option<&mut Json>| {
        if let Some(Json::String(image)) = json
            && !image.is_empty()
        {
            look(image);
        }
    };
    for deployment in &mut collected.deployments {
        for list in ["containers", "initContainers"] {
            let containers = deployment.json.pointer_mut(&format!("/spec/template/spec/{list}"));
            for container in containers.and_then(Json::as_array_mut).into_iter().flatten() {
                at(container.get_mut("image"));
                let environment = container.get_mut("env").and_then(Json::as_array_mut);
                for variable in environment.into_iter().flatten() {
                    let name = string_at(variable, &["name"]);
                    let named = name.starts_with("RELATED_IMAGE_")
                        || (variables == Variables::AnyImage && name.ends_with("_IMAGE"));
                    if named && is_image(string_at(variable, &["value"])) {
                        at(variable.get_mut("value"));
                    }
                }
            }
        }
    }
    let related = base.json.pointer_mut("/spec/relatedImages").and_then(Json::as_array_mut);
    for image in related.into_iter().flatten() {
        at(image.get_mut("image"));
    }
    if is_image(base::annotation(&base.json, "containerImage"))
        && let Some(annotations) = base::annotations(&mut base.json)
    {
        at(annotations.get_mut("containerImage"));
    }
}

/// Returns the platforms that all images of the Deployments' containers support, if they are known of all of them.
pub(crate) fn platforms(collected: &Collected, known: &BTreeMap<String, Vec<String>>) -> BTreeSet<String> {
    let mut common: Option<BTreeSet<String>> = None;
    for deployment in &collected.deployments {
        for container in items(&deployment.json, &["spec", "template", "spec", "containers"]) {
            let here = known.get(string_at(container, &["image"])).filter(|platforms| !platforms.is_empty());
            let Some(here) = here else { return BTreeSet::new() };
            let here: BTreeSet<String> = here.iter().cloned().collect();
            common = Some(common.map_or_else(|| here.clone(), |common| &common & &here));
        }
    }
    common.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_renamed_whole_or_by_its_name() {
        for (rule, image, wanted) in [
            ("controller=quay.io/me/op", "controller:latest", Some("quay.io/me/op:latest")),
            ("controller=quay.io/me/op:v1", "controller:latest", Some("quay.io/me/op:v1")),
            ("controller:latest=quay.io/me/op", "controller:latest", Some("quay.io/me/op:latest")),
            ("controller:v2=quay.io/me/op", "controller:latest", None),
            ("localhost:5000/a=b", "localhost:5000/a@sha256:0", Some("b@sha256:0")),
            ("a=b", "x/a:1", None),
        ] {
            let rule: Rewrite = rule.parse().unwrap();
            assert_eq!(rule.apply(image).as_deref(), wanted, "{rule:?} {image}");
        }
        assert!("a".parse::<Rewrite>().is_err());
    }

    #[test]
    fn a_digest_replaces_the_tag() {
        assert_eq!(pinned("localhost:5000/a:v1", "sha256:0"), "localhost:5000/a@sha256:0");
    }
}
