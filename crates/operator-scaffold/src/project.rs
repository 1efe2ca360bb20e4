//! The `PROJECT` file: what a project consists of, in version 3 of kubebuilder's format.
//!
//! The scaffold is a function of this file: a command changes it, and the files follow.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::error::Error;
use super::version::Version;
use super::{names, plugins};
use kube_yaml::text::without_serde_terms;

/// The name of the file.
pub const FILE: &str = "PROJECT";

/// The version of the file's format.
pub const FORMAT: &str = "3";

/// The maximum number of resources of a project.
pub const MAX_RESOURCES: usize = 200;

const HEADER: &str = "\
# Written by bundle-tool. It records what the project was scaffolded from: change it with
# `bundle-tool create` and `bundle-tool edit`, and keep it in git.
";

/// A project: the input of the scaffold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// The project's name: package, namespace and prefix of all objects.
    pub name: String,
    /// The domain of the API groups.
    pub domain: String,
    /// Where the source code is, such as `example.com/flight-operator`.
    pub repo: String,
    /// Whether files of an API are in a directory of its group.
    pub multigroup: bool,
    /// Keys of the plugins that have no configuration here, sorted.
    pub plugins: Vec<&'static str>,
    /// Who the copyright belongs to.
    pub owner: Option<String>,
    /// The license of the source code.
    pub license: License,
    /// Where the runtime crate comes from.
    pub runtime: Runtime,
    /// The resources in the order of their creation.
    pub resources: Vec<Resource>,
}

/// The license of a project.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum License {
    /// The Apache License 2.0.
    #[default]
    Apache2,
    /// None: Cargo.toml names none, and there is no LICENSE.
    None,
}

/// Where the runtime crate comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Runtime {
    /// A copy in the project.
    Vendored,
    /// A directory, absolute or relative to the project.
    Path(String),
}

/// One version of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// The group without the domain; may be empty.
    pub group: String,
    /// The version.
    pub version: Version,
    /// The kind.
    pub kind: String,
    /// The plural in lower case.
    pub plural: String,
    /// Whether objects are in namespaces.
    pub namespaced: bool,
    /// Whether there is a controller.
    pub controller: bool,
    /// The webhooks.
    pub webhooks: Webhooks,
    /// The image to deploy, of the plugin `deploy-image`.
    pub image: Option<DeployImage>,
}

/// The webhooks of a resource.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Webhooks {
    /// Sets defaults.
    pub defaulting: bool,
    /// Validates.
    pub validation: bool,
    /// Converts between the versions of the kind.
    pub conversion: bool,
}

impl Webhooks {
    /// Returns whether there is one.
    #[must_use]
    pub fn any(&self) -> bool {
        let Self { defaulting, validation, conversion } = *self;
        defaulting || validation || conversion
    }
}

/// What the plugin `deploy-image` runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct DeployImage {
    /// The image.
    pub image: String,
    /// The command: words separated by commas.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub container_command: String,
    /// The port.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "text")]
    pub container_port: Option<u16>,
    /// The user id.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "text")]
    pub run_as_user: Option<u32>,
}

/// Numbers as strings, as kubebuilder writes them.
mod text {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    #[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
    pub(crate) fn serialize<T: ToString, S: Serializer>(value: &Option<T>, to: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => to.serialize_str(&value.to_string()),
            None => to.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, T: std::str::FromStr, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<T>, D::Error> {
        let text = String::deserialize(from)?;
        let invalid = || D::Error::custom(format!("invalid number `{text}`"));
        if text.is_empty() { Ok(None) } else { text.parse().map(Some).map_err(|_| invalid()) }
    }
}

/// The largest user id that Kubernetes accepts.
const MAX_USER: u32 = i32::MAX as u32;

impl DeployImage {
    /// Returns the words of the command.
    #[must_use]
    pub fn command(&self) -> Vec<&str> {
        self.container_command.split(',').filter(|word| !word.is_empty()).collect()
    }

