//! The names of images: `quay.io/org/app:v1@sha256:…`.
//!
//! Source: the grammar of github.com/distribution/reference v0.6 (`regexp.go`, `normalize.go`), which Docker, Kubernetes
//! and OLM parse image names with.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// The registry of names that do not have one.
const DEFAULT_REGISTRY: &str = "docker.io";
/// Another name of it, which serves its API.
const LEGACY_REGISTRY: &str = "index.docker.io";
/// What stands before names of one component there.
const OFFICIAL: &str = "library/";
/// The tag of names without a tag and a digest.
const LATEST: &str = "latest";
/// How many bytes a repository's name may have.
pub const MAX_REPOSITORY: usize = 255;
/// How many bytes a tag may have.
pub const MAX_TAG: usize = 128;

/// Why a string is no image name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReferenceError {
    /// Nothing is there.
    #[error("the image name is empty")]
    Empty,
    /// The name before tag and digest.
    #[error(
        "invalid repository name: expected lowercase letters and digits, separated by `.`, `_`, `__`, `-` and `/`"
    )]
    Name,
    /// The name begins with a scheme, such as `https://`.
    #[error("must not begin with `{0}`")]
    Scheme(String),
    /// The name is an identifier of 64 hexadecimal digits.
    #[error("a name of 64 hexadecimal digits would be treated as an image ID")]
    Identifier,
    /// The name is longer than [`MAX_REPOSITORY`].
    #[error("the repository name is longer than {MAX_REPOSITORY} bytes")]
    NameTooLong,
    /// What follows the colon.
    #[error("invalid tag: expected at most {MAX_TAG} letters, digits, `_`, `.` and `-`")]
    Tag,
    /// What follows the `@`.
    #[error("invalid digest: expected `sha256:` and 64 lowercase hexadecimal digits")]
    Digest,
}

/// An image's name, with the registry that names without one stand for.
///
/// ```
/// use oci_images::reference::Reference;
///
/// let image: Reference = "quay.io/org/app:v1".parse()?;
/// assert_eq!((image.registry(), image.repository(), image.tag()), ("quay.io", "org/app", Some("v1")));
/// assert_eq!("busybox".parse::<Reference>()?.to_string(), "docker.io/library/busybox");
/// # Ok::<(), oci_images::reference::ReferenceError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reference {
    registry: String,
    repository: String,
    tag: Option<String>,
    digest: Option<String>,
}

impl Reference {
    /// Returns the reference to a registry itself, without a repository.
    #[cfg(feature = "registry")]
    pub(crate) fn to_registry(registry: &str) -> Self {
        Self { registry: registry.to_owned(), repository: String::new(), tag: None, digest: None }
    }

    /// Returns the same repository at another tag or digest.
    #[must_use]
    pub fn at(&self, version: &str) -> Self {
        let (tag, digest) = if version.contains(':') { (None, Some(version)) } else { (Some(version), None) };
        let (registry, repository) = (self.registry.clone(), self.repository.clone());
        Self { registry, repository, tag: tag.map(str::to_owned), digest: digest.map(str::to_owned) }
    }

    /// Returns the same reference with the tag `latest`, if it has neither a tag nor a digest.
    #[cfg(feature = "registry")]
    #[must_use]
    pub(crate) fn or_latest(mut self) -> Self {
        if self.tag.is_none() && self.digest.is_none() {
            self.tag = Some(LATEST.to_owned());
        }
        self
    }

    /// Returns the digest, the tag or `latest`: what is read.
    #[must_use]
    pub fn version(&self) -> &str {
        self.digest().or(self.tag()).unwrap_or(LATEST)
    }

    /// Returns the host that serves the registry's API.
    #[cfg(feature = "registry")]
    pub(crate) fn host(&self) -> &str {
        if self.registry == DEFAULT_REGISTRY { LEGACY_REGISTRY } else { &self.registry }
    }

    /// The registry: `quay.io`, `localhost:5000`.
    #[must_use]
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// Returns whether the registry is on this machine: `localhost`, or a loopback address in literal form.
    #[must_use]
    pub fn is_on_loopback(&self) -> bool {
        is_loopback(&self.registry)
    }

    /// The repository within the registry: `org/app`.
    #[must_use]
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// The tag, where there is one.
    #[must_use]
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// The digest, where there is one.
    #[must_use]
    pub fn digest(&self) -> Option<&str> {
        self.digest.as_deref()
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.registry, self.repository)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        if let Some(digest) = &self.digest {
            write!(f, "@{digest}")?;
        }
        Ok(())
    }
}

