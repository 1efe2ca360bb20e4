//! The metadata of an operator in a Rust project: `Cargo.toml`, with OLM's own metadata in `[package.metadata.olm]`.

use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use super::base::display_name;
use kube_yaml::text::without_serde_terms;
use olm_model::report::suggest::did_you_mean;

/// Why a `Cargo.toml` cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProjectError {
    /// It is not valid TOML, or a field does not exist or has the wrong type.
    #[error("{file}:{line}:{column}: {message}{}", suggestion(.message))]
    Toml {
        /// The file.
        file: String,
        /// The line, from 1 on.
        line: usize,
        /// The column in characters, from 1 on.
        column: usize,
        /// What is wrong.
        message: String,
    },
    /// It has no package.
    #[error("{0} has no [package]; set --manifest-path to the operator's Cargo.toml")]
    NoPackage(String),
}

/// `[package.metadata.olm]`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Olm {
    /// The package's name in catalogs. Defaults to the crate's.
    pub package: Option<String>,
    /// The display name.
    pub display_name: Option<String>,
    /// The description, in Markdown.
    pub description: Option<String>,
    /// A file with the description.
    pub description_file: Option<String>,
    /// A file with the icon: SVG, PNG, JPEG or GIF.
    pub icon: Option<String>,
    /// Keywords. Default to the crate's.
    pub keywords: Vec<String>,
    /// `OperatorHub`'s categories.
    pub categories: Vec<String>,
    /// The capability level: `Basic Install`, `Seamless Upgrades`…
    pub capabilities: Option<String>,
    /// `alpha`, `beta`, `stable`…
    pub maturity: Option<String>,
    /// The provider.
    pub provider: Option<Link>,
    /// The maintainers. Default to the crate's authors.
    pub maintainers: Vec<Maintainer>,
    /// Links, in addition to the crate's homepage, repository and documentation.
    pub links: Vec<Link>,
    /// The minimum Kubernetes version.
    pub min_kube_version: Option<String>,
    /// The sets of namespaces that the operator can watch.
    pub install_modes: Vec<InstallMode>,
    /// The organization that provides support.
    pub support: Option<String>,
    /// Further annotations of the CSV.
    pub annotations: std::collections::BTreeMap<String, String>,
    /// Whether the bundle has a scorecard configuration.
    pub scorecard: bool,
    /// Dependencies: entries of `metadata/dependencies.yaml`.
    pub dependencies: Vec<Json>,
    /// Properties: entries of `metadata/properties.yaml`.
    pub properties: Vec<Json>,
}

/// A set of namespaces that an operator can watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub enum InstallMode {
    /// The namespace that it is installed in.
    OwnNamespace,
    /// One other namespace.
    SingleNamespace,
    /// Several namespaces.
    MultiNamespace,
    /// All namespaces.
    AllNamespaces,
}

impl InstallMode {
    /// All modes, in the order in which a CSV lists them.
    const ALL: [Self; 4] =
        [Self::OwnNamespace, Self::SingleNamespace, Self::MultiNamespace, Self::AllNamespaces];

    fn name(self) -> &'static str {
        match self {
            Self::OwnNamespace => "OwnNamespace",
            Self::SingleNamespace => "SingleNamespace",
            Self::MultiNamespace => "MultiNamespace",
            Self::AllNamespaces => "AllNamespaces",
        }
    }
}

impl ProjectError {
    fn toml(file: &str, text: &str, error: &toml::de::Error) -> Self {
        let start = error.span().map_or(0, |span| text.floor_char_boundary(span.start));
        let before = &text[..start];
        Self::Toml {
            file: file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before.rsplit('\n').next().unwrap_or_default().chars().count() + 1,
            message: without_serde_terms(&error.message().replace('\n', ", ")),
        }
    }
}

/// Returns a hint for an error that names an unknown word and the known ones, each in backticks.
fn suggestion(message: &str) -> String {
    let mut words = message.split('`').skip(1).step_by(2);
    let Some(unknown) = words.next().filter(|_| message.starts_with("unknown ")) else {
        return String::new();
    };
    did_you_mean(unknown, words)
}

/// A link.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Its text.
    pub name: String,
    /// Its URL.
    #[serde(default)]
    pub url: String,
}

/// A maintainer, a person or a group.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Maintainer {
    /// The name.
    pub name: String,
    /// The email address.
    pub email: String,
}

/// A project: the crate's metadata and OLM's.
#[derive(Debug, Clone, Default)]
pub struct Project {
    /// The crate's name.
    pub name: String,
    /// The crate's version.
    pub version: Option<String>,
    /// The crate's description.
    pub summary: Option<String>,
    /// `Name <address>`
    pub authors: Vec<String>,
    /// Links to homepage, repository and documentation.
    pub pages: Vec<Link>,
    /// The repository's URL.
    pub repository: Option<String>,
    /// The license, as an SPDX expression.
    pub license: Option<String>,
    /// The crate's keywords.
    pub keywords: Vec<String>,
    /// `[package.metadata.olm]`, if the crate has it.
    pub olm: Option<Olm>,
}

