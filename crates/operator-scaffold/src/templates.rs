//! Renders the templates: from a [`Project`] to its files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value};
use serde::Serialize;

use super::error::Error;
use super::files::{Files, ScaffoldFile};
use super::layout;
use super::names;
use super::project::{License, Project, Resource, Runtime};
use super::vendor;

/// Embeds a template: its name in messages, and its text.
macro_rules! template {
    ($name:literal) => {
        Template { name: $name, text: include_str!(concat!("templates/", $name)) }
    };
}

pub(crate) use template;

pub(crate) struct Template {
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
}

/// The files of every project.
const PROJECT: &[(&str, Template)] = &[
    (".cargo/config.toml", template!("project/cargo_config.toml")),
    (".github/workflows/ci.yml", template!("project/ci.yml.j2")),
    (".gitignore", template!("project/gitignore")),
    ("Cargo.toml", template!("project/Cargo.toml.j2")),
    ("Makefile", template!("project/Makefile.j2")),
    ("README.md", template!("project/README.md.j2")),
    ("bundle-tool.toml", template!("project/bundle-tool.toml")),
    ("olm/description.md", template!("project/description.md.j2")),
    ("olm/icon.svg", template!("project/icon.svg.j2")),
    ("src/identity.rs", template!("project/identity.rs.j2")),
    ("src/lib.rs", template!("project/lib.rs.j2")),
    ("src/main.rs", template!("project/main.rs.j2")),
    ("tests/control_plane.rs", template!("project/control_plane.rs.j2")),
];

const LICENSE: Template = template!("project/LICENSE");
const MODULES: Template = template!("api/modules.rs.j2");
const TYPES: Template = template!("api/types.rs.j2");
const CONVERSION: Template = template!("api/conversion.rs.j2");
const CONTROLLER: Template = template!("api/controller.rs.j2");
const WEBHOOK: Template = template!("api/webhook.rs.j2");
const TESTS: Template = template!("api/tests.rs.j2");

/// What templates of the whole project see.
#[derive(Debug, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a condition in a template")]
struct View<'p> {
    name: &'p str,
    /// The name of the library: `-` is `_`.
    #[serde(rename = "crate")]
    library: String,
    title: String,
    description: String,
    domain: &'p str,
    repository: String,
    owner: Option<&'p str>,
    /// Who provides the operator: the owner or the operator itself.
    provider: String,
    /// In SPDX's form.
    license: Option<&'static str>,
    /// What follows `{ ` in the dependency on the runtime.
    runtime: String,
    /// Whether the runtime is a copy in the project.
    vendored: bool,
    kinds: Vec<KindView<'p>>,
    images: bool,
    controllers: bool,
    webhooks: bool,
    conversion: bool,
    /// Whether a kind has a version with the types of another.
    served: bool,
}

/// What templates of a kind see.
#[derive(Debug, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a condition in a template")]
struct KindView<'p> {
    kind: &'p str,
    /// Without the domain.
    group: &'p str,
    module: String,
    /// In lower case: the singular.
    lower: String,
    plural: &'p str,
    api_group: String,
    namespaced: bool,
    controller: bool,
    defaulting: bool,
    validation: bool,
    conversion: bool,
    image: Option<ImageView<'p>>,
    /// The environment variable and the argument that set the image.
    variable: String,
    argument: String,
    /// The stored version.
    hub: String,
    /// The path of the stored version's types below `api`, without the version.
    types: String,
    /// The path of the controller below `controller`.
    path: String,
    versions: Vec<VersionView>,
    /// The calls that add the other versions to the CRD.
    crd: Vec<String>,
    /// The calls that add the other versions to the conversion webhook.
    conversions: Vec<String>,
    /// The versions, for people.
    served: String,
}

#[derive(Debug, Clone, Serialize)]
struct VersionView {
    version: String,
    /// Whether it has types of its own: the stored version, and with a conversion webhook all.
    typed: bool,
    /// The path of the types below `api`.
    types: String,
    /// The expression that returns the sample.
    sample_of: String,
    /// The name of the sample's file, without extension.
    sample: String,
    /// The name of the sample.
    sample_name: String,
}

#[derive(Debug, Serialize)]
struct ImageView<'p> {
    image: &'p str,
    command: Vec<&'p str>,
    port: Option<u16>,
    user: Option<u32>,
}

