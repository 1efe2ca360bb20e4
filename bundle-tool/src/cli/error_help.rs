//! Errors with the options of this program that help against them: libraries name a remedy, and the option is named here.

use std::error::Error;

use oci_images::registry::server;
use oci_images::registry::{self, Remedy};
use oci_images::{layout, location};

use kube_yaml::text;

/// Returns an error and its causes on one line, with what helps against them.
pub(crate) fn with_help(error: &(dyn Error + 'static)) -> String {
    text::joined(error, &message)
}

/// Returns the message of one error, with what helps against it.
fn message(error: &(dyn Error + 'static)) -> String {
    if let Some(error) = error.downcast_ref::<location::Error>() {
        return match error {
            location::Error::Registry(error) => error.with_remedy(&words),
            location::Error::Layout(error) => message(error),
            _ => text::message(error),
        };
    }
    if let Some(error) = error.downcast_ref::<registry::Error>() {
        return match error {
            registry::Error::Layout(error) => message(error),
            _ => error.with_remedy(&words),
        };
    }
    let help = if let Some(layout::Error::SeveralPlatforms { .. }) = error.downcast_ref() {
        "choose one with --platform"
    } else if let Some(server::Error::NotLoopback(_)) = error.downcast_ref() {
        "use 127.0.0.1, or pass --listen-anywhere"
    } else if let Some(server::Error::NotEncrypted(_)) = error.downcast_ref() {
        "pass a certificate with --tls-cert and --tls-key"
    } else {
        return text::message(error);
    };
    format!("{error}: {help}")
}

/// Returns a remedy in the words of this program.
fn words(remedy: &Remedy) -> String {
    match remedy {
        Remedy::TrustAuthority => {
            "to trust the registry's certificate authority, pass its certificate with --ca-file".to_owned()
        }
        Remedy::UseTls => "the registry seems to use TLS; omit --plain-http".to_owned(),
        Remedy::AllowPlainHttp { host } => {
            let host = host.as_ref().map_or_else(String::new, |host| format!("={host}"));
            format!(
                "the registry seems to use plain HTTP; to send images and passwords unencrypted, pass --plain-http{host}"
            )
        }
        Remedy::LogIn => "log in with `bundle-tool login`, or set REGISTRY_AUTH_FILE".to_owned(),
        Remedy::RaiseIdleTimeout => {
            "check the network and the registry, or set a longer --idle-timeout".to_owned()
        }
        _ => remedy.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use anyhow::Context as _;

    use super::*;

    #[test]
    fn help_names_the_options_of_the_program() {
        let remedies = [
            Remedy::TrustAuthority,
            Remedy::UseTls,
            Remedy::AllowPlainHttp { host: None },
            Remedy::AllowPlainHttp { host: Some("r.lan:5000".to_owned()) },
            Remedy::CheckAddress,
        ];
        let unreachable = |remedy| {
            let (registry, reason) = ("r".to_owned(), "reason".to_owned());
            registry::Error::Unreachable { registry, reason, remedy }
        };
        let mut errors: Vec<anyhow::Error> =
            remedies.map(|remedy| anyhow::Error::new(unreachable(remedy))).into();
        let mirrored = unreachable(Remedy::UseTls);
        errors.push(registry::Error::Mirrored { error: mirrored.into(), mirrors: vec!["m".into()] }.into());
        let (request, after) = ("GET x".to_owned(), Duration::from_secs(1));
        let stalled = registry::Error::Stalled { request: request.clone(), after };
        errors.push(anyhow::Error::new(location::Error::from(stalled)).context("failed to copy"));
        let deadline = registry::Deadline::after(after).with_setting("--timeout");
        let expired: Result<(), _> = Err(registry::Error::Expired { request, deadline });
        errors.push(expired.context("failed to pull").unwrap_err());
        let several = layout::Error::SeveralPlatforms { name: "a".to_owned() };
        errors.push(anyhow::Error::new(location::Error::from(several)).context("failed to copy"));
        errors.push(server::Error::NotLoopback("0.0.0.0:1".parse().unwrap()).into());
        errors.push(server::Error::NotEncrypted("0.0.0.0:1".parse().unwrap()).into());
        let texts: Vec<String> = errors.iter().map(|error| with_help(error.as_ref())).collect();
        insta::assert_snapshot!(texts.join("\n"), @r"
        failed to connect to the registry r: reason; to trust the registry's certificate authority, pass its certificate with --ca-file
        failed to connect to the registry r: reason; the registry seems to use TLS; omit --plain-http
        failed to connect to the registry r: reason; the registry seems to use plain HTTP; to send images and passwords unencrypted, pass --plain-http
        failed to connect to the registry r: reason; the registry seems to use plain HTTP; to send images and passwords unencrypted, pass --plain-http=r.lan:5000
        failed to connect to the registry r: reason; check the address and whether the registry is running
        failed to connect to the registry r: reason; the registry seems to use TLS; omit --plain-http; its mirrors have no such image or failed: m
        failed to copy: `GET x` stalled: less than 32 KiB transferred within 1 s; check the network and the registry, or set a longer --idle-timeout
        failed to pull: `GET x` did not finish within the total timeout of 1 s; set a longer --timeout
        failed to copy: a has images for several platforms, but a Docker archive contains images for one only: choose one with --platform
        0.0.0.0:1 is reachable from other machines, which could read, write and delete images: use 127.0.0.1, or pass --listen-anywhere
        passwords would be sent to 0.0.0.0:1 unencrypted: pass a certificate with --tls-cert and --tls-key
        ");
    }
}
