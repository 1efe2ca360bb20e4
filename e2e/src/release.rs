//! Builds and pushes the images that are needed to install the operator through OLM.

use crate::{Programs, Registry};
use anyhow::Result;

/// The operator's package.
pub(crate) const PACKAGE: &str = "memcached-operator";

/// The operator's version.
pub(crate) const VERSION: &str = "0.0.1";

/// The channel that the package is published in.
pub(crate) const CHANNEL: &str = "stable";

/// Pushes the images of the operator, the bundle and the catalog with a tag; returns the catalog's.
///
/// # Errors
/// A program fails.
pub fn release(programs: &Programs, registry: &Registry, tag: &str) -> Result<String> {
    let image = |name: &str| registry.image(&format!("{name}:{tag}"));
    let (operator, bundle, catalog) = (image(PACKAGE), image("memcached-bundle"), image("memcached-catalog"));
    let scratch = std::env::temp_dir().join(format!("memcached-{tag}"));
    std::fs::create_dir_all(&scratch)?;
    let path = |name: &str| scratch.join(name).display().to_string();
    let ca: Vec<&str> = registry.ca_file.iter().flat_map(|file| ["--ca-file", file]).collect();
    let tool = |arguments: &[&str], input: &[u8]| {
        let pushes = arguments.first() == Some(&"push");
        programs.tool(&[arguments, if pushes { &ca } else { &[] }].concat(), input)
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
    let (bundle_dir, catalog_dir) = (path("bundle"), path("catalog"));
    let base = concat!(env!("CARGO_MANIFEST_DIR"), "/../config/manifests");
    tool(
        &[
            "generate",
            "bundle",
            "--package",
            PACKAGE,
            "--version",
            VERSION,
            "--kustomize-dir",
            base,
            "--channels",
            CHANNEL,
            "--default-channel",
            CHANNEL,
            "--output-dir",
            &bundle_dir,
        ],
        manifests.as_bytes(),
    )?;
    tool(&["validate", &bundle_dir], &[])?;
    tool(&["push", "bundle", &bundle_dir, &bundle], &[])?;
    tool(&["catalog", "add", &catalog_dir, &bundle_dir, "--image", &bundle], &[])?;
    tool(&["push", "catalog", &catalog_dir, &catalog], &[])?;
    std::fs::remove_dir_all(&scratch)?;
    Ok(catalog)
}