/// Returns the files of a project, by their ids.
///
/// # Errors
/// [`Error::SamePath`] where two kinds have a file of the same name; [`Error::Template`], which is a defect of this program.
pub fn render(project: &Project) -> Result<Files, Error> {
    let view = View::new(project);
    let mut out = Renderer { environment: environment()?, files: Files::new() };
    for (path, template) in PROJECT {
        out.add(path, (*path).to_owned(), template, &view)?;
    }
    if project.license == License::Apache2 {
        out.files.insert(
            "LICENSE".to_owned(),
            ScaffoldFile { path: "LICENSE".to_owned(), text: LICENSE.text.to_owned() },
        );
    }
    for kind in &view.kinds {
        out.kind(project, &view, kind)?;
    }
    out.modules(project, &view.kinds)?;
    let mut paths = BTreeSet::new();
    for file in out.files.values() {
        if !paths.insert(&file.path) {
            return Err(Error::SamePath { path: file.path.clone() });
        }
    }
    Ok(out.files)
}

/// Returns the id of the file with the types of a version; of the stored one without `version`, whichever that is.
fn types_id(group: &str, kind: &str, version: Option<&String>) -> String {
    let module = names::module(kind);
    id(
        "api",
        group,
        &version.map_or_else(|| format!("{module}.rs"), |version| format!("{version}/{module}.rs")),
    )
}

/// Returns pairs of ids: the types of each version that is not stored but has types of its own, and those of the stored
/// version, whose fields they begin with.
#[must_use]
pub fn copies(project: &Project) -> Vec<(String, String)> {
    let view = View::new(project);
    let of_kind = |kind: &KindView<'_>| {
        let hub = types_id(kind.group, kind.kind, None);
        let spokes = kind.versions.iter().filter(|version| version.typed && version.version != kind.hub);
        spokes
            .map(|version| (types_id(kind.group, kind.kind, Some(&version.version)), hub.clone()))
            .collect::<Vec<_>>()
    };
    view.kinds.iter().flat_map(of_kind).collect()
}

/// Returns an id, which has the group whether or not it is in the path, so that files are followed when they move.
fn id(area: &str, group: &str, rest: &str) -> String {
    format!("{area}:{group}:{rest}")
}

/// Returns the text of one template.
pub(crate) fn render_template(template: &Template, view: &impl Serialize) -> Result<String, Error> {
    rendered(&environment()?, template, view)
}

fn rendered(
    environment: &Environment<'_>,
    template: &Template,
    view: &impl Serialize,
) -> Result<String, Error> {
    let text = environment.render_named_str(template.name, template.text, Value::from(Serde(view)));
    text.map_err(|error| Error::Template { template: template.name, message: format!("{error:#}") })
}

fn environment() -> Result<Environment<'static>, Error> {
    let mut environment = Environment::new();
    let mut syntax = SyntaxConfig::builder();
    syntax.trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true);
    let syntax =
        syntax.build().map_err(|error| Error::Template { template: "syntax", message: error.to_string() })?;
    environment.set_syntax(syntax);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.add_filter("quoted", layout::quoted);
    environment.add_function("arguments", layout::arguments);
    environment.add_function("array", layout::array);
    environment.add_function("chained", layout::chained);
    Ok(environment)
}

/// Returns each kind once, as its stored version, in the order of their creation.
fn kinds(project: &Project) -> impl Iterator<Item = &Resource> {
    project
        .resources
        .iter()
        .filter(|resource| {
            let mut versions = project.versions(&resource.group, &resource.kind);
            versions.next().is_some_and(|first| first == *resource)
        })
        .filter_map(|first| project.hub(&first.group, &first.kind))
}

/// Returns the directory, and module, of a group: none in a project of one group.
fn group_module(project: &Project, group: &str) -> Option<String> {
    project.multigroup.then(|| names::group_module(group, &project.domain))
}

fn join(parts: &[Option<&str>], separator: &str) -> String {
    parts.iter().flatten().copied().collect::<Vec<_>>().join(separator)
}

impl<'p> View<'p> {
    fn new(project: &'p Project) -> Self {
        let title = names::title(&project.name);
        let kinds: Vec<KindView<'p>> = kinds(project).map(|hub| KindView::new(project, hub)).collect();
        let description = match kinds.as_slice() {
            [] => format!("{title}, a Kubernetes operator"),
            kinds => format!("Manages {}", kinds.iter().map(|kind| kind.kind).collect::<Vec<_>>().join(", ")),
        };
        Self {
            name: &project.name,
            library: names::module(&project.name),
            provider: project.owner.clone().unwrap_or_else(|| format!("The {} authors", project.name)),
            description,
            title,
            domain: &project.domain,
            repository: if project.repo.contains("://") {
                project.repo.clone()
            } else {
                format!("https://{}", project.repo)
            },
            owner: project.owner.as_deref(),
            license: match project.license {
                License::Apache2 => Some("Apache-2.0"),
                License::None => None,
            },
            runtime: match &project.runtime {
                Runtime::Path(path) => format!("path = {}", layout::quoted(path)),
                Runtime::Vendored => format!("path = \"{}/operator-runtime\"", vendor::DIRECTORY),
            },
            vendored: project.runtime == Runtime::Vendored,
            images: kinds.iter().any(|kind| kind.image.is_some()),
            controllers: kinds.iter().any(|kind| kind.controller),
            webhooks: kinds.iter().any(KindView::has_webhooks),
            conversion: kinds.iter().any(|kind| kind.conversion),
            served: kinds.iter().any(|kind| kind.versions.iter().any(|version| !version.typed)),
            kinds,
        }
    }
}

