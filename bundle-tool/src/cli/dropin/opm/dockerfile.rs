//! `opm generate dockerfile`.
//!
//! Source: `cmd/opm/generate/cmd.go` and `alpha/action/generate_dockerfile.go` of operator-registry v1.73.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use oci_images::labels;
use olm_model::disk::file::normalized;

use super::super::cobra::Matches;
use super::super::{Status, UsageError};

pub(crate) fn run(matches: &Matches) -> Result<Status> {
    let directory = normalized(Path::new(matches.argument(0)));
    // In opm, both flags set the same variable.
    let base = if matches.is_set("binary-image") {
        matches.text("binary-image")
    } else {
        matches.text("base-image")
    };
    let builder = if matches.is_set("binary-image") && !matches.is_set("builder-image") {
        base
    } else {
        matches.text("builder-image")
    };
    if matches.text("builder-image") == "scratch" {
        bail!(UsageError(format!("invalid builder image: {:?}", "scratch")));
    }
    let mut extra = BTreeMap::new();
    for label in matches.list("extra-labels") {
        let Some((key, value)) = label.split_once('=') else {
            bail!(UsageError(format!("invalid label {label:?}")));
        };
        extra.insert(key, value);
    }
    let name = directory.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let path = directory.with_file_name(format!("{name}.Dockerfile"));
    if path.symlink_metadata().is_ok() {
        bail!("path {:?}: file already exists", path.display().to_string());
    }
    if !directory.exists() {
        bail!(UsageError(format!("stat {}: no such file or directory", directory.display())));
    }
    if !directory.is_dir() {
        bail!(UsageError(format!(
            "provided root path {:?} is not a directory",
            directory.display().to_string()
        )));
    }
    if base.is_empty() {
        bail!("base image is unset");
    }
    if name.is_empty() {
        bail!("index directory is unset");
    }
    let text = render(&name, base, builder, &extra)?;
    atomic_files::file(&path, text.as_bytes())
        .with_context(|| format!("failed to write {}", path.display()))?;
    Ok(Status::SUCCESS)
}

/// Rejects a value that would end or continue the line of a Dockerfile that it is written to.
pub(crate) fn check(what: &str, value: &str) -> Result<()> {
    let is_line_break = |char: char| char.is_control() || matches!(char, '\u{2028}' | '\u{2029}');
    if value.contains(is_line_break) {
        bail!(
            "invalid {what} {value:?}: a value in a Dockerfile must not contain line breaks or other control characters"
        );
    }
    if value.ends_with('\\') {
        bail!("invalid {what} {value:?}: a value in a Dockerfile must not end in a backslash");
    }
    Ok(())
}

/// Returns the Dockerfile of the catalog in `directory`.
///
/// # Errors
/// A value is not valid in a Dockerfile.
pub(crate) fn render(
    directory: &str,
    base: &str,
    builder: &str,
    extra: &BTreeMap<&str, &str>,
) -> Result<String> {
    for (what, value) in [("directory name", directory), ("base image", base), ("builder image", builder)] {
        check(what, value)?;
    }
    for (key, value) in extra {
        check("label", key)?;
        check("label", value)?;
    }
    let mut out = format!(
        "# The builder image is expected to contain\n# /bin/opm (with serve subcommand)\nFROM {builder} as builder\n\n\
         # Copy FBC root into image at /configs and pre-populate serve cache\nADD {directory} /configs\n\
         RUN [\"/bin/opm\", \"serve\", \"/configs\", \"--cache-dir=/tmp/cache\", \"--cache-only\"]\n\nFROM {base}\n"
    );
    out.push_str(if base == "scratch" {
        "# OLMv0 CatalogSources that use binary-less images must set:\n# spec:\n#   grpcPodConfig:\n#     extractContent:\n\
         #       catalogDir: /configs\n#       cacheDir: /tmp/cache\n"
    } else {
        "# The base image is expected to contain\n# /bin/opm (with serve subcommand) and /bin/grpc_health_probe\n\n\
         # Configure the entrypoint and command\nENTRYPOINT [\"/bin/opm\"]\n\
         CMD [\"serve\", \"/configs\", \"--cache-dir=/tmp/cache\"]\n"
    });
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "\nCOPY --from=builder /configs /configs\nCOPY --from=builder /tmp/cache /tmp/cache\n\n\
         # Set FBC-specific label for the location of the FBC root directory\n# in the image\nLABEL {}=/configs",
        labels::CONFIGS
    );
    if !extra.is_empty() {
        out.push_str("\n# Set other custom labels\n");
        for (key, value) in extra {
            let _ = writeln!(out, "LABEL \"{key}\"=\"{value}\"");
        }
    }
    Ok(out)
}
