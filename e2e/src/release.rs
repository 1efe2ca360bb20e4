//! Builds and pushes the images that are needed to install the operator through OLM.

use crate::programs::{Programs, Registry};
use anyhow::Result;

/// The operator's package.
pub(crate) const PACKAGE: &str = "memcached-operator";

/// The operator's version.
pub const VERSION: &str = "0.0.1";

/// The version that [`release_versions`] can publish after [`VERSION`].
pub const NEXT_VERSION: &str = "0.0.2";

/// The channel that the package is published in.
pub(crate) const CHANNEL: &str = "stable";

/// Pushes the images of the operator, the bundle and the catalog, which serves itself, with a tag; returns the catalog's.
///
/// # Errors
/// A program fails.
pub fn release(programs: &Programs, registry: &Registry, tag: &str) -> Result<String> {
    release_versions(programs, registry, tag, &[VERSION], &[])
}

/// Pushes the images of the operator, of a bundle for each of these versions, which replaces the one before it, and of
/// their catalog, with a tag; returns the catalog's. The catalog is pushed with these additional arguments.
///
/// # Errors
/// A program fails.
pub fn release_versions(
    programs: &Programs,
    registry: &Registry,
    tag: &str,
    versions: &[&str],
    catalog_arguments: &[&str],
) -> Result<String> {
    let image = |name: &str| registry.image(&format!("{name}:{tag}"));
    let (operator, catalog) = (image(PACKAGE), image("memcached-catalog"));
    let scratch = std::env::temp_dir().join(format!("memcached-{tag}"));
    std::fs::create_dir_all(&scratch)?;
    let path = |name: &str| scratch.join(name).display().to_string();
    let flags = registry.flags();
    let tool = |arguments: &[&str], input: &[u8]| {
        let pushes = arguments.first() == Some(&"push");
        programs.tool(&[arguments, if pushes { &flags } else { &[] }].concat(), input)
    };
    let binary = format!("{}=/memcached-operator", programs.path(PACKAGE).display());
    tool(
        &[
            "push",
            "image",
            &operator,
            &binary,
            "--entrypoint",
            "/memcached-operator",
            "--user",
            "65532:65532",
        ],
        &[],
    )?;
    let operand = registry.operand();
    let manifests =
        programs.operator(&["manifests", "--stdout", "--image", &operator, "--operand-image", &operand])?;
    let catalog_dir = path("catalog");
    let base = concat!(env!("CARGO_MANIFEST_DIR"), "/../config/manifests");
    let mut replaced: Option<&str> = None;
    for version in versions {
        let (bundle, bundle_dir) = (image("memcached-bundle") + "-" + version, path(version));
        let mut generate = vec![
            "generate",
            "bundle",
            "--package",
            PACKAGE,
            "--version",
            version,
            "--kustomize-dir",
            base,
            "--channels",
            CHANNEL,
            "--default-channel",
            CHANNEL,
            "--output-dir",
            &bundle_dir,
        ];
        if let Some(old) = replaced {
            generate.extend(["--replaces", old]);
        }
        tool(&generate, manifests.as_bytes())?;
        tool(&["validate", &bundle_dir], &[])?;
        tool(&["push", "bundle", &bundle_dir, &bundle], &[])?;
        tool(&["catalog", "add", &catalog_dir, &bundle_dir, "--image", &bundle], &[])?;
        replaced = Some(version);
    }
    tool(&[&["push", "catalog", &catalog_dir, &catalog], catalog_arguments].concat(), &[])?;
    std::fs::remove_dir_all(&scratch)?;
    Ok(catalog)
}
