//! The images of a CSV that cannot be pulled.

use crate::model::Availability;
use crate::rules::prelude::*;
use crate::rules::shared::images::{self, Role};

/// Reports the images that cannot be pulled, of containers or all others.
pub(super) fn report(context: &Context<'_>, of_containers: bool, reporter: &mut Reporter<'_>) {
    let answers = &context.bundle.images;
    if answers.is_empty() {
        return;
    }
    for csv in &context.csvs {
        for (image, uses) in images::uses(csv) {
            let message = match answers.get(&image) {
                Some(Availability::Missing) => format!("the registry does not have the image `{image}`"),
                // related-image-invalid reports those in spec.relatedImages.
                Some(Availability::InvalidName(reason)) if of_containers => {
                    format!("invalid image name `{image}`: {reason}")
                }
                Some(
                    Availability::InvalidName(_) | Availability::Unknown(_) | Availability::Available(_),
                )
                | None => continue,
            };
            if uses.has(Role::Container) == of_containers {
                uses.report(csv, reporter, message);
            }
        }
    }
}
