//! The suite `multiarch`: the processor architectures that an operator declares, and those on which it can run.

mod platforms;

super::rule::rule_files! {
    multiarch_image_platform_missing,
    multiarch_label_invalid,
    multiarch_label_missing,
    multiarch_label_unschedulable,
}
