//! Comments that ignore findings: what is wrong with the comments themselves. They are read by
//! `rules/ignores.rs` when everything else has been validated.

super::rule::rule_files! {
    ignore_invalid,
    ignore_unused,
}
