//! The images that an operator needs: its containers', those its variables name, and what the base lists.

use std::collections::{HashMap, HashSet};

use serde_json::{Value as Json, json};

use super::input::{Collected, Item};
use super::json::{dig, items, text};
use super::ledger::Ledger;

/// The prefix by which operators name the images that they hand out.
const PREFIX: &str = "RELATED_IMAGE_";

/// `spec.relatedImages`: first what the base lists, then what is found; each image once, under its first name.
pub(super) fn collect(collected: &Collected, base: &Json, ledger: &mut Ledger) -> Vec<Json> {
    let mut images = Images::default();
    for image in items(base, &["spec", "relatedImages"]) {
        images.add(text(image, &["name"]), text(image, &["image"]));
    }
    for deployment in &collected.deployments {
        let pod = dig(&deployment.json, &["spec", "template", "spec"]);
        let containers = items(pod, &["containers"]).iter().chain(items(pod, &["initContainers"]));
        for container in containers.clone() {
            for variable in items(container, &["env"]) {
                images.variable(variable, deployment, ledger);
            }
        }
        for container in containers {
            images.add(text(container, &["name"]), text(container, &["image"]));
        }
    }
    images.list
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

    fn variable(&mut self, variable: &Json, deployment: &Item, ledger: &mut Ledger) {
        let (name, value) = (text(variable, &["name"]), text(variable, &["value"]));
        let short = match (name.strip_prefix(PREFIX), name.strip_suffix("_IMAGE")) {
            (Some(short), _) => {
                if dig(variable, &["valueFrom"]).is_object() {
                    ledger.warn(
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
pub(super) fn is_image(value: &str) -> bool {
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
