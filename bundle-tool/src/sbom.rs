//! Software bills of materials: a `Cargo.lock` as a document in SPDX 2.3 (ISO/IEC 5962), and which format a document has.

use std::collections::BTreeMap;

use oci_images::layout::sha256;
use serde::Deserialize;
use serde_json::{Value, json};

/// The media type of SPDX in JSON.
pub const SPDX: &str = "application/spdx+json";
/// The media type of `CycloneDX` in JSON.
pub const CYCLONE_DX: &str = "application/vnd.cyclonedx+json";

/// What a `Cargo.lock` cannot be read for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file is not TOML, or has no packages as Cargo writes them.
    #[error("invalid Cargo.lock: {message} at line {line}, column {column}")]
    Syntax {
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
        /// What is wrong.
        message: String,
    },
    /// A dependency is not among the packages.
    #[error("`{package}` depends on `{dependency}`, which the file does not contain")]
    Dangling {
        /// The package.
        package: String,
        /// Its dependency, as the file names it.
        dependency: String,
    },
}

#[derive(Deserialize)]
struct Lock {
    package: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    source: Option<String>,
    checksum: Option<String>,
    #[serde(default)]
    dependencies: Vec<String>,
}

impl Package {
    fn id(&self, index: usize) -> String {
        let allowed = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
        let name: String = format!("{}-{}", self.name, self.version).chars().map(allowed).collect();
        // Two sources may have the same package.
        format!("SPDXRef-{index}-{name}")
    }

    /// The package URL (`purl-spec`, type cargo).
    fn purl(&self) -> String {
        let encode = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        let repository = self.source.as_deref().filter(|source| source.starts_with("git+"));
        let qualifier = repository.map(|url| format!("?vcs_url={}", encode(url))).unwrap_or_default();
        format!("pkg:cargo/{}@{}{qualifier}", encode(&self.name), encode(&self.version))
    }

    /// Whether a dependency means this package: `NAME`, `NAME VERSION` or `NAME VERSION (SOURCE)`.
    fn is(&self, dependency: &str) -> bool {
        let mut words = dependency.split(' ');
        let source = || self.source.as_deref().unwrap_or_default();
        words.next() == Some(&self.name)
            && words.next().is_none_or(|version| version == self.version)
            && words.next().is_none_or(|word| word.trim_matches(['(', ')']) == source())
    }
}

/// Returns the packages of a `Cargo.lock` as SPDX: their names, versions, package URLs, checksums and dependencies. `name` is what the
/// document is about, `created` its time in RFC 3339. The same input gives the same bytes.
///
/// # Errors
///
/// [`Error`] for what Cargo does not write.
pub fn from_cargo_lock(text: &str, name: &str, created: &str) -> Result<Vec<u8>, Error> {
    let Lock { package: packages } = toml::from_str(text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        Error::Syntax {
            line: before.matches('\n').count() + 1,
            column: before.rsplit('\n').next().unwrap_or_default().chars().count() + 1,
            message: kube_yaml::text::without_serde_terms(error.message()),
        }
    })?;
    let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, package) in packages.iter().enumerate() {
        by_name.entry(&package.name).or_default().push(index);
    }
    let mut relationships = Vec::new();
    let mut described = Vec::new();
    for (index, package) in packages.iter().enumerate() {
        // The packages of a workspace have no source.
        if package.source.is_none() {
            relationships.push(relationship("SPDXRef-DOCUMENT", "DESCRIBES", &package.id(index)));
        }
        for dependency in &package.dependencies {
            let named = by_name.get(dependency.split(' ').next().unwrap_or_default());
            let found = named.into_iter().flatten().find(|found| packages[**found].is(dependency));
            let Some(found) = found else {
                let (package, dependency) = (package.name.clone(), dependency.clone());
                return Err(Error::Dangling { package, dependency });
            };
            relationships.push(relationship(&package.id(index), "DEPENDS_ON", &packages[*found].id(*found)));
        }
        described.push(describe(package, index));
    }
    let document = json!({
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        "documentNamespace": namespace(sha256(format!("{name}\n{text}").as_bytes()).as_ref()),
        "creationInfo": {
            "created": created,
            "creators": [concat!("Tool: bundle-tool-", env!("CARGO_PKG_VERSION"))],
        },
        "packages": described,
        "relationships": relationships,
    });
    Ok(format!("{document:#}\n").into_bytes())
}

