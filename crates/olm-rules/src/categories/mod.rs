//! The suite `categories`: the categories of OperatorHub.io.

super::rule::rule_files! {
    category_unknown,
}
