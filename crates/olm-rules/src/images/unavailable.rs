//! The images of a CSV that cannot be pulled.

use crate::prelude::*;
use crate::shared::images;
use crate::shared::images::Role;
use olm_model::Availability;

/// Reports the images that cannot be pulled, of containers or all others.
pub(crate) fn report(context: &Context<'_>, of_containers: bool, reporter: &mut Reporter<'_>) {
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
