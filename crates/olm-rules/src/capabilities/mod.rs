//! The suite `capabilities`: the capability levels of OperatorHub.io.

super::rule::rule_files! {
    capability_unknown,
}
