//! The suite `openshift`: what OpenShift's default security context constraints reject, and the OpenShift versions that a
//! bundle declares.

mod scc;

super::rule::rule_files! {
    openshift_max_version_invalid,
    openshift_versions_invalid,
    openshift_versions_list,
    openshift_versions_missing,
    scc_capability_added,
    scc_group_fixed,
    scc_host_access,
    scc_privileged,
    scc_seccomp_forbidden,
    scc_selinux_fixed,
    scc_user_fixed,
    scc_volume_forbidden,
}