/// Returns the URI of a document: a UUID (RFC 9562, version 8) made of a digest `sha256:HEX`.
fn namespace(digest: &str) -> String {
    let hex = digest.trim_start_matches("sha256:");
    let (time, middle, high, low, node) = (&hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..32]);
    format!("urn:uuid:{time}-{middle}-8{high}-8{low}-{node}")
}

fn relationship(from: &str, kind: &str, to: &str) -> Value {
    json!({ "spdxElementId": from, "relationshipType": kind, "relatedSpdxElement": to })
}

fn describe(package: &Package, index: usize) -> Value {
    let mut described = json!({
        "SPDXID": package.id(index),
        "name": package.name,
        "versionInfo": package.version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": false,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION",
        "externalRefs": [{
            "referenceCategory": "PACKAGE-MANAGER",
            "referenceType": "purl",
            "referenceLocator": package.purl(),
        }],
    });
    if let Some(checksum) = &package.checksum {
        described["checksums"] = json!([{ "algorithm": "SHA256", "checksumValue": checksum }]);
    }
    described
}

/// Returns the media type of a bill of materials in JSON; `None` if it is neither SPDX nor `CycloneDX`.
#[must_use]
pub fn media_type(document: &[u8]) -> Option<&'static str> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Head {
        spdx_version: Option<String>,
        bom_format: Option<String>,
    }
    let head: Head = serde_json::from_slice(document).ok()?;
    match head {
        Head { spdx_version: Some(_), .. } => Some(SPDX),
        Head { bom_format: Some(format), .. } if format == "CycloneDX" => Some(CYCLONE_DX),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = r#"
version = 4

[[package]]
name = "operator"
version = "0.1.0"
dependencies = ["kube", "syn 2.0.0", "forked 1.0.0 (git+https://example.com/forked?rev=1#1)"]

[[package]]
name = "kube"
version = "5.0.0+extra"
source = "registry+https://example.com/index"
checksum = "aa"
dependencies = ["syn 3.0.0"]

[[package]]
name = "syn"
version = "2.0.0"
source = "registry+https://example.com/index"

[[package]]
name = "syn"
version = "3.0.0"
source = "registry+https://example.com/index"

[[package]]
name = "forked"
version = "1.0.0"
source = "git+https://example.com/forked?rev=1#1"
"#;

    #[test]
    fn a_lock_file_becomes_spdx() {
        let document = from_cargo_lock(LOCK, "operator:v1", "1970-01-01T00:00:00Z").unwrap();
        assert_eq!(document, from_cargo_lock(LOCK, "operator:v1", "1970-01-01T00:00:00Z").unwrap());
        assert_eq!(media_type(&document), Some(SPDX));
        insta::assert_snapshot!(String::from_utf8(document).unwrap());
    }

    #[test]
    fn what_is_not_a_lock_file_is_an_error() {
        let error = |text: &str| from_cargo_lock(text, "x", "x").unwrap_err().to_string();
        assert_eq!(error("version = 9"), "invalid Cargo.lock: missing field `package` at line 1, column 1");
        let expected = "invalid Cargo.lock: expected a string, found integer `1` at line 2, column 8";
        assert_eq!(error("[[package]]\nname = 1"), expected);
        assert!(error("{}").starts_with("invalid Cargo.lock: "));
        let dangling = "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\ndependencies = [\"b\"]";
        assert_eq!(error(dangling), "`a` depends on `b`, which the file does not contain");
    }

    #[test]
    fn formats_are_recognized() {
        assert_eq!(media_type(br#"{"bomFormat": "CycloneDX", "specVersion": "1.6"}"#), Some(CYCLONE_DX));
        for other in ["", "{}", "[]", r#"{"bomFormat": "Other"}"#] {
            assert_eq!(media_type(other.as_bytes()), None, "{other}");
        }
    }
}
