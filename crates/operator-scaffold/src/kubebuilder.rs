//! The `PROJECT` file of any project that kubebuilder, operator-sdk or this tool created, read leniently.
//!
//! [`Project`](super::Project) is what this tool's own scaffold is a function of, and rejects what it does not know. Here, only what
//! other commands need is read, and unknown fields are ignored.
//!
//! Source: `pkg/config` of kubebuilder v4.

use kube_yaml::{Position, SyntaxError, Value, field, string};

/// A `PROJECT` file of version 2 or 3.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KubebuilderProject {
    /// The version of the format, and where it is.
    pub version: Option<(String, Position)>,
    /// The name of the project.
    pub name: Option<String>,
    /// The keys of the plugins, such as `go.kubebuilder.io/v4`.
    pub plugins: Vec<String>,
    /// The APIs.
    pub resources: Vec<Gvk>,
}

/// A group, a version and a kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gvk {
    /// The group with its domain.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
}

impl KubebuilderProject {
    /// Parses a file.
    ///
    /// # Errors
    /// It is not valid YAML, or exceeds a limit of the parser.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        let parsed = kube_yaml::parse(text.as_bytes());
        if let Some(error) = parsed.error {
            return Err(error);
        }
        let Some(tree) = parsed.documents.first() else { return Ok(Self::default()) };
        let root = tree.root();
        let version = field(root, "version").map(|version| (version.text().to_owned(), version.position()));
        let name = Some(string(root, "projectName")).filter(|name| !name.is_empty());
        // Version 3 lists the plugins, version 2 names one.
        let plugins = field(root, "layout").map_or_else(Vec::new, |layout| {
            let listed: Vec<&str> = layout.items().filter_map(Value::as_str).collect();
            if listed.is_empty() { layout.as_str().into_iter().collect() } else { listed }
        });
        let plugins = plugins.into_iter().map(str::to_owned).filter(|plugin| !plugin.is_empty()).collect();
        // Version 2 has one domain for all resources.
        let domain = if string(root, "version") == "2" { string(root, "domain") } else { "" };
        let resource = |value: Value<'_>| {
            let own = string(value, "domain");
            let domain = if own.is_empty() { domain } else { own };
            let group = match (string(value, "group"), domain) {
                ("", domain) => domain.to_owned(),
                (group, "") => group.to_owned(),
                (group, domain) => format!("{group}.{domain}"),
            };
            Gvk {
                group,
                version: string(value, "version").to_owned(),
                kind: string(value, "kind").to_owned(),
            }
        };
        let resources = field(root, "resources").into_iter().flat_map(Value::items).map(resource).collect();
        Ok(Self { version, name: name.map(str::to_owned), plugins, resources })
    }

    /// Returns the plugins, separated by commas, as annotations of bundles name them.
    #[must_use]
    pub fn layout(&self) -> Option<String> {
        (!self.plugins.is_empty()).then(|| self.plugins.join(","))
    }

    /// Returns whether the API types are in Go: a plugin is for Go, or none is named.
    #[must_use]
    pub fn is_go(&self) -> bool {
        self.plugins.is_empty() || self.plugins.iter().any(|plugin| plugin.starts_with("go."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_are_read_and_unknown_fields_ignored() {
        let three = "domain: example.com\nfuture: {a: b}\nlayout:\n- go.kubebuilder.io/v4\n- x/v1\nprojectName: lake\n\
                     resources:\n- {domain: example.com, group: water, kind: Lake, version: v1}\n- {kind: Pod, version: v1}\nversion: '3'\n";
        let project = KubebuilderProject::parse(three).unwrap();
        assert_eq!(
            project.version.as_ref().map(|(version, at)| (version.as_str(), at.line)),
            Some(("3", 10))
        );
        assert_eq!(project.name.as_deref(), Some("lake"));
        assert_eq!(project.layout().as_deref(), Some("go.kubebuilder.io/v4,x/v1"));
        assert!(project.is_go());
        let gvk = |group: &str, kind: &str| Gvk {
            group: group.to_owned(),
            version: "v1".to_owned(),
            kind: kind.to_owned(),
        };
        assert_eq!(project.resources, [gvk("water.example.com", "Lake"), gvk("", "Pod")]);
        let two = "version: '2'\ndomain: example.com\nlayout: helm.sdk.operatorframework.io/v1\n\
                   resources:\n- {group: water, kind: Lake, version: v1}\n";
        let project = KubebuilderProject::parse(two).unwrap();
        assert_eq!((project.name.as_deref(), project.is_go()), (None, false));
        assert_eq!(project.plugins, ["helm.sdk.operatorframework.io/v1"]);
        assert_eq!(project.resources, [gvk("water.example.com", "Lake")]);
    }

    #[test]
    fn files_without_content_have_nothing_and_invalid_ones_are_errors() {
        for text in ["", "# only a comment\n", "[]\n", "projectName: ''\nlayout: ''\n", "projectName: {}\n"] {
            let project = KubebuilderProject::parse(text).unwrap();
            assert_eq!((project.name, project.plugins.len()), (None, 0), "{text}");
        }
        let error = KubebuilderProject::parse("a: [\n").unwrap_err();
        assert_eq!((error.position.line, error.position.column), (1, 4));
    }
}