    fn check(&self) -> Result<(), Error> {
        let Self { image, container_command, container_port, run_as_user } = self;
        let invalid = |what, value: &str, reason: &str| {
            Err(Error::Name { what, value: value.to_owned(), reason: reason.to_owned() })
        };
        let allowed = |c: char| c.is_ascii_alphanumeric() || "._-/:@".contains(c);
        if image.is_empty()
            || image.len() > 512
            || !image.chars().all(allowed)
            || !image.starts_with(|c: char| c.is_ascii_alphanumeric())
        {
            return invalid(
                "image",
                image,
                "must be an image reference such as `docker.io/library/memcached:1.6`",
            );
        }
        if container_command.chars().any(char::is_control) {
            return invalid("container command", container_command, "must not contain control characters");
        }
        if *container_port == Some(0) {
            return invalid("container port", "0", "must be between 1 and 65535");
        }
        match run_as_user {
            Some(0) => invalid(
                "user ID",
                "0",
                "the pods run under the `restricted` Pod Security Standard, which rejects root",
            ),
            Some(id) if *id > MAX_USER => {
                invalid("user ID", &id.to_string(), &format!("must be between 1 and {MAX_USER}"))
            }
            _ => Ok(()),
        }
    }
}

impl Project {
    /// Returns a project without resources.
    #[must_use]
    pub fn new(name: &str, domain: &str, repo: &str, runtime: Runtime) -> Self {
        Self {
            name: name.to_owned(),
            domain: domain.to_owned(),
            repo: repo.to_owned(),
            multigroup: false,
            plugins: vec![plugins::MANIFESTS, plugins::SCORECARD],
            owner: None,
            license: License::default(),
            runtime,
            resources: Vec::new(),
        }
    }

    /// Returns the API group of a resource.
    #[must_use]
    pub fn group(&self, resource: &Resource) -> String {
        names::qualified(&resource.group, &self.domain)
    }

