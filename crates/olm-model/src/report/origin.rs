//! Typed parts of a rule's documentation: who rejects what it finds, what follows, and the upstream source.

use std::fmt;

use serde::Serialize;

/// A program or service that validates bundles and the objects in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Validator {
    /// kube-apiserver.
    ApiServer,
    /// The OLM operators on the cluster, including the bundle unpacker.
    Olm,
    /// operator-controller, the operator of OLM v1.
    #[serde(rename = "olm-v1")]
    OlmV1,
    /// `operator-sdk bundle validate`.
    OperatorSdk,
    /// `opm`, which builds catalogs.
    Opm,
    /// The checks of OperatorHub.io for submissions.
    #[serde(rename = "operatorhub")]
    OperatorHub,
    /// OpenShift's admission of pods, with the security context constraints `restricted-v2`.
    #[serde(rename = "openshift")]
    OpenShift,
    /// The pipeline of the OpenShift community catalog.
    CommunityPipeline,
    /// `preflight check operator`, which certifies operators for OpenShift.
    Preflight,
}

impl Validator {
    /// Returns the product whose releases say since when the validator rejects something; `None` if it has no releases.
    const fn product(self) -> Option<&'static str> {
        match self {
            Self::ApiServer => Project::Kubernetes.product(),
            Self::Olm => Project::OperatorLifecycleManager.product(),
            Self::OlmV1 => Project::OperatorController.product(),
            Self::OperatorSdk => Project::OperatorSdk.product(),
            Self::Opm => Project::OperatorRegistry.product(),
            Self::OpenShift => Project::OpenShiftLibrary.product(),
            Self::Preflight => Project::Preflight.product(),
            Self::OperatorHub | Self::CommunityPipeline => None,
        }
    }

    /// Returns the product and the release since which it rejects what a rule finds, as far as the rule's sources name them.
    pub(crate) fn since(self, sources: &[Source]) -> Option<(&'static str, &'static str)> {
        let product = self.product()?;
        let source = sources.iter().find(|source| source.project.product() == Some(product))?;
        Some((product, source.since?))
    }
}

impl fmt::Display for Validator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ApiServer => "the API server",
            Self::Olm => "OLM",
            Self::OlmV1 => "OLM v1",
            Self::OperatorSdk => "operator-sdk",
            Self::Opm => "opm",
            Self::OperatorHub => "OperatorHub.io",
            Self::OpenShift => "OpenShift",
            Self::CommunityPipeline => "the community catalog's pipeline",
            Self::Preflight => "preflight",
        })
    }
}