/// An icon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Icon {
    /// Its bytes in base64.
    pub data: String,
    /// Its media type, such as `image/svg+xml`.
    pub media_type: &'static str,
}

impl Icon {
    /// Returns the media type for a file name, if consoles support it.
    #[must_use]
    pub fn media_type(file: &str) -> Option<&'static str> {
        match file.rsplit_once('.')?.1.to_ascii_lowercase().as_str() {
            "svg" => Some("image/svg+xml"),
            "png" => Some("image/png"),
            "jpg" | "jpeg" => Some("image/jpeg"),
            "gif" => Some("image/gif"),
            _ => None,
        }
    }
}

impl Project {
    /// Parses a `Cargo.toml`. Inherited fields are read from `workspace`, the workspace's `Cargo.toml`.
    ///
    /// # Errors
    /// It is not valid TOML, has no package, or has an unknown or mistyped field in `[package.metadata.olm]`.
    pub fn parse(file: &str, text: &str, workspace: Option<&str>) -> Result<Self, ProjectError> {
        let failed = |error| ProjectError::toml(file, text, &error);
        let root: Json = toml::from_str(text).map_err(failed)?;
        let package = &root["package"];
        if !package.is_object() {
            return Err(ProjectError::NoPackage(file.to_owned()));
        }
        // The typed part is read from the text itself, so that an error names the line.
        let typed: Manifest = toml::from_str(text).map_err(failed)?;
        let shared: Json = match workspace {
            Some(text) => {
                let failed = |error| ProjectError::toml("the workspace's Cargo.toml", text, &error);
                toml::from_str(text).map_err(failed)?
            }
            None => Json::Null,
        };
        let field = |name: &str| match &package[name] {
            Json::Object(map) if map.get("workspace") == Some(&Json::Bool(true)) => {
                shared["workspace"]["package"][name].clone()
            }
            value => value.clone(),
        };
        let string = |name: &str| field(name).as_str().map(str::to_owned);
        let strings = |name: &str| -> Vec<String> {
            field(name)
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|item| item.as_str().map(str::to_owned))
                .collect()
        };
        let pages =
            [("Homepage", "homepage"), ("Source code", "repository"), ("Documentation", "documentation")];
        Ok(Self {
            name: string("name").unwrap_or_default(),
            version: string("version"),
            summary: string("description"),
            authors: strings("authors"),
            pages: pages
                .into_iter()
                .filter_map(|(name, key)| Some(Link { name: name.to_owned(), url: string(key)? }))
                .collect(),
            repository: string("repository"),
            // Cargo once separated licenses by a slash.
            license: string("license")
                .map(|text| text.split('/').map(str::trim).collect::<Vec<_>>().join(" OR ")),
            keywords: strings("keywords"),
            olm: typed.package.metadata.olm,
        })
    }

    /// Returns the package's name in catalogs.
    #[must_use]
    pub fn package(&self) -> &str {
        self.olm.as_ref().and_then(|olm| olm.package.as_deref()).unwrap_or(&self.name)
    }

    /// Returns the base CSV that the project describes. `description` and `icon` are the contents of the files that it names.
    #[must_use]
    pub fn csv(&self, description: Option<&str>, icon: Option<&Icon>) -> Json {
        let olm = self.olm.clone().unwrap_or_default();
        let package = self.package();
        let mut annotations = Map::new();
        let mut annotate = |key: &str, value: Option<String>| {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                annotations.insert(key.to_owned(), value.into());
            }
        };
        annotate("capabilities", Some(olm.capabilities.unwrap_or_else(|| "Basic Install".to_owned())));
        annotate("categories", Some(olm.categories.join(", ")));
        annotate("containerImage", Some(super::csv::OPERATOR_IMAGE.to_owned()));
        annotate("description", self.summary.clone());
        annotate("repository", self.repository.clone());
        annotate(
            "support",
            olm.support.or_else(|| olm.provider.as_ref().map(|provider| provider.name.clone())),
        );
        for (key, value) in olm.annotations {
            annotate(&key, Some(value));
        }
        let mut spec = Map::new();
        let display = olm.display_name.unwrap_or_else(|| display_name(package));
        spec.insert("displayName".to_owned(), display.into());
        if let Some(description) = description.or(olm.description.as_deref()).or(self.summary.as_deref()) {
            spec.insert("description".to_owned(), description.trim_end().into());
        }
        if let Some(icon) = icon {
            spec.insert("icon".to_owned(), json!([{"base64data": icon.data, "mediatype": icon.media_type}]));
        }
        let supported = |mode: &InstallMode| match olm.install_modes.as_slice() {
            [] => *mode == InstallMode::AllNamespaces,
            modes => modes.contains(mode),
        };
        let modes =
            InstallMode::ALL.iter().map(|mode| json!({"type": mode.name(), "supported": supported(mode)}));
        let modes: Vec<Json> = modes.collect();
        spec.insert("installModes".to_owned(), modes.into());
        let mut list = |key: &str, items: Vec<Json>| {
            if !items.is_empty() {
                spec.insert(key.to_owned(), items.into());
            }
        };
        let keywords = if olm.keywords.is_empty() { &self.keywords } else { &olm.keywords };
        list("keywords", keywords.iter().map(|word| word.as_str().into()).collect());
        list(
            "links",
            self.pages
                .iter()
                .chain(&olm.links)
                .map(|link| json!({"name": link.name, "url": link.url}))
                .collect(),
        );
        let authors = self.authors.iter().filter_map(|author| {
            let (name, email) = author.split_once('<')?;
            Some(json!({"name": name.trim(), "email": email.trim_end_matches('>').trim()}))
        });
        let maintainers =
            olm.maintainers.iter().map(|person| json!({"name": person.name, "email": person.email}));
        list(
            "maintainers",
            if olm.maintainers.is_empty() { authors.collect() } else { maintainers.collect() },
        );
        spec.insert("maturity".to_owned(), olm.maturity.unwrap_or_else(|| "alpha".to_owned()).into());
        if let Some(version) = olm.min_kube_version {
            spec.insert("minKubeVersion".to_owned(), version.into());
        }
        if let Some(provider) = olm.provider {
            let mut link = json!({"name": provider.name});
            if !provider.url.is_empty() {
                link["url"] = provider.url.into();
            }
            spec.insert("provider".to_owned(), link);
        }
        spec.insert("version".to_owned(), "0.0.0".into());
        spec.insert("install".to_owned(), json!({"strategy": "deployment"}));
        json!({
            "apiVersion": "operators.coreos.com/v1alpha1",
            "kind": "ClusterServiceVersion",
            "metadata": {
                "annotations": annotations,
                "name": format!("{package}.v0.0.0"),
                "namespace": "placeholder",
            },
            "spec": spec,
        })
    }
}