    /// Returns the versions of a kind in the order of their creation.
    pub fn versions<'p: 'n, 'n>(
        &'p self,
        group: &'n str,
        kind: &'n str,
    ) -> impl Iterator<Item = &'p Resource> + use<'p, 'n> {
        self.resources.iter().filter(move |resource| resource.group == group && resource.kind == kind)
    }

    /// Returns the version of a kind that is stored, which is also the hub of conversions and the one that the
    /// controller uses: the one of the highest priority.
    #[must_use]
    pub fn hub(&self, group: &str, kind: &str) -> Option<&Resource> {
        self.versions(group, kind).max_by(|a, b| a.version.compare_priority(&b.version))
    }

    /// Adds a resource: a new kind, or a later version of one.
    ///
    /// # Errors
    /// The resource exists, is earlier than an existing version, contradicts another version, or uses the plural or
    /// module of another kind or the kind of another group: roles, webhooks and metrics are named after kinds. Or the project
    /// has several groups and is not multi-group.
    pub fn add(&mut self, resource: Resource) -> Result<(), Error> {
        let Resource { group, version, kind, plural, namespaced, .. } = &resource;
        if let Some(latest) = self.versions(group, kind).map(|other| other.version).max() {
            if self.versions(group, kind).any(|other| other.version == *version) {
                return Err(Error::Exists { api: format!("{}/{version} {kind}", self.group(&resource)) });
            }
            if *version < latest {
                return Err(Error::Backwards {
                    kind: kind.clone(),
                    version: version.to_string(),
                    latest: latest.to_string(),
                });
            }
        }
        for other in &self.resources {
            let same_group = other.group == *group;
            if same_group && other.kind == *kind {
                for (what, differs) in
                    [("plural", other.plural != *plural), ("scope", other.namespaced != *namespaced)]
                {
                    if differs {
                        return Err(Error::Versions {
                            kind: kind.clone(),
                            version: other.version.to_string(),
                            what,
                        });
                    }
                }
            } else if same_group && other.plural == *plural {
                return Err(Error::Taken { what: "plural", name: plural.clone(), by: other.kind.clone() });
            } else if same_group && names::module(&other.kind) == names::module(kind) {
                return Err(Error::Taken {
                    what: "module",
                    name: names::module(kind),
                    by: other.kind.clone(),
                });
            } else if other.kind.to_lowercase() == kind.to_lowercase() {
                return Err(Error::Taken { what: "kind", name: kind.clone(), by: self.group(other) });
            } else if !same_group
                && names::group_module(&other.group, &self.domain) == names::group_module(group, &self.domain)
            {
                let name = names::group_module(group, &self.domain);
                return Err(Error::Taken { what: "module", name, by: self.group(other) });
            }
        }
        if !self.multigroup && self.resources.iter().any(|other| other.group != *group) {
            return Err(Error::MultiGroup { group: group.clone() });
        }
        if self.resources.len() >= MAX_RESOURCES {
            return Err(Error::TooManyResources { limit: MAX_RESOURCES });
        }
        self.resources.push(resource);
        self.check()
    }

    /// Adds a controller to a kind that has none.
    ///
    /// # Errors
    /// The version does not exist, or the kind has a controller.
    pub fn add_controller(&mut self, wanted: &Resource) -> Result<(), Error> {
        let api = format!("{}/{} {}", self.group(wanted), wanted.version, wanted.kind);
        if self.versions(&wanted.group, &wanted.kind).any(|resource| resource.controller) {
            return Err(Error::ControllerExists { kind: wanted.kind.clone() });
        }
        let resource = self.resources.iter_mut().find(|resource| {
            (&resource.group, resource.version, &resource.kind)
                == (&wanted.group, wanted.version, &wanted.kind)
        });
        let resource = resource.ok_or(Error::Missing { api })?;
        resource.controller = wanted.controller;
        self.check()
    }

    /// Adds webhooks to the stored version of a kind.
    ///
    /// # Errors
    /// The version does not exist or is not stored, has one of the webhooks, or there is nothing to convert.
    pub fn add_webhooks(
        &mut self,
        group: &str,
        version: Version,
        kind: &str,
        add: Webhooks,
    ) -> Result<(), Error> {
        let api = format!("{}/{version} {kind}", names::qualified(group, &self.domain));
        let Some(hub) = self.hub(group, kind).map(|hub| hub.version) else {
            return Err(Error::Missing { api });
        };
        if !self.versions(group, kind).any(|resource| resource.version == version) {
            return Err(Error::Missing { api });
        }
        if hub != version {
            return Err(Error::NotHub { kind: kind.to_owned(), hub: hub.to_string() });
        }
        if add.conversion && self.versions(group, kind).count() < 2 {
            return Err(Error::NothingToConvert { kind: kind.to_owned() });
        }
        let mut there = Webhooks::default();
        for Resource { webhooks: Webhooks { defaulting, validation, conversion }, .. } in
            self.versions(group, kind)
        {
            there.defaulting |= defaulting;
            there.validation |= validation;
            there.conversion |= conversion;
        }
        for (webhook, exists) in [
            ("a defaulting webhook", there.defaulting && add.defaulting),
            ("a validating webhook", there.validation && add.validation),
            ("a conversion webhook", there.conversion && add.conversion),
        ] {
            if exists {
                return Err(Error::WebhookExists { api, webhook });
            }
        }
        let resources = self.resources.iter_mut();
        for resource in resources.filter(|resource| {
            (resource.group.as_str(), resource.version, resource.kind.as_str()) == (group, version, kind)
        }) {
            let Webhooks { defaulting, validation, conversion } = add;
            resource.webhooks.defaulting |= defaulting;
            resource.webhooks.validation |= validation;
            resource.webhooks.conversion |= conversion;
        }
        Ok(())
    }

    /// Changes whether the project may have several groups.
    ///
    /// # Errors
    /// It has several groups and should not.
    pub fn set_multigroup(&mut self, multigroup: bool) -> Result<(), Error> {
        let mut groups = self.resources.iter().map(|resource| &resource.group);
        if !multigroup
            && let Some(first) = groups.next()
            && let Some(other) = groups.find(|group| *group != first)
        {
            return Err(Error::SeveralGroups { groups: format!("`{first}` and `{other}`") });
        }
        self.multigroup = multigroup;
        Ok(())
    }

    /// Checks every name.
    ///
    /// # Errors
    /// Kubernetes, Cargo or Rust reject or reserve one.
    pub fn check(&self) -> Result<(), Error> {
        names::project(&self.name)?;
        names::domain(&self.domain)?;
        let texts = [("repository", Some(&self.repo)), ("owner", self.owner.as_ref())];
        for (what, text) in texts {
            let Some(text) = text else { continue };
            if text.is_empty() || text.len() > 200 || text.chars().any(char::is_control) {
                return Err(Error::Name {
                    what,
                    value: kube_yaml::text::excerpt(text).into_owned(),
                    reason: "must be one line of at most 200 characters".to_owned(),
                });
            }
        }
        if let Runtime::Path(path) = &self.runtime
            && (path.is_empty() || path.chars().any(char::is_control))
        {
            let (value, reason) =
                (path.escape_debug().to_string(), "must be the path of a directory".to_owned());
            return Err(Error::Name { what: "runtime path", value, reason });
        }
        for resource in &self.resources {
            names::group(&resource.group, &self.domain)?;
            names::kind(&resource.kind)?;
            names::plural(&resource.plural, &self.group(resource))?;
            if let Some(image) = &resource.image {
                image.check()?;
                if !resource.namespaced || !resource.controller {
                    return Err(Error::Image { kind: resource.kind.clone() });
                }
            }
        }
        Ok(())
    }

    /// Reads a `PROJECT` file.
    ///
    /// # Errors
    /// It is not valid, or not one that this tool writes.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let invalid = |message: String| Error::Project { message };
        let parsed = kube_yaml::parse(text.as_bytes());
        if let Some(error) = parsed.error {
            return Err(invalid(error.to_string()));
        }
        let [document] = parsed.documents.as_slice() else {
            return Err(invalid(format!("expected one YAML document, found {}", parsed.documents.len())));
        };
        let file: File = serde_json::from_value(document.root().to_json())
            .map_err(|error| invalid(without_serde_terms(&error.to_string())))?;
        file.project()
    }

    /// Returns the text of the `PROJECT` file.
    #[must_use]
    pub fn emit(&self) -> String {
        format!("{HEADER}{}", kube_yaml::emit(&File::new(self).json()))
    }
}