impl<'p> KindView<'p> {
    fn new(project: &'p Project, hub: &'p Resource) -> Self {
        let module = names::module(&hub.kind);
        let group = group_module(project, &hub.group);
        let lower = hub.kind.to_lowercase();
        let mut resources: Vec<&Resource> = project.versions(&hub.group, &hub.kind).collect();
        resources.sort_by(|a, b| b.version.compare_priority(&a.version));
        let any = |has: fn(&Resource) -> bool| resources.iter().any(|resource| has(resource));
        let conversion = any(|resource| resource.webhooks.conversion);
        let hub_types = join(&[group.as_deref(), Some(&module)], "::");
        let version = |resource: &&Resource| {
            let version = resource.version.to_string();
            let is_hub = resource.version == hub.version;
            let typed = is_hub || conversion;
            let prefix = if hub.group.is_empty() { String::new() } else { format!("{}_", hub.group) };
            let path = join(&[group.as_deref(), Some(&version), Some(&module)], "::");
            VersionView {
                sample: format!("{prefix}{version}_{lower}"),
                sample_name: if is_hub {
                    format!("{lower}-sample")
                } else {
                    format!("{lower}-sample-{version}")
                },
                sample_of: match (is_hub, typed) {
                    (true, _) => format!("json!(api::{hub_types}::sample())"),
                    (false, true) => format!("json!(api::{path}::sample())"),
                    (false, false) => format!("served(\"{version}\", api::{hub_types}::sample())"),
                },
                typed,
                types: path,
                version,
            }
        };
        let versions: Vec<VersionView> = resources.iter().map(version).collect();
        let spokes = || versions.iter().filter(|version| version.version != hub.version.to_string());
        let argument = join(&[group.as_deref(), Some(&module), Some("image")], "_");
        Self {
            kind: &hub.kind,
            group: &hub.group,
            plural: &hub.plural,
            api_group: project.group(hub),
            namespaced: hub.namespaced,
            controller: any(|resource| resource.controller),
            defaulting: any(|resource| resource.webhooks.defaulting),
            validation: any(|resource| resource.webhooks.validation),
            conversion,
            crd: spokes()
                .map(|spoke| {
                    if conversion {
                        format!(".version::<api::{}::{}>()", spoke.types, hub.kind)
                    } else {
                        format!(".also_served(\"{}\")", spoke.version)
                    }
                })
                .collect(),
            conversions: spokes()
                .map(|spoke| format!(".spoke::<api::{}::{}>()", spoke.types, hub.kind))
                .collect(),
            image: resources.iter().find_map(|resource| resource.image.as_ref()).map(|image| ImageView {
                image: &image.image,
                command: image.command(),
                port: image.container_port,
                user: image.run_as_user,
            }),
            variable: argument.to_uppercase(),
            argument,
            hub: hub.version.to_string(),
            path: hub_types.clone(),
            types: hub_types,
            served: versions.iter().map(|view| view.version.as_str()).collect::<Vec<_>>().join(", "),
            versions,
            module,
            lower,
        }
    }

    fn has_webhooks(&self) -> bool {
        self.defaulting || self.validation || self.conversion
    }
}

/// What templates of one kind see, beside what all see.
#[derive(Serialize)]
struct Page<'v> {
    #[serde(rename = "crate")]
    library: &'v str,
    kind: &'v KindView<'v>,
    version: &'v VersionView,
}

struct Renderer {
    environment: Environment<'static>,
    files: Files,
}

impl Renderer {
    fn add(
        &mut self,
        id: &str,
        path: String,
        template: &Template,
        view: &impl Serialize,
    ) -> Result<(), Error> {
        let mut text = rendered(&self.environment, template, view)?;
        if Path::new(&path).extension().is_some_and(|extension| extension == "rs") {
            text = layout::fitted(&text);
        }
        self.files.insert(id.to_owned(), ScaffoldFile { path, text });
        Ok(())
    }

