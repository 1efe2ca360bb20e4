//! Why a project cannot be scaffolded.

/// Why a project cannot be scaffolded. Nothing was written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A name is not valid or is reserved.
    #[error("invalid {what} `{value}`: {reason}")]
    Name {
        /// What it names.
        what: &'static str,
        /// The name.
        value: String,
        /// Why it is not valid.
        reason: String,
    },
    /// A plugin key is unknown.
    #[error("unknown plugin `{key}`: {help}")]
    Plugin {
        /// The key.
        key: String,
        /// The likely or all known ones.
        help: String,
    },
    /// The `PROJECT` file is not valid.
    #[error("PROJECT: {message}")]
    Project {
        /// What is wrong.
        message: String,
    },
    /// The project was scaffolded by another tool.
    #[error(
        "PROJECT: unsupported layout `{layout}`: must be `{expected}`; to package an operator that another tool \
         scaffolded, run `bundle-tool init --from DIR`"
    )]
    Layout {
        /// The plugins of the layout.
        layout: String,
        /// The layout that this tool scaffolds.
        expected: &'static str,
    },
    /// The API exists.
    #[error("the API {api} already exists; change its types in src/api, or choose another version")]
    Exists {
        /// Group, version and kind.
        api: String,
    },
    /// Two files of the scaffold would have the same path.
    #[error("the scaffold would write {path} twice; choose another kind")]
    SamePath {
        /// The path.
        path: String,
    },
    /// A version is earlier than the latest one.
    #[error("the version {version} of {kind} is earlier than the existing {latest}; choose a later version")]
    Backwards {
        /// The kind.
        kind: String,
        /// The version.
        version: String,
        /// The latest existing version.
        latest: String,
    },
    /// Two versions of a kind do not agree in what they share.
    #[error("the {what} of {kind} differs from that of {version}: all versions of a kind share it")]
    Versions {
        /// The kind.
        kind: String,
        /// The other version.
        version: String,
        /// What differs.
        what: &'static str,
    },
    /// Another kind uses the name.
    #[error("the {what} `{name}` is already used by {by}; choose another name")]
    Taken {
        /// What it names.
        what: &'static str,
        /// The name.
        name: String,
        /// The kind that uses it.
        by: String,
    },
    /// A second group in a project that is not multi-group.
    #[error("`{group}` would be the second group of the project; run `bundle-tool edit --multigroup` first")]
    MultiGroup {
        /// The second group.
        group: String,
    },
    /// A project with several groups that should be single-group.
    #[error("the project has several groups, {groups}, so it must stay multi-group")]
    SeveralGroups {
        /// Two of the groups.
        groups: String,
    },
    /// The project has too many resources.
    #[error("the project already has the maximum of {limit} resources")]
    TooManyResources {
        /// The limit.
        limit: usize,
    },
    /// An image without what runs it.
    #[error("{kind} has an image, which requires a controller and a namespaced kind")]
    Image {
        /// The kind.
        kind: String,
    },
    /// A kind or version does not exist.
    #[error("the API {api} does not exist; create it with `bundle-tool create api`")]
    Missing {
        /// Group, version and kind.
        api: String,
    },
    /// A controller exists.
    #[error("{kind} already has a controller; change it in src/controller")]
    ControllerExists {
        /// The kind.
        kind: String,
    },
    /// A webhook exists.
    #[error("{api} already has {webhook}")]
    WebhookExists {
        /// Group, version and kind.
        api: String,
        /// The webhook.
        webhook: &'static str,
    },
    /// A webhook of a version that is not the stored one.
    #[error("webhooks belong to the storage version of {kind}, which is {hub}; pass --version {hub}")]
    NotHub {
        /// The kind.
        kind: String,
        /// The stored version.
        hub: String,
    },
    /// A conversion webhook with nothing to convert.
    #[error(
        "{kind} has only one version, so there is nothing to convert; create another with `bundle-tool create api`"
    )]
    NothingToConvert {
        /// The kind.
        kind: String,
    },
    /// The record of the last scaffold is missing or not valid.
    #[error(".scaffold.yaml: {message}")]
    Record {
        /// What is wrong.
        message: String,
    },
    /// The project was written by a newer version of the tool.
    #[error(
        "the project was scaffolded by bundle-tool {project}, but this is version {tool}; use version {project} or later"
    )]
    Newer {
        /// The project's version.
        project: String,
        /// The tool's version.
        tool: String,
    },
    /// This program was built without the sources of the runtime.
    #[error(
        "this build of bundle-tool has no copy of operator-runtime; set --runtime-path to a checkout of it"
    )]
    NoRuntime,
    /// There is no operator in a directory.
    #[error(
        "no operator was found: expected a kustomization, a Helm chart, a Java build, or manifests in one of the directories \
         {directories}"
    )]
    NoOperator {
        /// The directories that were looked into.
        directories: String,
    },
    /// There are several operators in a directory.
    #[error("found several kustomizations: {kustomizations}; set --from to the directory above one of them")]
    SeveralOperators {
        /// Their directories.
        kustomizations: String,
    },
    /// There are several Helm charts in a directory.
    #[error("found several Helm charts: {charts}; set --from to the directory of one of them")]
    SeveralCharts {
        /// Their directories.
        charts: String,
    },
    /// There are kustomizations in a directory, but in none of the usual places.
    #[error(
        "no operator was found in the directories {directories}, but there are kustomizations in {kustomizations}; set \
         --from to one of them"
    )]
    OtherKustomizations {
        /// The directories that were looked into.
        directories: String,
        /// The directories of the kustomizations.
        kustomizations: String,
    },
    /// The existing base CSVs belong to another package.
    #[error(
        "the base {path} is of the ClusterServiceVersion `{csv}`, which does not belong to the package `{package}`, so the \
         bundle would lose its texts: name it `{package}.v0.0.0` in {package}.clusterserviceversion.yaml{}",
        .other.as_ref().map_or_else(String::new, |other| format!(", or pass --project-name {other}"))
    )]
    OtherBase {
        /// The path of the base.
        path: String,
        /// The name of the CSV.
        csv: String,
        /// The package.
        package: String,
        /// The package that the base belongs to, if its file has that name, too.
        other: Option<String>,
    },
    /// A file of the scaffold exists and has other contents.
    #[error("{path} already exists; move it away, or merge it manually")]
    FileExists {
        /// The file.
        path: String,
    },
    /// A file of the project is not text.
    #[error("{path} is not valid UTF-8, so it cannot be merged; restore it from git")]
    NotText {
        /// The file.
        path: String,
    },
    /// A template could not be rendered, which is a defect of this program.
    #[error("failed to render the template {template}: {message}")]
    Template {
        /// The template.
        template: &'static str,
        /// What is wrong.
        message: String,
    },
}