/// What happens to a bundle that breaks a rule. Its `Display` is one or more sentences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Impact {
    /// The API server rejects a CRD of the bundle.
    CrdRejected,
    /// The API server rejects an object of the bundle, or one that OLM creates during the `InstallPlan`.
    ObjectRejected,
    /// The API server rejects the CSV.
    CsvRejected,
    /// The API server rejects a Deployment of the install strategy.
    DeploymentRejected,
    /// The API server rejects the webhook configuration that OLM creates.
    WebhookRejected,
    /// The API server rejects the Service that OLM creates for a webhook or an aggregated API.
    ServiceRejected,
    /// The API server rejects the `APIService` that OLM creates for an aggregated API.
    ApiServiceRejected,
    /// OLM cannot unpack the bundle image.
    UnpackFails,
    /// OLM rejects a step of the `InstallPlan`.
    InstallPlanFails,
    /// OLM rejects the CSV with this reason.
    CsvFails(&'static str),
    /// A requirement of the CSV is never met.
    CsvPending,
    /// OLM cannot complete the install strategy.
    InstallFails,
    /// OLM cannot resolve dependencies in the namespace.
    ResolutionFails,
    /// OLM v1 rejects the bundle.
    OlmV1Rejects,
    /// `operator-sdk bundle validate` rejects the bundle.
    SdkRejects,
    /// `opm` rejects the bundle.
    OpmRejects,
    /// `opm` rejects the catalog.
    CatalogRejected,
    /// OperatorHub.io rejects the submission.
    SubmissionRejected,
    /// OpenShift rejects the pods of a Deployment.
    PodsRejected,
    /// The pipeline of the OpenShift community catalog rejects the submission.
    PipelineRejects,
    /// A check of `preflight check operator` fails.
    PreflightFails(&'static str),
    /// The API server or OLM drops the field without an error.
    FieldDropped,
    /// OLM ignores the value without an error.
    Ignored,
    /// A consequence of this rule alone; nothing rejects the bundle for it.
    Specific(&'static str),
}

impl Impact {
    /// Returns who rejects the bundle, if anyone does.
    #[must_use]
    pub const fn rejected_by(self) -> Option<Validator> {
        match self {
            Self::CrdRejected
            | Self::ObjectRejected
            | Self::CsvRejected
            | Self::DeploymentRejected
            | Self::WebhookRejected
            | Self::ServiceRejected
            | Self::ApiServiceRejected => Some(Validator::ApiServer),
            Self::UnpackFails
            | Self::InstallPlanFails
            | Self::CsvFails(_)
            | Self::CsvPending
            | Self::InstallFails
            | Self::ResolutionFails => Some(Validator::Olm),
            Self::OlmV1Rejects => Some(Validator::OlmV1),
            Self::SdkRejects => Some(Validator::OperatorSdk),
            Self::OpmRejects | Self::CatalogRejected => Some(Validator::Opm),
            Self::SubmissionRejected => Some(Validator::OperatorHub),
            Self::PodsRejected => Some(Validator::OpenShift),
            Self::PipelineRejects => Some(Validator::CommunityPipeline),
            Self::PreflightFails(_) => Some(Validator::Preflight),
            Self::FieldDropped | Self::Ignored | Self::Specific(_) => None,
        }
    }
}

impl fmt::Display for Impact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const INSTALL_FAILED: &str = "and the CSV fails with `InstallComponentFailed`.";
        match self {
            Self::CrdRejected => f.write_str("The API server rejects the CRD, and the InstallPlan fails."),
            Self::ObjectRejected => {
                f.write_str("The API server rejects the object, and the InstallPlan fails.")
            }
            Self::CsvRejected => f.write_str("The API server rejects the CSV, and the InstallPlan fails."),
            Self::DeploymentRejected => write!(f, "The API server rejects the Deployment, {INSTALL_FAILED}"),
            Self::WebhookRejected => {
                write!(f, "The API server rejects the webhook configuration, {INSTALL_FAILED}")
            }
            Self::ServiceRejected => {
                write!(f, "The API server rejects the Service that OLM creates, {INSTALL_FAILED}")
            }
            Self::ApiServiceRejected => {
                write!(f, "The API server rejects the APIService that OLM creates, {INSTALL_FAILED}")
            }
            Self::UnpackFails => f.write_str("OLM cannot unpack the bundle."),
            Self::InstallPlanFails => f.write_str("The InstallPlan fails."),
            Self::CsvFails(reason) => write!(f, "OLM rejects the CSV, which fails with `{reason}`."),
            Self::CsvPending => {
                f.write_str("A requirement of the CSV is never met, and the CSV stays `Pending`.")
            }
            Self::InstallFails => write!(f, "OLM cannot complete the install strategy, {INSTALL_FAILED}"),
            Self::ResolutionFails => f.write_str(
                "OLM's resolver fails, and no operator in the namespace can be installed or upgraded.",
            ),
            Self::OlmV1Rejects => f.write_str("OLM v1 does not install the bundle."),
            Self::SdkRejects => f.write_str("`operator-sdk bundle validate` rejects the bundle."),
            Self::OpmRejects => f.write_str("`opm` rejects the bundle."),
            Self::CatalogRejected => {
                f.write_str("`opm` rejects the catalog, and a catalog's pod or catalogd does not serve it.")
            }
            Self::SubmissionRejected => f.write_str("OperatorHub.io rejects the submission."),
            Self::PodsRejected => f.write_str(
                "Under the security context constraints `restricted-v2`, the default for service accounts, OpenShift rejects the \
                 pods, and the Deployment never becomes available.",
            ),
            Self::PipelineRejects => {
                f.write_str("The pipeline of the OpenShift community catalog rejects the submission.")
            }
            Self::PreflightFails(check) => write!(f, "The check `{check}` of `preflight check operator` fails."),
            Self::FieldDropped => f.write_str("The field is dropped without an error and has no effect."),
            Self::Ignored => f.write_str("OLM ignores the value without an error."),
            Self::Specific(text) => f.write_str(text),
        }
    }
}

/// An upstream project that a rule reproduces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Project {
    /// This project.
    BundleTool,
    /// `k8s.io/kubernetes`.
    Kubernetes,
    /// `k8s.io/apimachinery`.
    Apimachinery,
    /// `k8s.io/apiserver`.
    Apiserver,
    /// `k8s.io/apiextensions-apiserver`.
    ApiextensionsApiserver,
    /// `k8s.io/kube-aggregator`.
    KubeAggregator,
    /// The Kubernetes documentation.
    KubernetesDocs,
    /// `sigs.k8s.io/yaml`.
    SigsYaml,
    /// `go.yaml.in/yaml/v2`, the YAML parser of Kubernetes and OLM.
    GoYaml,
    /// `go.etcd.io/etcd`.
    Etcd,
    /// `github.com/operator-framework/api`.
    OperatorFrameworkApi,
    /// `github.com/operator-framework/operator-controller`.
    OperatorController,
    /// `github.com/operator-framework/operator-registry`.
    OperatorRegistry,
    /// `github.com/operator-framework/operator-lifecycle-manager`.
    OperatorLifecycleManager,
    /// `github.com/operator-framework/operator-sdk`.
    OperatorSdk,
    /// `github.com/openshift/apiserver-library-go`, the admission of security context constraints.
    OpenShiftLibrary,
    /// The OpenShift documentation.
    OpenShiftDocs,
    /// `github.com/redhat-openshift-ecosystem/operator-pipelines`.
    OperatorPipelines,
    /// `github.com/redhat-openshift-ecosystem/openshift-preflight`.
    Preflight,
}

