//! The suite `community`: what the pipeline of the OpenShift community catalog requires of a submission, in addition to
//! the suites of operator-sdk that it runs.

mod entries;
mod operator_names;
mod schema;
mod sources;
mod times;

super::rule::rule_files! {
    community_annotations (table),
    community_ci_catalog_duplicate,
    community_ci_invalid,
    community_icon_invalid,
    community_keywords_missing,
    community_kube_version_conflict,
    community_link_incomplete,
    community_maintainer_incomplete,
    community_name_changed,
    community_name_mismatch,
    community_name_mismatch_published,
    community_names_inconsistent,
    community_network_policy,
    community_release_config_invalid,
    community_release_config_mismatch,
    community_replaces_unavailable,
    community_replaces_versions,
    community_texts (table),
    community_update_graph_missing,
    community_version_directory,
    community_version_not_semver,
    community_versions_undeclared,
    pull_request_bundle_deleted,
    pull_request_bundle_modified,
    pull_request_bundles_several,
    pull_request_foreign_file,
    pull_request_mixed,
    pull_request_operators_several,
}
