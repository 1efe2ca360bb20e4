//! Errors with the options of this program that help against them.

use std::error::Error;

use oci_images::registry::server;
use oci_images::registry::{self, Remedy};
use oci_images::{layout, place};

use crate::model::text::with_causes;

/// Returns an error and its causes on one line. If one is of a registry, the help in it names this program's options.
pub(super) fn with_help(error: &(dyn Error + 'static)) -> String {
    let mut text = with_causes(error);
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some((general, own)) = help(error) {
            text = text.replace(&general, &own);
        }
        cause = error.source();
    }
    text
}

/// Returns a part of the text of an error of a library, and what replaces it.
fn help(error: &(dyn Error + 'static)) -> Option<(String, String)> {
    if let Some(server::Error::NotLoopback(_)) = error.downcast_ref() {
        return Some(("or allow it explicitly".to_owned(), "or pass --listen-anywhere".to_owned()));
    }
    if let Some(server::Error::NotEncrypted(_)) = error.downcast_ref() {
        let own = "pass a certificate with --tls-cert and --tls-key";
        return Some(("a certificate is required".to_owned(), own.to_owned()));
    }
    let in_layout = |error: &layout::Error| matches!(error, layout::Error::Malformed { .. });
    if matches!(error.downcast_ref(), Some(place::Error::Layout(error)) if in_layout(error))
        || error.downcast_ref().is_some_and(in_layout)
    {
        return Some((": choose a platform".to_owned(), ": choose one with --platform".to_owned()));
    }
    let error = match error.downcast_ref() {
        Some(place::Error::Registry(error)) => error,
        _ => error.downcast_ref::<registry::Error>()?,
    };
    let remedy = error.remedy()?;
    let own = match &remedy {
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
        Remedy::RaiseIdleTimeout => "check the network and the registry, or raise --idle-timeout".to_owned(),
        Remedy::RaiseTimeout => "raise --timeout if that is too short".to_owned(),
        _ => return None,
    };
    Some((remedy.to_string(), own))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use anyhow::Context as _;

    use super::*;

    #[test]
    fn help_names_options() {
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
        errors.push(anyhow::Error::new(place::Error::from(stalled)).context("failed to copy"));
        let expired: Result<(), _> = Err(registry::Error::Expired { request, after });
        errors.push(expired.context("failed to pull").unwrap_err());
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
        failed to copy: `GET x` stalled: less than 32 KiB transferred within 1 s; check the network and the registry, or raise --idle-timeout
        failed to pull: `GET x` did not finish within the total timeout of 1 s; raise --timeout if that is too short
        0.0.0.0:1 is reachable from other machines, which could read, write and delete images: use 127.0.0.1, or pass --listen-anywhere
        passwords would be sent to 0.0.0.0:1 unencrypted: pass a certificate with --tls-cert and --tls-key
        ");
    }
}
