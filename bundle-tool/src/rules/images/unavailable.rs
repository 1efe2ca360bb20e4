//! The images of a CSV that cannot be pulled.

use crate::model::Availability;
use crate::rules::prelude::*;
use crate::rules::shared::images::{self, Role};

/// Reports the images that cannot be pulled, of containers or all others.
pub(super) fn report(context: &Context<'_>, of_containers: bool, reporter: &mut Reporter<'_>) {
    images::each_answer(context, |csv, image, uses, answer| {
        let message = match answer {
            Availability::Missing => format!("the registry does not have the image `{image}`"),
            // related-image-invalid reports those in spec.relatedImages.
            Availability::InvalidName(reason) if of_containers => {
                format!("invalid image name `{image}`: {reason}")
            }
            Availability::InvalidName(_) | Availability::Unknown(_) | Availability::Available(_) => return,
        };
        if uses.has(Role::Container) == of_containers {
            uses.report(csv, reporter, message);
        }
    });
}