#[derive(Deserialize)]
struct Manifest {
    package: Package,
}

#[derive(Deserialize)]
struct Package {
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Default, Deserialize)]
struct Metadata {
    olm: Option<Olm>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const CARGO: &str = r#"
[package]
name = "lake-operator"
version.workspace = true
description = "Digs lakes"
authors = ["Ada <ada@example.com>"]
repository.workspace = true
license = "MIT/Apache-2.0"
keywords = ["water"]

[package.metadata.olm]
display-name = "Lakes"
categories = ["Storage", "Networking"]
install-modes = ["OwnNamespace", "AllNamespaces"]
provider = { name = "Example" }
"#;

    #[test]
    fn the_crate_and_its_workspace_describe_the_operator() {
        let workspace =
            "[workspace.package]\nversion = \"1.2.3\"\nrepository = \"https://example.com/lake\"\n";
        let project = Project::parse("Cargo.toml", CARGO, Some(workspace)).unwrap();
        assert_eq!(project.version.as_deref(), Some("1.2.3"));
        assert_eq!(project.license.as_deref(), Some("MIT OR Apache-2.0"));
        let csv = project.csv(None, None);
        assert_eq!(csv["metadata"]["annotations"]["categories"], "Storage, Networking");
        assert_eq!(csv["metadata"]["annotations"]["repository"], "https://example.com/lake");
        assert_eq!(csv["metadata"]["annotations"]["support"], "Example");
        assert_eq!(csv["spec"]["maintainers"], json!([{"name": "Ada", "email": "ada@example.com"}]));
        assert_eq!(csv["spec"]["links"], json!([{"name": "Source code", "url": "https://example.com/lake"}]));
        assert_eq!(csv["spec"]["installModes"][3], json!({"type": "AllNamespaces", "supported": true}));
        assert_eq!(csv["spec"]["installModes"][1], json!({"type": "SingleNamespace", "supported": false}));
    }

    #[test]
    fn a_misspelt_field_is_named_with_its_line() {
        let text = CARGO.replace("display-name", "displayname");
        let error = Project::parse("Cargo.toml", &text, None).unwrap_err().to_string();
        assert!(error.starts_with("Cargo.toml:12:1: ") && error.contains("displayname"), "{error}");
        assert!(error.ends_with(": did you mean `display-name`?"), "{error}");
        assert!(Project::parse("Cargo.toml", "[workspace]\n", None).is_err());
    }

    #[test]
    fn a_misspelt_install_mode_is_an_error() {
        let text = CARGO.replace("\"OwnNamespace\"", "\"OwnNamespaces\"");
        let error = Project::parse("Cargo.toml", &text, None).unwrap_err().to_string();
        assert!(error.contains("unknown variant `OwnNamespaces`"), "{error}");
        assert!(error.ends_with(": did you mean `OwnNamespace`?"), "{error}");
    }
}
