//! How an image was built, as an in-toto statement (v1) with SLSA's predicate for provenance (v1).
//!
//! A statement contains no time and nothing of the machine: the same input gives the same bytes.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value, json};

/// The media type of an in-toto statement in JSON.
pub const MEDIA_TYPE: &str = "application/vnd.in-toto+json";
/// The annotation of an attestation with the type of its predicate, as `BuildKit` writes it.
pub const PREDICATE_ANNOTATION: &str = "in-toto.io/predicate-type";
/// The type of SLSA's predicate.
pub const PREDICATE_TYPE: &str = "https://slsa.dev/provenance/v1";

/// What the parameters of a build mean: `docs/how-to/sign.md` documents it. Other parameters need another UUID.
const BUILD_TYPE: &str = "urn:uuid:0739581f-ffc9-4de9-9b96-5c3f709df276";
/// Who built the image: this tool, wherever it runs.
const BUILDER: &str = "urn:uuid:7a66b7cd-fd28-4b02-a99c-473cfca2a14b";

/// Something with a digest: an image, a revision of a source, a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Resource {
    /// What it is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Where it is from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// Its digests in hexadecimal, by algorithm: `sha256`, `gitCommit`.
    pub digest: BTreeMap<&'static str, String>,
    /// What else is known about it.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub annotations: Map<String, Value>,
}

/// How an image was built.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Build {
    /// What the user asked for.
    pub parameters: Map<String, Value>,
    /// What the image was built from.
    pub dependencies: Vec<Resource>,
}

/// Returns the statement that `build` produced `subjects`.
#[must_use]
pub fn statement(subjects: &[Resource], build: &Build) -> Vec<u8> {
    let statement = json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subjects,
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": build.parameters,
                "resolvedDependencies": build.dependencies,
            },
            "runDetails": {
                "builder": {
                    "id": BUILDER,
                    "version": { "bundle-tool": env!("CARGO_PKG_VERSION") },
                },
            },
        },
    });
    format!("{statement:#}\n").into_bytes()
}

/// Returns the address of a git remote in the form of SPDX, `git+https://example.com/org/repository`, without user, password and
/// query; `None` for a path of this machine, and for what might hide a password elsewhere.
#[must_use]
pub fn source_uri(remote: &str) -> Option<String> {
    let (scheme, host, path) = parts(remote)?;
    Some(format!("git+{scheme}://{host}/{path}"))
}

/// Returns the address of a git remote or of a repository's page as people open it: without user, password, query and `.git`,
/// and with `https` instead of ssh, which forges serve at the same path. `None` as for [`source_uri`].
#[must_use]
pub fn source_url(remote: &str) -> Option<String> {
    let (scheme, host, path) = parts(remote)?;
    let path = path.trim_end_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let name = host.split_once(':').map_or(host, |(name, _)| name);
    // The port is that of ssh.
    let (scheme, host) = if scheme == "ssh" { ("https", name) } else { (scheme, host) };
    (!path.is_empty()).then(|| format!("{scheme}://{host}/{path}"))
}

/// Returns scheme, host and path of a git remote.
fn parts(remote: &str) -> Option<(&str, &str, &str)> {
    let remote = remote.trim();
    let remote = remote.split(['?', '#']).next().unwrap_or_default();
    let (scheme, authority, path) = match remote.split_once("://") {
        Some((scheme, rest)) if matches!(scheme, "https" | "http" | "ssh" | "git") => {
            let (authority, path) = rest.split_once('/')?;
            (scheme, authority, path)
        }
        Some(_) => return None,
        // As scp names files: [USER@]HOST:PATH
        None => {
            let (authority, path) = remote.split_once(':')?;
            // Without a dot, it is a name of this machine's ssh, or a drive.
            authority.contains('.').then_some(("ssh", authority, path.trim_start_matches('/')))?
        }
    };
    let host = authority.rsplit('@').next().unwrap_or_default();
    let (name, port) = host.split_once(':').unwrap_or((host, "0"));
    let is_host = !name.is_empty()
        && name.chars().all(|char| char.is_ascii_alphanumeric() || matches!(char, '.' | '-' | '_'))
        && port.parse::<u16>().is_ok();
    let is_path = !path.is_empty() && path.chars().all(|char| char.is_ascii_graphic() && char != '@');
    (is_host && is_path).then_some((scheme, host, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_names_subject_parameters_and_dependencies() {
        let subject = Resource {
            name: Some("quay.io/example/operator".to_owned()),
            digest: BTreeMap::from([("sha256", "ab".repeat(32))]),
            ..Resource::default()
        };
        let source = Resource {
            uri: source_uri("https://example.com/org/operator.git"),
            digest: BTreeMap::from([("gitCommit", "cd".repeat(20))]),
            annotations: Map::from_iter([("modified".to_owned(), json!(true))]),
            ..Resource::default()
        };
        let build = Build {
            parameters: Map::from_iter([("command".to_owned(), json!("push bundle"))]),
            dependencies: vec![source],
        };
        let statement = String::from_utf8(statement(&[subject], &build)).unwrap();
        insta::assert_snapshot!(statement.replace(env!("CARGO_PKG_VERSION"), "VERSION"));
    }

    #[test]
    fn remotes_are_named_without_secrets() {
        for (remote, expected) in [
            ("https://example.com/org/repo.git", "git+https://example.com/org/repo.git"),
            ("https://alice:secret@example.com:8443/org/repo\n", "git+https://example.com:8443/org/repo"),
            ("https://secret@example.com/org/repo?token=secret#secret", "git+https://example.com/org/repo"),
            ("https://alice:s@cret@example.com/repo", "git+https://example.com/repo"),
            ("ssh://git@example.com/org/repo", "git+ssh://example.com/org/repo"),
            ("git@example.com:org/repo.git", "git+ssh://example.com/org/repo.git"),
            ("example.com:/srv/repo", "git+ssh://example.com/srv/repo"),
            ("git@example.com:/srv/repo?token=secret", "git+ssh://example.com/srv/repo"),
        ] {
            assert_eq!(source_uri(remote).as_deref(), Some(expected), "{remote}");
        }
        for remote in [
            "",
            "/home/alice/repo",
            "../repo",
            "file:///home/alice/repo",
            "https://alice:sec/ret@example.com/repo",
            "alice:secret@example.com:repo",
            "https://example.com",
            "https:///repo",
            "https://example.com/a b",
            "ext::sh -c id",
            "work:org/repo",
            "C:\\repo",
        ] {
            assert_eq!(source_uri(remote), None, "{remote}");
            assert_eq!(source_url(remote), None, "{remote}");
        }
    }

    #[test]
    fn clones_over_ssh_and_https_have_the_same_source() {
        for remote in [
            "https://example.com/org/repo.git",
            "https://example.com/org/repo/",
            "https://alice:secret@example.com/org/repo.git?token=secret",
            "git@example.com:org/repo.git",
            "ssh://git@example.com:2222/org/repo",
        ] {
            assert_eq!(source_url(remote).as_deref(), Some("https://example.com/org/repo"), "{remote}");
        }
        let other = "http://example.com:8080/org/repo.git";
        assert_eq!(source_url(other).as_deref(), Some("http://example.com:8080/org/repo"));
        assert_eq!(source_url("https://example.com/.git"), None);
    }
}
