//! The paths of the distribution specification. Names of repositories contain slashes, which no router for fixed
//! segments supports.

use oci_spec::image::Digest;

use super::response::{Code, Failure};
use crate::reference;

/// What a path names. Names, tags and digests are valid by their grammars, and so are safe as paths on disk.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Root,
    Catalog,
    Tags { name: String },
    Referrers { name: String, digest: Digest },
    Manifest { name: String, reference: Reference },
    Blob { name: String, digest: Digest },
    Uploads { name: String },
    Upload { name: String, id: String },
}

/// The name of a manifest.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reference {
    Tag(String),
    Digest(Digest),
}

impl Route {
    pub(crate) fn parse(path: &str) -> Result<Self, Failure> {
        let unknown = || Failure::not_found(Code::NameUnknown, "unknown path");
        let rest = match path.strip_prefix("/v2") {
            Some("" | "/") => return Ok(Self::Root),
            Some(rest) => rest.strip_prefix('/').ok_or_else(unknown)?,
            None => return Err(unknown()),
        };
        if rest == "_catalog" {
            return Ok(Self::Catalog);
        }
        let parts: Vec<&str> = rest.split('/').collect();
        let name = |parts: &[&str]| repository(&parts.join("/"));
        match parts.as_slice() {
            [before @ .., "tags", "list"] => Ok(Self::Tags { name: name(before)? }),
            [before @ .., "blobs", "uploads"] | [before @ .., "blobs", "uploads", ""] => {
                Ok(Self::Uploads { name: name(before)? })
            }
            [before @ .., "blobs", "uploads", id] => {
                if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
                    return Err(Failure::not_found(Code::BlobUploadUnknown, "unknown or expired upload"));
                }
                Ok(Self::Upload { name: name(before)?, id: (*id).to_owned() })
            }
            [before @ .., "blobs", digest] => {
                Ok(Self::Blob { name: name(before)?, digest: self::digest(digest)? })
            }
            [before @ .., "referrers", digest] => {
                Ok(Self::Referrers { name: name(before)?, digest: self::digest(digest)? })
            }
            [before @ .., "manifests", reference] => {
                Ok(Self::Manifest { name: name(before)?, reference: Reference::parse(reference)? })
            }
            _ => Err(unknown()),
        }
    }
}

impl Reference {
    fn parse(text: &str) -> Result<Self, Failure> {
        if text.contains(':') {
            return Ok(Self::Digest(digest(text)?));
        }
        if reference::is_tag(text) {
            Ok(Self::Tag(text.to_owned()))
        } else {
            Err(Failure::not_found(
                Code::ManifestUnknown,
                "invalid tag: expected 1 to 128 letters, digits, `_`, `.` and `-`",
            ))
        }
    }
}

/// Returns `name` if it is a valid name of a repository.
pub(crate) fn repository(name: &str) -> Result<String, Failure> {
    if reference::is_repository(name) {
        Ok(name.to_owned())
    } else {
        let message = "invalid repository name: expected lowercase letters and digits, separated by `.`, `_`, `__`, `-` or `/`";
        Err(Failure::bad(Code::NameInvalid, message))
    }
}

/// Parses a SHA-256 digest. Other algorithms are not supported.
pub(crate) fn digest(text: &str) -> Result<Digest, Failure> {
    let valid = text.starts_with("sha256:") && reference::is_digest(text);
    match text.parse() {
        Ok(digest) if valid => Ok(digest),
        _ => Err(Failure::bad(
            Code::DigestInvalid,
            "invalid digest: expected `sha256:` and 64 lowercase hexadecimal digits",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";

    #[test]
    fn paths_of_the_specification() {
        let digest = || digest(DIGEST).unwrap();
        let name = || "org/sub/name".to_owned();
        for (path, expected) in [
            ("/v2/".to_owned(), Route::Root),
            ("/v2".to_owned(), Route::Root),
            ("/v2/_catalog".to_owned(), Route::Catalog),
            ("/v2/org/sub/name/tags/list".to_owned(), Route::Tags { name: name() }),
            (
                "/v2/org/sub/name/manifests/v1.0".to_owned(),
                Route::Manifest { name: name(), reference: Reference::Tag("v1.0".into()) },
            ),
            (
                format!("/v2/org/sub/name/manifests/{DIGEST}"),
                Route::Manifest { name: name(), reference: Reference::Digest(digest()) },
            ),
            (format!("/v2/org/sub/name/blobs/{DIGEST}"), Route::Blob { name: name(), digest: digest() }),
            (
                format!("/v2/org/sub/name/referrers/{DIGEST}"),
                Route::Referrers { name: name(), digest: digest() },
            ),
            ("/v2/org/sub/name/blobs/uploads/".to_owned(), Route::Uploads { name: name() }),
            (
                "/v2/org/sub/name/blobs/uploads/aB3".to_owned(),
                Route::Upload { name: name(), id: "aB3".into() },
            ),
            ("/v2/blobs/tags/list".to_owned(), Route::Tags { name: "blobs".into() }),
        ] {
            assert_eq!(Route::parse(&path).unwrap(), expected, "{path}");
        }
    }

    #[test]
    fn paths_stay_in_the_directory() {
        for path in [
            "/v2/../x/tags/list",
            "/v2/a/../../b/tags/list",
            "/v2/a//b/tags/list",
            "/v2/_tags/x/tags/list",
            "/v2/A/tags/list",
            "/v2/a/manifests/..",
            "/v2/a/manifests/.hidden",
            "/v2/a/manifests/a%2fb",
            "/v2/a/blobs/sha256:..",
            "/v2/a/blobs/sha256:44136FA355B3678A1146AD16F7E8649E94FB4FC21FE77E8310C060F61CAAFF8A",
            "/v2/a/blobs/uploads/..",
            "/v2/tags/list",
            "/v1/x",
            "/v2x",
        ] {
            assert!(Route::parse(path).is_err(), "{path} was accepted");
        }
    }

    #[test]
    fn names_follow_the_grammar() {
        for name in ["a", "a/b", "a.b", "a_b", "a__b", "a-b", "a---b", "0", "a1/b2-c3"] {
            assert!(repository(name).is_ok(), "{name} was rejected");
        }
        for name in [
            "", "/", "a/", "/a", "a//b", ".a", "a.", "a..b", "a___b", "a_.b", "a-_b", "a._b", "A", "a b",
            "\u{e4}", "a\0",
        ] {
            assert!(repository(name).is_err(), "{name:?} was accepted");
        }
        assert!(repository(&"a".repeat(256)).is_err());
    }
}
