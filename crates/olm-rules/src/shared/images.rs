//! The images that a CSV refers to.

use std::collections::BTreeMap;

use crate::prelude::*;
use kube_yaml::Position;
use olm_model::Availability;

/// The prefix of environment variables that name images of operands.
pub(crate) const VARIABLE_PREFIX: &str = "RELATED_IMAGE_";
/// The annotations of a CSV that name an image.
const ANNOTATIONS: [&str; 2] = ["containerImage", "operators.openshift.io/must-gather-image"];
/// How many places of an image are named beside the first.
const MAX_RELATED: usize = 5;

/// Returns whether an image reference is a digest, which names the same content forever.
#[must_use]
pub(crate) fn is_pinned(image: &str) -> bool {
    image.rsplit_once('@').is_some_and(|(_, digest)| {
        let hex = digest.strip_prefix("sha256:");
        hex.is_some_and(|hex| hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
    })
}

/// Calls `visit` with every image that the pods of the install strategy run, and with every image that an environment
/// variable `RELATED_IMAGE_…` names: its path and its reference.
pub(crate) fn each(csv: &Csv<'_>, mut visit: impl FnMut(&Path<'_>, &str)) {
    each_in_pods(csv, |_, path, image| visit(path, image));
}

fn each_in_pods(csv: &Csv<'_>, mut visit: impl FnMut(Role, &Path<'_>, &str)) {
    csv.each_pod_template(|pod| {
        pod.each_container(|container, path, _| {
            if let Some(image) = container.image.as_deref().filter(|image| !image.is_empty()) {
                visit(Role::Container, &path.field("image"), image);
            }
            let list = path.field("env");
            for (index, variable) in container.env.iter().flatten().enumerate() {
                let image = variable.value.as_deref().filter(|image| !image.is_empty());
                if let Some(image) = image.filter(|_| variable.name.starts_with(VARIABLE_PREFIX)) {
                    visit(Role::Variable, &list.index(index).field("value"), image);
                }
            }
        });
    });
}

/// What a CSV refers to an image as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// What a container of the install strategy runs.
    Container,
    /// The value of an environment variable `RELATED_IMAGE_…`.
    Variable,
    /// An entry of `spec.relatedImages`.
    Related,
    /// An annotation.
    Annotation,
}

/// A place where a CSV refers to an image.
#[derive(Debug)]
pub(crate) struct Use {
    role: Role,
    path: String,
    position: Position,
}

/// All places where a CSV refers to one image: those of containers first, at least one.
#[derive(Debug)]
pub(crate) struct Uses(Vec<Use>);

impl Uses {
    /// Returns whether the image is referred to in this role.
    #[must_use]
    pub(crate) fn has(&self, role: Role) -> bool {
        self.0.iter().any(|one| one.role == role)
    }

    /// Reports a finding at the first place, and names the others.
    pub(crate) fn report(&self, csv: &Csv<'_>, reporter: &mut Reporter<'_>, message: String) {
        let file = csv.object.file;
        let Some((first, others)) = self.0.split_first() else { return };
        reporter.at(file, &first.path, first.position, message);
        for other in others.iter().take(MAX_RELATED) {
            reporter.related_place(file, other.position, "also referenced here");
        }
    }
}

/// Calls `visit` with every image of the CSVs that registries were asked for, and what they answered.
pub(crate) fn each_answer(
    context: &Context<'_>,
    mut visit: impl FnMut(&Csv<'_>, &str, &Uses, &Availability),
) {
    let answers = &context.bundle.images;
    if answers.is_empty() {
        return;
    }
    for csv in &context.csvs {
        for (image, uses) in uses(csv) {
            if let Some(answer) = answers.get(&image) {
                visit(csv, &image, &uses, answer);
            }
        }
    }
}

/// Returns the images that a CSV refers to: in containers, environment variables `RELATED_IMAGE_…`, `spec.relatedImages` and
/// annotations.
#[must_use]
pub(crate) fn uses(csv: &Csv<'_>) -> BTreeMap<String, Uses> {
    let mut uses: BTreeMap<String, Uses> = BTreeMap::new();
    let mut add = |role, path: &Path<'_>, image: &str| {
        let one = Use { role, path: path.to_string(), position: csv.object.locate(path) };
        match uses.get_mut(image) {
            Some(uses) => uses.0.push(one),
            None => {
                uses.insert(image.to_owned(), Uses(vec![one]));
            }
        }
    };
    each_in_pods(csv, &mut add);
    let root = Path::ROOT;
    let list = root.field("spec.relatedImages");
    for (index, related) in csv.typed.spec.related_images.iter().enumerate() {
        if !related.image.is_empty() {
            add(Role::Related, &list.index(index).field("image"), &related.image);
        }
    }
    let annotations = root.field("metadata.annotations");
    for key in ANNOTATIONS {
        let image = csv.typed.metadata.annotations.as_ref().and_then(|map| map.get(key));
        if let Some(image) = image.filter(|image| !image.is_empty()) {
            add(Role::Annotation, &annotations.key(key), image);
        }
    }
    for Uses(places) in uses.values_mut() {
        places.sort_by_key(|one| one.role != Role::Container);
    }
    uses
}