impl Project {
    /// Returns the name that the project goes by.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::BundleTool => "bundle-tool",
            Self::Kubernetes => "k8s.io/kubernetes",
            Self::Apimachinery => "k8s.io/apimachinery",
            Self::Apiserver => "k8s.io/apiserver",
            Self::ApiextensionsApiserver => "k8s.io/apiextensions-apiserver",
            Self::KubeAggregator => "k8s.io/kube-aggregator",
            Self::KubernetesDocs => "kubernetes.io",
            Self::SigsYaml => "sigs.k8s.io/yaml",
            Self::GoYaml => "go.yaml.in/yaml/v2",
            Self::Etcd => "go.etcd.io/etcd",
            Self::OperatorFrameworkApi => "operator-framework/api",
            Self::OperatorController => "operator-framework/operator-controller",
            Self::OperatorRegistry => "operator-framework/operator-registry",
            Self::OperatorLifecycleManager => "operator-framework/operator-lifecycle-manager",
            Self::OperatorSdk => "operator-framework/operator-sdk",
            Self::OpenShiftLibrary => "openshift/apiserver-library-go",
            Self::OpenShiftDocs => "docs.openshift.com",
            Self::OperatorPipelines => "redhat-openshift-ecosystem/operator-pipelines",
            Self::Preflight => "redhat-openshift-ecosystem/openshift-preflight",
        }
    }
}

impl Project {
    /// Returns whose releases [`Source::since`] names; `None` for documents and pipelines, which have no releases.
    #[must_use]
    pub const fn product(self) -> Option<&'static str> {
        match self {
            Self::Kubernetes
            | Self::Apimachinery
            | Self::Apiserver
            | Self::ApiextensionsApiserver
            | Self::KubeAggregator => Some("Kubernetes"),
            Self::SigsYaml => Some("sigs.k8s.io/yaml"),
            Self::GoYaml => Some("go-yaml"),
            Self::Etcd => Some("etcd"),
            Self::OperatorFrameworkApi => Some("operator-framework/api"),
            Self::OperatorController => Some("operator-controller"),
            Self::OperatorRegistry => Some("opm"),
            Self::OperatorLifecycleManager => Some("OLM"),
            Self::OperatorSdk => Some("operator-sdk"),
            Self::OpenShiftLibrary => Some("OpenShift"),
            Self::Preflight => Some("preflight"),
            Self::BundleTool | Self::KubernetesDocs | Self::OpenShiftDocs | Self::OperatorPipelines => None,
        }
    }
}

impl Serialize for Project {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// The place upstream that a rule reproduces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Source {
    /// The project.
    pub project: Project,
    /// The path below the project's root, or the title of a page.
    pub file: &'static str,
    /// The functions or types in the file; empty for the whole file.
    pub symbols: &'static [&'static str],
    /// The first minor release of [`Project::product`] that has the check and enables it by default.
    ///
    /// Releases are examined from [`OLDEST_RELEASES`] on: a check that is older has the first of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<&'static str>,
}

/// The releases from which [`Source::since`] begins, for products whose older releases are of no interest.
pub const OLDEST_RELEASES: &str = "Kubernetes 1.16, OLM 0.14 and operator-framework/api 0.2";

impl Source {
    /// Returns a source that is a whole file.
    #[must_use]
    pub const fn file(project: Project, file: &'static str) -> Self {
        Self { project, file, symbols: &[], since: None }
    }

    /// Returns a source that is these functions or types of a file.
    #[must_use]
    pub const fn symbols(project: Project, file: &'static str, symbols: &'static [&'static str]) -> Self {
        Self { project, file, symbols, since: None }
    }

    /// Returns the source with the release from which on it has the check, such as `1.25`.
    #[must_use]
    pub const fn since(self, release: &'static str) -> Self {
        Self { since: Some(release), ..self }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.project.name(), self.file)?;
        if !self.symbols.is_empty() {
            write!(f, " ({})", self.symbols.join(", "))?;
        }
        if let (Some(product), Some(release)) = (self.project.product(), self.since) {
            write!(f, ", since {product} {release}")?;
        }
        Ok(())
    }
}