impl FromStr for Reference {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        if text.is_empty() {
            return Err(ReferenceError::Empty);
        }
        if text.len() == 64 && text.bytes().all(is_hex) {
            return Err(ReferenceError::Identifier);
        }
        let (rest, digest) = match text.split_once('@') {
            Some((rest, digest)) => (rest, Some(digest)),
            None => (text, None),
        };
        // A colon before the last slash separates a port.
        let last = rest.rfind('/').map_or(0, |slash| slash + 1);
        let (name, tag) = match rest[last..].find(':') {
            Some(colon) => (&rest[..last + colon], Some(&rest[last + colon + 1..])),
            None => (rest, None),
        };
        let (registry, repository) = split(name).map_err(|error| scheme(text).unwrap_or(error))?;
        if tag.is_some_and(|tag| !is_tag(tag)) {
            return Err(ReferenceError::Tag);
        }
        if digest.is_some_and(|digest| !is_digest(digest)) {
            return Err(ReferenceError::Digest);
        }
        Ok(Self { registry, repository, tag: tag.map(str::to_owned), digest: digest.map(str::to_owned) })
    }
}

/// Returns whether a registry, with or without a port, is `localhost` or a loopback address in literal form.
#[must_use]
pub fn is_loopback(registry: &str) -> bool {
    let host = match registry.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => registry.split_once(':').map_or(registry, |(host, _)| host),
    };
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Returns the error for a name that begins with a scheme.
fn scheme(text: &str) -> Option<ReferenceError> {
    let (scheme, _) = text.split_once("://")?;
    let is_scheme =
        (1..16).contains(&scheme.len()) && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_scheme.then(|| ReferenceError::Scheme(format!("{scheme}://")))
}

/// The registry and the repository of a name.
fn split(name: &str) -> Result<(String, String), ReferenceError> {
    let (first, rest) = match name.split_once('/') {
        Some((first, rest)) => (Some(first), rest),
        None => (None, name),
    };
    let rest_is_path = rest.split('/').all(is_path_component);
    let (registry, mut repository) = match first {
        Some(first) if (is_host(first) || is_path_component(first)) && rest_is_path => {
            // A namespace has no uppercase letters: with them, it is a host.
            let names_registry = first.contains(['.', ':', '['])
                || first == "localhost"
                || first.contains(|c: char| c.is_ascii_uppercase());
            if names_registry { (first, rest.to_owned()) } else { (DEFAULT_REGISTRY, name.to_owned()) }
        }
        None if rest_is_path => (DEFAULT_REGISTRY, name.to_owned()),
        _ => return Err(ReferenceError::Name),
    };
    let registry = if registry == LEGACY_REGISTRY { DEFAULT_REGISTRY } else { registry };
    if registry == DEFAULT_REGISTRY && !repository.contains('/') {
        repository.insert_str(0, OFFICIAL);
    }
    if repository.len() > MAX_REPOSITORY {
        return Err(ReferenceError::NameTooLong);
    }
    Ok((registry.to_owned(), repository))
}

/// Whether `text` is the name of a repository within a registry.
#[cfg(feature = "server")]
pub(crate) fn is_repository(text: &str) -> bool {
    text.len() <= MAX_REPOSITORY && text.split('/').all(is_path_component)
}

/// Lowercase letters and digits, separated by `.`, `_`, `__` or any number of `-`.
fn is_path_component(text: &str) -> bool {
    let plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    let ends = [bytes.first(), bytes.last()];
    ends.into_iter().all(|end| end.is_some_and(plain))
        && bytes.split(plain).all(|separator| {
            matches!(separator, b"" | b"." | b"_" | b"__") || separator.iter().all(|byte| *byte == b'-')
        })
}

/// A domain name or an address, with an optional port.
fn is_host(text: &str) -> bool {
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, after)) => {
            let is_address =
                !address.is_empty() && address.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b':');
            let port = if after.is_empty() { Some(None) } else { after.strip_prefix(':').map(Some) };
            return is_address && port.is_some_and(|port| port.is_none_or(is_port));
        }
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let label = |label: &str| {
        !label.starts_with('-')
            && !label.ends_with('-')
            && !label.is_empty()
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    host.split('.').all(label) && port.is_none_or(is_port)
}

