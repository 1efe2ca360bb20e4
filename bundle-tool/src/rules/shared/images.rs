//! The images that a CSV refers to.

use crate::rules::prelude::*;

/// The prefix of environment variables that name images of operands.
pub(in crate::rules) const VARIABLE_PREFIX: &str = "RELATED_IMAGE_";

/// Returns whether an image reference is a digest, which names the same content forever.
#[must_use]
pub(in crate::rules) fn is_pinned(image: &str) -> bool {
    image.rsplit_once('@').is_some_and(|(_, digest)| {
        let hex = digest.strip_prefix("sha256:");
        hex.is_some_and(|hex| hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
    })
}

/// Calls `visit` with every image that the pods of the install strategy run, and with every image that an environment
/// variable `RELATED_IMAGE_…` names: its path and its reference.
pub(in crate::rules) fn each(csv: &Csv<'_>, mut visit: impl FnMut(&Path<'_>, &str)) {
    csv.each_pod_template(|pod| {
        pod.each_container(|container, path, _| {
            if let Some(image) = container.image.as_deref().filter(|image| !image.is_empty()) {
                visit(&path.field("image"), image);
            }
            let list = path.field("env");
            for (index, variable) in container.env.iter().flatten().enumerate() {
                let image = variable.value.as_deref().filter(|image| !image.is_empty());
                if let Some(image) = image.filter(|_| variable.name.starts_with(VARIABLE_PREFIX)) {
                    visit(&list.index(index).field("value"), image);
                }
            }
        });
    });
}
