//! Unsupported commands: why each is not supported, and what replaces it. The argument is the path of the command.

/// `alpha config-3alpha-to-3`.
pub(crate) fn config(_: &str) -> String {
    "PROJECT files of version 3-alpha are not supported; in PROJECT, set `version` to `\"3\"`, `layout` to a list, and \
     `resources[].api.crdVersion` to `v1`; or convert the file with operator-sdk 1.42 or earlier"
        .to_owned()
}

/// `alpha generate`.
pub(crate) fn alpha_generate(_: &str) -> String {
    "`alpha generate` is not supported; for a Go project, use `kubebuilder alpha generate`; for a project that bundle-tool \
     scaffolded, use `bundle-tool update`"
        .to_owned()
}

/// `generate packagemanifests`.
pub(crate) fn generate_package_manifests(_: &str) -> String {
    "the package manifests format is not supported, because OLM no longer reads it; use `operator-sdk generate bundle` with \
     the same manifests"
        .to_owned()
}

/// `pkgman-to-bundle` and `run packagemanifests`.
pub(crate) fn package_manifests(path: &str) -> String {
    format!(
        "`{path}` is not supported, because OLM no longer reads package manifests; convert each version with `opm alpha bundle \
         generate --directory PACKAGE/VERSION --output-dir bundles/VERSION`"
    )
}