fn is_port(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether `text` is a tag.
pub(crate) fn is_tag(text: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    (1..=MAX_TAG).contains(&text.len())
        && text.bytes().next().is_some_and(word)
        && text.bytes().all(|byte| word(byte) || matches!(byte, b'.' | b'-'))
}

/// Whether `text` is a digest.
pub(crate) fn is_digest(text: &str) -> bool {
    let Some((algorithm, encoded)) = text.split_once(':') else { return false };
    let length = match algorithm {
        "sha256" => 64,
        "sha384" => 96,
        "sha512" => 128,
        _ => return false,
    };
    encoded.len() == length && encoded.bytes().all(is_hex)
}

fn is_hex(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

#[cfg(test)]
mod tests {
    use oci_spec::distribution::Reference as Other;
    use proptest::prelude::*;

    use super::*;

    /// Strings close to image names.
    fn close_to_names() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "a",
            "b1",
            "A",
            "localhost",
            "x.io",
            "index.docker.io",
            "docker.io",
            ":",
            ":5000",
            "/",
            "//",
            ".",
            "..",
            "-",
            "--",
            "_",
            "__",
            "___",
            "@",
            "@sha256:",
            "@sha512:",
            "@md5:",
            " ",
            "",
            ":latest",
            ":v1.0-rc_1",
            "%",
            "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde",
            "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
            "ffffffffffffffffffffffffffffffff",
        ]);
        prop_oneof![
            prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat()),
            "[a-zA-Z0-9._:/@-]{0,20}",
            "(x\\.io(:[0-9]{1,5})?/)?[a-z0-9]([a-z0-9._-]{0,6}[a-z0-9])?(/[a-z]{1,3}){0,2}(:[\\x20-\\x7e]{0,5})?(@sha256:[0-9a-f]{63,65})?",
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn verdicts_and_parts_are_those_of_the_expression(text in close_to_names()) {
            // An image ID is none of the names that are normalized.
            prop_assume!(text.len() != 64 || !text.bytes().all(is_hex));
            // The expression takes digests in uppercase, which distribution rejects.
            let digest = text.split_once('@').map_or("", |(_, digest)| digest);
            prop_assume!(!digest.contains(|c: char| c.is_ascii_uppercase()));
            // The expression takes hosts in uppercase for namespaces of the default registry.
            let host = text.split_once('/').map_or("", |(host, _)| host);
            if host.contains(|c: char| c.is_ascii_uppercase()) {
                return Ok(());
            }
            match (text.parse::<Reference>(), text.parse::<Other>()) {
                (Ok(ours), Ok(theirs)) => {
                    prop_assert_eq!(ours.registry(), theirs.registry());
                    prop_assert_eq!(ours.repository(), theirs.repository());
                    prop_assert_eq!(ours.digest(), theirs.digest());
                    let tag = ours.tag().or(if ours.digest().is_none() { Some("latest") } else { None });
                    prop_assert_eq!(tag, theirs.tag());
                }
                (Err(_), Err(_)) => {}
                (ours, theirs) => prop_assert!(false, "{:?}: {:?}, but {:?}", text, ours, theirs),
            }
        }
    }

    #[test]
    fn names_differ_from_the_expression_as_in_distribution() {
        let parse = |text: &str| text.parse::<Reference>();
        assert!(parse("[2001:db8::1]:5000/a/b").is_ok());
        assert!(parse("[::1]/a").is_ok());
        assert_eq!(parse("Host/a").map(|name| name.to_string()), Ok("Host/a".to_owned()));
        assert_eq!(parse("https://x.io/a:v1"), Err(ReferenceError::Scheme("https://".to_owned())));
        assert_eq!(parse("://x.io/a:v1"), Err(ReferenceError::Name));
        assert_eq!(parse("[]/a"), Err(ReferenceError::Name));
        assert_eq!(parse("[::1]x/a"), Err(ReferenceError::Name));
        assert_eq!(parse("a:é"), Err(ReferenceError::Tag));
        assert_eq!(parse(&format!("a@sha256:{}", "A".repeat(64))), Err(ReferenceError::Digest));
        assert_eq!(parse(&"a".repeat(64)), Err(ReferenceError::Identifier));
        assert_eq!(parse(&format!("x.io/{}", "a".repeat(256))), Err(ReferenceError::NameTooLong));
        assert!(parse(&format!("x.io/{}", "a".repeat(255))).is_ok());
        assert_eq!(parse(&format!("a:{}", "v".repeat(129))), Err(ReferenceError::Tag));
    }

    #[test]
    fn loopback_registries_are_on_this_machine() {
        for (name, is_on_loopback) in [
            ("localhost/x", true),
            ("localhost:5000/x:v1", true),
            ("127.0.0.1:5000/x", true),
            ("127.1.2.3/x", true),
            ("[::1]/x:v1", true),
            ("[::1]:5000/x", true),
            ("localhost", false),
            ("localhost.example.com/x", false),
            ("[::2]:5000/x", false),
            ("10.0.0.1:5000/x", false),
            ("quay.io/localhost/x", false),
        ] {
            assert_eq!(name.parse::<Reference>().unwrap().is_on_loopback(), is_on_loopback, "{name}");
        }
    }
}