    fn kind(&mut self, project: &Project, view: &View<'_>, kind: &KindView<'_>) -> Result<(), Error> {
        let group = group_module(project, kind.group);
        let directory = join(&[group.as_deref()], "/");
        let path = |area: &str, rest: &str| join(&[Some(area), group.as_deref(), Some(rest)], "/");
        let file = format!("{}.rs", kind.module);
        let id = |area: &str, rest: &str| id(area, kind.group, rest);
        for version in kind.versions.iter().filter(|version| version.typed) {
            let page = Page { library: &view.library, kind, version };
            let name = format!("{}/{file}", version.version);
            let types =
                types_id(kind.group, kind.kind, (version.version != kind.hub).then_some(&version.version));
            self.add(&types, path("src/api", &name), &TYPES, &page)?;
            if version.version != kind.hub {
                let name = format!("{}/{}_conversion.rs", version.version, kind.module);
                self.add(&id("api", &name), path("src/api", &name), &CONVERSION, &page)?;
            }
        }
        let Some(version) = kind.versions.iter().find(|version| version.version == kind.hub) else {
            return Ok(());
        };
        let page = Page { library: &view.library, kind, version };
        if kind.controller {
            self.add(&id("controller", &file), path("src/controller", &file), &CONTROLLER, &page)?;
            let name = if directory.is_empty() { file.clone() } else { format!("{directory}_{file}") };
            self.add(&id("tests", &file), format!("tests/{name}"), &TESTS, &page)?;
        }
        if kind.has_webhooks() {
            self.add(&id("webhook", &file), path("src/webhook", &file), &WEBHOOK, &page)?;
        }
        Ok(())
    }

    /// Adds the `mod.rs` of every directory below `src`, which declare its modules.
    fn modules(&mut self, project: &Project, kinds: &[KindView<'_>]) -> Result<(), Error> {
        let mut groups: Vec<&str> =
            project.resources.iter().map(|resource| resource.group.as_str()).collect();
        groups.sort_unstable();
        groups.dedup();
        for (area, summary) in [
            ("api", "The APIs: a module for each version, and the storage version of each kind."),
            ("controller", "The controllers, a module for each kind."),
            ("webhook", "The webhooks, a module for each kind."),
        ] {
            let has = |kind: &KindView<'_>| match area {
                "api" => true,
                "controller" => kind.controller,
                _ => kind.has_webhooks(),
            };
            let mut top = Modules { summary: summary.to_owned(), ..Modules::default() };
            for group in &groups {
                let of_group = || kinds.iter().filter(|kind| kind.group == *group && has(kind));
                let Some(first) = of_group().next() else { continue };
                let directory = group_module(project, group);
                let summary = match &directory {
                    Some(module) => {
                        top.names.push(module.clone());
                        format!("The group `{}`.", first.api_group)
                    }
                    None => summary.to_owned(),
                };
                let mut modules = Modules { summary, ..Modules::default() };
                let mut versions: BTreeMap<&str, Modules> = BTreeMap::new();
                for kind in of_group() {
                    if area != "api" {
                        modules.names.push(kind.module.clone());
                        continue;
                    }
                    modules.exports.push(format!("{}::{}", kind.hub, kind.module));
                    for VersionView { version, .. } in kind.versions.iter().filter(|version| version.typed) {
                        let of_version = versions.entry(version).or_default();
                        of_version.summary = format!("Version {version}.");
                        of_version.names.push(kind.module.clone());
                        if *version != kind.hub {
                            of_version.names.push(format!("{}_conversion", kind.module));
                        }
                    }
                }
                modules.names.extend(versions.keys().map(|version| (*version).to_owned()));
                let path =
                    |rest: &str| join(&[Some("src"), Some(area), directory.as_deref(), Some(rest)], "/");
                for (version, list) in versions {
                    let name = format!("{version}/mod.rs");
                    self.add_modules(&id(area, group, &name), path(&name), list)?;
                }
                self.add_modules(&id(area, group, "mod.rs"), path("mod.rs"), modules)?;
            }
            if !top.names.is_empty() {
                self.add_modules(&format!("{area}:mod.rs"), format!("src/{area}/mod.rs"), top)?;
            }
        }
        Ok(())
    }

    fn add_modules(&mut self, id: &str, path: String, mut modules: Modules) -> Result<(), Error> {
        modules.names.sort();
        modules.exports.sort_by(|one, other| layout::by_version(one, other));
        self.add(id, path, &MODULES, &modules)
    }
}

/// What the template of a `mod.rs` sees.
#[derive(Debug, Default, Serialize)]
struct Modules {
    summary: String,
    names: Vec<String>,
    exports: Vec<String>,
}
