//! The flags of both tools that determine how registries are reached.

use super::UsageError;
use super::cobra::Matches;
use super::native::Becomes;
use crate::cli::images::{Location, RegistryArgs};
use oci_images::reference::is_loopback;

/// What the flags for registries without TLS become: those of the tools apply to all registries, and to certificates, too.
pub(crate) const INSECURE: Becomes = Becomes::Missing(
    "use `--plain-http=HOST:PORT` or `--insecure-skip-tls-verify`, depending on the registry",
);

/// Returns how the registries of images are reached.
///
/// Each of `--use-http` and `--skip-tls-verify` accepts both certificates that cannot be verified and registries without TLS, as
/// opm's client does. Registries on this machine require no flag, as in docker.
///
/// Source: `cmd/opm/internal/util/util.go` of operator-registry v1.73, `docker/docker_client.go` of containers/image.
pub(crate) fn registries<'i>(
    matches: &Matches,
    images: impl IntoIterator<Item = &'i str>,
) -> Result<RegistryArgs, UsageError> {
    let is_insecure = is_insecure(matches)?;
    let mut images = images.into_iter().filter(|image| is_image(image)).peekable();
    let is_here = images.peek().is_some() && images.all(is_on_this_machine);
    Ok(RegistryArgs::without_options(is_insecure || is_here))
}

/// Returns whether the flags accept registries without a valid certificate.
pub(crate) fn is_insecure(matches: &Matches) -> Result<bool, UsageError> {
    let [skip_tls, skip_verify, http] =
        ["skip-tls", "skip-tls-verify", "use-http"].map(|name| matches.bool(name));
    let conflict = |text: &str| Err(UsageError(format!("invalid flag combination: {text}")));
    if matches.is_set("skip-tls") && matches.is_set("use-http") {
        return conflict("cannot use --use-http with --skip-tls");
    }
    if matches.is_set("skip-tls") && matches.is_set("skip-tls-verify") {
        return conflict("cannot use --skip-tls-verify with --skip-tls");
    }
    if skip_verify && http {
        return conflict("--use-http and --skip-tls-verify cannot both be true");
    }
    Ok(skip_tls || skip_verify || http)
}

/// Returns whether a reference is the name of an image in a registry.
fn is_image(reference: &str) -> bool {
    Location::of_image(reference)
        .is_ok_and(|found| found.is_some_and(|location| location.registry().is_some()))
}

/// Returns whether an image is in a registry on this machine. What follows the registry may contain variables of a shell.
pub(crate) fn is_on_this_machine(image: &str) -> bool {
    image.trim_start_matches("docker://").split_once('/').is_some_and(|(registry, _)| is_loopback(registry))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registries_on_this_machine_are_recognized_before_variables_are_expanded() {
        for (image, is_on) in [
            ("localhost:5000/x:$TAG", true),
            ("docker://localhost/x", true),
            ("[::1]/x:v1", true),
            ("[::1]:5000/$(IMG)", true),
            ("localhost", false),
            ("$REGISTRY/x", false),
            ("quay.io/x", false),
        ] {
            assert_eq!(is_on_this_machine(image), is_on, "{image}");
        }
    }
}