/// The file as it is written. Every field of kubebuilder's that has a meaning here is known, others are errors.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct File {
    version: String,
    #[serde(default)]
    domain: String,
    #[serde(default)]
    layout: Vec<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    multigroup: bool,
    #[serde(default)]
    plugins: BTreeMap<String, Json>,
    #[serde(default)]
    project_name: String,
    #[serde(default)]
    repo: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    resources: Vec<FileResource>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct FileResource {
    api: FileApi,
    #[serde(default, skip_serializing_if = "is_false")]
    controller: bool,
    #[serde(default)]
    domain: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    group: String,
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    plural: Option<String>,
    version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    webhooks: Option<FileWebhooks>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct FileApi {
    crd_version: String,
    #[serde(default, skip_serializing_if = "is_false")]
    namespaced: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct FileWebhooks {
    #[serde(default, skip_serializing_if = "is_false")]
    conversion: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    defaulting: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    validation: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    spoke: Vec<String>,
    webhook_version: String,
}

/// The configuration of the plugin [`plugins::RUST`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileOptions {
    license: License,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    runtime: Runtime,
}

/// The configuration of the plugin [`plugins::DEPLOY_IMAGE`].
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileImages {
    #[serde(default)]
    resources: Vec<FileImage>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileImage {
    #[serde(default)]
    domain: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    group: String,
    kind: String,
    options: DeployImage,
    version: String,
}

impl File {
    fn new(project: &Project) -> Self {
        let options = json!(FileOptions {
            license: project.license,
            owner: project.owner.clone(),
            runtime: project.runtime.clone()
        });
        let mut plugins: BTreeMap<String, Json> =
            project.plugins.iter().map(|key| ((*key).to_owned(), json!({}))).collect();
        plugins.insert(plugins::RUST.to_owned(), options);
        let images: Vec<FileImage> = project
            .resources
            .iter()
            .filter_map(|resource| {
                Some(FileImage {
                    domain: project.domain.clone(),
                    group: resource.group.clone(),
                    kind: resource.kind.clone(),
                    options: resource.image.clone()?,
                    version: resource.version.to_string(),
                })
            })
            .collect();
        if !images.is_empty() {
            plugins.insert(plugins::DEPLOY_IMAGE.to_owned(), json!(FileImages { resources: images }));
        }
        let resources = project.resources.iter().map(|resource| {
            let Webhooks { defaulting, validation, .. } = resource.webhooks;
            let versions = || project.versions(&resource.group, &resource.kind);
            let is_hub = project.hub(&resource.group, &resource.kind) == Some(resource);
            let conversion = is_hub && versions().any(|version| version.webhooks.conversion);
            let webhooks = Webhooks { defaulting, validation, conversion };
            let spokes = versions().filter(|_| conversion);
            FileResource {
                api: FileApi { crd_version: "v1".to_owned(), namespaced: resource.namespaced },
                controller: resource.controller,
                domain: project.domain.clone(),
                group: resource.group.clone(),
                kind: resource.kind.clone(),
                plural: Some(resource.plural.clone())
                    .filter(|plural| *plural != names::regular_plural(&resource.kind)),
                version: resource.version.to_string(),
                webhooks: webhooks.any().then(|| FileWebhooks {
                    conversion,
                    defaulting,
                    validation,
                    spoke: spokes
                        .filter(|other| other.version != resource.version)
                        .map(|other| other.version.to_string())
                        .collect(),
                    webhook_version: "v1".to_owned(),
                }),
            }
        });
        Self {
            version: FORMAT.to_owned(),
            domain: project.domain.clone(),
            layout: vec![plugins::RUST.to_owned()],
            multigroup: project.multigroup,
            plugins,
            project_name: project.name.clone(),
            repo: project.repo.clone(),
            resources: resources.collect(),
        }
    }

    fn json(&self) -> Json {
        json!(self)
    }

    fn project(self) -> Result<Project, Error> {
        let invalid = |message: String| Error::Project { message };
        let options_error = |plugin: &str, error: &serde_json::Error| {
            invalid(format!("plugins.{plugin}: {}", without_serde_terms(&error.to_string())))
        };
        let Self { version, domain, layout, multigroup, mut plugins, project_name, repo, resources } = self;
        if version != FORMAT {
            return Err(invalid(format!("unsupported version `{version}`: must be `{FORMAT}`")));
        }
        if layout != [plugins::RUST] {
            return Err(Error::Layout { layout: layout.join(","), expected: plugins::RUST });
        }
        let options = plugins.remove(plugins::RUST);
        let options =
            options.ok_or_else(|| invalid(format!("missing required field `plugins.{}`", plugins::RUST)))?;
        let FileOptions { license, owner, runtime } =
            serde_json::from_value(options).map_err(|error| options_error(plugins::RUST, &error))?;
        let images: FileImages = match plugins.remove(plugins::DEPLOY_IMAGE) {
            Some(images) => serde_json::from_value(images)
                .map_err(|error| options_error(plugins::DEPLOY_IMAGE, &error))?,
            None => FileImages::default(),
        };
        let mut project = Project {
            plugins: plugins.keys().map(|key| plugins::resolve(key)).collect::<Result<_, _>>()?,
            multigroup: true,
            owner,
            license,
            ..Project::new(&project_name, &domain, &repo, runtime)
        };
        for resource in resources {
            let FileResource { api, controller, domain: of, group, kind, plural, version, webhooks } =
                resource;
            if of != domain {
                return Err(invalid(format!("the domain of {kind} is `{of}`, the project's is `{domain}`")));
            }
            let webhooks = webhooks.map_or_else(Webhooks::default, |webhooks| {
                let FileWebhooks { conversion, defaulting, validation, spoke: _, webhook_version: _ } =
                    webhooks;
                Webhooks { defaulting, validation, conversion }
            });
            let image = images
                .resources
                .iter()
                .find(|image| (&image.group, &image.kind, &image.version) == (&group, &kind, &version));
            project.add(Resource {
                version: version.parse()?,
                plural: plural.unwrap_or_else(|| names::regular_plural(&kind)),
                namespaced: api.namespaced,
                controller,
                webhooks,
                image: image.map(|image| image.options.clone()),
                group,
                kind,
            })?;
        }
        project.multigroup = multigroup;
        project.check()?;
        Ok(project)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(group: &str, version: &str, kind: &str) -> Resource {
        Resource {
            group: group.to_owned(),
            version: version.parse().unwrap(),
            kind: kind.to_owned(),
            plural: names::regular_plural(kind),
            namespaced: true,
            controller: true,
            webhooks: Webhooks::default(),
            image: None,
        }
    }

    fn project() -> Project {
        Project::new("flight-operator", "example.com", "example.com/flight-operator", Runtime::Vendored)
    }

    #[test]
    fn the_file_is_read_as_it_was_written() {
        let mut project = project();
        project.owner = Some("Example \"Air\"".to_owned());
        project.add(resource("travel", "v1alpha1", "FlightTicket")).unwrap();
        project.add(resource("travel", "v1", "FlightTicket")).unwrap();
        project.resources[1].webhooks.conversion = true;
        project.resources[0].image = Some(DeployImage {
            image: "docker.io/library/memcached:1.6".to_owned(),
            container_command: "memcached,-m=64".to_owned(),
            container_port: Some(11211),
            run_as_user: None,
        });
        let text = project.emit();
        assert_eq!(Project::parse(&text).unwrap(), project, "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_project_of_another_layout_or_with_unknown_fields_is_an_error() {
        let text = project().emit();
        for (from, to, expected) in [
            ("- rust.bundle-tool/v1", "- go.kubebuilder.io/v4", "--from"),
            ("version: \"3\"", "version: \"2\"", "unsupported version `2`"),
            ("repo: ", "repos: ", "unknown field `repos`"),
            ("domain: example.com", "domain: k8s.io", "reserved for Kubernetes' own APIs"),
            (
                "manifests.sdk.operatorframework.io/v2",
                "manifests.sdk.operatorframework.io/v1",
                "unknown plugin",
            ),
            ("repo: ", "repo: [", "line"),
        ] {
            assert!(text.contains(from), "{from} is not in {text}");
            let error = Project::parse(&text.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn versions_of_a_kind_go_forward_and_agree() {
        let mut project = project();
        project.add(resource("travel", "v1", "FlightTicket")).unwrap();
        let error = |resource| project.clone().add(resource).unwrap_err().to_string();
        assert!(error(resource("travel", "v1", "FlightTicket")).contains("already exists"));
        assert!(error(resource("travel", "v1beta1", "FlightTicket")).contains("earlier than"));
        assert!(
            error(Resource { namespaced: false, ..resource("travel", "v2", "FlightTicket") })
                .contains("scope")
        );
        assert!(
            error(Resource { plural: "x".into(), ..resource("travel", "v2", "FlightTicket") })
                .contains("plural")
        );
        assert!(
            error(Resource { plural: "flighttickets".into(), ..resource("travel", "v1", "Seat") })
                .contains("FlightTicket")
        );
        assert!(error(resource("travel", "v1", "FLightTicket")).contains("plural"));
        assert!(error(resource("hotel", "v1", "Room")).contains("--multigroup"));
        project.add(resource("travel", "v2alpha1", "FlightTicket")).unwrap();
        assert_eq!(project.hub("travel", "FlightTicket").unwrap().version.to_string(), "v1");
        project.add(resource("travel", "v2", "FlightTicket")).unwrap();
        assert_eq!(project.hub("travel", "FlightTicket").unwrap().version.to_string(), "v2");

        project.multigroup = true;
        project.clone().add(resource("hotel", "v1", "Room")).unwrap();
        let error = project.clone().add(resource("hotel", "v1", "FlightTicket")).unwrap_err().to_string();
        let expected = "the kind `FlightTicket` is already used by travel.example.com; choose another name";
        assert_eq!(error, expected);
    }
}
