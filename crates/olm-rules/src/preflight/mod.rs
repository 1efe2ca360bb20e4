//! The suite `preflight`: what `preflight check operator` requires of a bundle in addition to other suites.

mod features;

super::rule::rule_files! {
    preflight_annotation_invalid,
    preflight_annotation_missing,
    preflight_scc_several,
}
