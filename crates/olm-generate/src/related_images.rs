//! The images that an operator needs: its containers', those its variables name, and what the base lists.

use std::collections::{HashMap, HashSet};

use serde_json::{Value as Json, json};

use super::Error;
use super::input::{Collected, Item};
use super::json::{dig, items, string_at};
use super::report::GenerateReport;

/// The prefix by which operators name the images that they hand out.
const PREFIX: &str = "RELATED_IMAGE_";

/// `spec.relatedImages`: first what the base lists, then what is found; each image once, under its first name.
pub(crate) fn collect(collected: &Collected, base: &Json, report: &mut GenerateReport) -> Vec<Json> {
    let mut images = Images::default();
    for image in items(base, &["spec", "relatedImages"]) {
        images.add(string_at(image, &["name"]), string_at(image, &["image"]));
    }
    for deployment in &collected.deployments {
        let pod = dig(&deployment.json, &["spec", "template", "spec"]);
        let containers = items(pod, &["containers"]).iter().chain(items(pod, &["initContainers"]));
        for container in containers.clone() {
            for variable in items(container, &["env"]) {
                images.variable(variable, deployment, report);
            }
        }
        for container in containers {
            images.add(string_at(container, &["name"]), string_at(container, &["image"]));
        }
    }
    images.list
}

/// `spec.relatedImages` as operator-sdk writes it: the images of `RELATED_IMAGE_` variables. Where several variables of one name have
/// different images, their names begin with their container's; an image of several names is listed once, without a name.
///
/// Source: `internal/cmd/operator-sdk/generate/internal/relatedimages.go` of operator-sdk v1.42.
///
/// # Errors
/// A variable has no literal value.
pub(crate) fn of_variables(collected: &Collected) -> Result<Vec<Json>, Error> {
    let mut found: Vec<(String, &str, String)> = Vec::new();
    for deployment in &collected.deployments {
        let pod = dig(&deployment.json, &["spec", "template", "spec"]);
        let containers = || items(pod, &["containers"]).iter().chain(items(pod, &["initContainers"]));
        let owner = string_at(&deployment.json, &["metadata", "name"]);
        for container in containers() {
            let place = match containers().count() {
                1 => owner.to_owned(),
                _ => format!("{owner}-{}", string_at(container, &["name"])),
            };
            for variable in items(container, &["env"]) {
                let Some(short) = string_at(variable, &["name"]).strip_prefix(PREFIX) else { continue };
                if dig(variable, &["valueFrom"]).is_object() {
                    return Err(Error::RelatedImage(string_at(variable, &["name"]).to_owned()));
                }
                let (name, image) = (short.to_lowercase().replace('_', "-"), string_at(variable, &["value"]));
                if !found.iter().any(|(other, value, _)| *other == name && *value == image) {
                    found.push((name, image, place.clone()));
                }
            }
        }
    }
    let mut list = Vec::new();
    for (name, image, place) in &found {
        let same: Vec<_> = found.iter().filter(|(_, other, _)| other == image).collect();
        let is_ambiguous = found.iter().filter(|(other, ..)| other == name).count() > 1;
        match same[..] {
            [_] if is_ambiguous => list.push(json!({"name": format!("{place}-{name}"), "image": image})),
            [_] => list.push(json!({"name": name, "image": image})),
            [first, ..] if first.0 == *name => list.push(json!({"name": "", "image": image})),
            _ => {}
        }
    }
    Ok(list)
}

/// `spec.relatedImages` as operator-sdk writes it with digests: what [`of_variables`] returns, and each container and each variable
/// under its own name, whether or not its image is listed already.
///
/// Source: `pkg/pullspec/operator_csv.go` of operator-manifest-tools (`SetRelatedImages`), which orders them at random.
///
/// # Errors
/// As [`of_variables`].
pub(crate) fn of_pinned(collected: &Collected, base: &Json) -> Result<Vec<Json>, Error> {
    let mut list = of_variables(collected)?;
    list.extend(items(base, &["spec", "relatedImages"]).iter().cloned());
    let pods = || {
        collected.deployments.iter().map(|deployment| dig(&deployment.json, &["spec", "template", "spec"]))
    };
    let containers = |field: &'static str| pods().flat_map(move |pod| items(pod, &[field]));
    for container in containers("containers").chain(containers("initContainers")) {
        list.push(
            json!({"name": string_at(container, &["name"]), "image": string_at(container, &["image"])}),
        );
    }
    for container in containers("containers").chain(containers("initContainers")) {
        for variable in items(container, &["env"]) {
            if let Some(short) = string_at(variable, &["name"]).strip_prefix(PREFIX) {
                list.push(json!({"name": short.to_lowercase(), "image": string_at(variable, &["value"])}));
            }
        }
    }
    let mut seen = HashSet::new();
    list.retain(|image| {
        let [name, image] = ["name", "image"].map(|field| string_at(image, &[field]).to_owned());
        !image.is_empty() && seen.insert((name, image))
    });
    Ok(list)
}

#[derive(Default)]
struct Images {
    list: Vec<Json>,
    names: HashSet<String>,
    /// Names that several images have, with the number of the next one.
    next: HashMap<String, usize>,
    known: HashSet<String>,
}

impl Images {
    fn add(&mut self, name: &str, image: &str) {
        if image.is_empty() || !self.known.insert(image.to_owned()) {
            return;
        }
        let mut unique = name.to_owned();
        if !name.is_empty() && !self.names.insert(unique.clone()) {
            let number = self.next.entry(name.to_owned()).or_insert(2);
            loop {
                unique = format!("{name}-{number}");
                *number += 1;
                if self.names.insert(unique.clone()) {
                    break;
                }
            }
        }
        self.list.push(json!({"name": unique, "image": image}));
    }

    fn variable(&mut self, variable: &Json, deployment: &Item, report: &mut GenerateReport) {
        let (name, value) = (string_at(variable, &["name"]), string_at(variable, &["value"]));
        let short = match (name.strip_prefix(PREFIX), name.strip_suffix("_IMAGE")) {
            (Some(short), _) => {
                if dig(variable, &["valueFrom"]).is_object() {
                    report.warn(
                        deployment.source,
                        format!("{name} has no literal value, so its image is not in relatedImages"),
                    );
                }
                short
            }
            (None, Some(short)) if is_image(value) => short,
            _ => return,
        };
        self.add(&short.to_lowercase().replace('_', "-"), value);
    }
}

/// Whether a value looks like the name of an image: with a tag or a digest, and without spaces.
pub(crate) fn is_image(value: &str) -> bool {
    let last = value.rsplit('/').next().unwrap_or_default();
    !value.contains(char::is_whitespace)
        && !value.contains("://")
        && last.split_once([':', '@']).is_some_and(|(name, tag)| !name.is_empty() && !tag.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_have_a_tag_or_a_digest() {
        for image in ["memcached:1.6", "quay.io/a/b:v1", "localhost:5000/a@sha256:00"] {
            assert!(is_image(image), "{image}");
        }
        for text in ["memcached", "http://x/y:1", "localhost:5000/a", "a b:c", ""] {
            assert!(!is_image(text), "{text}");
        }
    }

    #[test]
    fn each_image_is_listed_once() {
        let mut images = Images::default();
        images.add("manager", "a:1");
        images.add("other", "a:1");
        for image in ["b:1", "c:1"] {
            images.add("manager", image);
        }
        assert_eq!(
            images.list,
            [
                json!({"name": "manager", "image": "a:1"}),
                json!({"name": "manager-2", "image": "b:1"}),
                json!({"name": "manager-3", "image": "c:1"}),
            ]
        );
    }
}
