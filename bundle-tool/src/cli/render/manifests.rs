//! `bundle-tool render manifests`: a bundle as plain manifests, which install it without OLM.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};

use crate::cli::bundles;
use crate::cli::cluster::check_namespace;
use crate::cli::exit::Exit;
use crate::cli::images::Registries;
use crate::cli::runtime::SharedRuntime;
use crate::cluster::preflight::InstallMode;
use crate::manifests::{self, Certificates, Options, layout};
use crate::model::{Annotations, Bundle};

/// The annotation of a CSV with the namespace that its authors suggest.
const SUGGESTED: &str = "/metadata/annotations/operatorframework.io~1suggested-namespace";

/// Render a bundle as plain manifests that install it without OLM
///
/// The objects are those that OLM creates: service accounts, roles for the install mode, Deployments, webhooks with their
/// Services and certificates, CRDs and the bundle's other objects. Nothing upgrades them, and dependencies are not installed.
///
/// The certificates of webhooks come from cert-manager, or are generated now: the output then contains private keys, and they are
/// valid for two years.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Install an operator that watches all namespaces
  bundle-tool render manifests ./bundle --namespace gizmos |
    kubectl apply --server-side -f -

  # Write a kustomize base of an operator that watches one namespace
  bundle-tool render manifests ./bundle --install-mode SingleNamespace=team-a \\
    --output kustomize --directory base

  # Write a Helm chart
  bundle-tool render manifests quay.io/example/gizmo-bundle:v1.2.0 \\
    --output helm --directory charts/gizmo")]
pub(in crate::cli) struct RenderManifests {
    /// Bundle: a directory, `oci:DIR`, `oci-archive:FILE` or an image
    #[arg(value_name = "REF")]
    reference: String,
    /// Namespace of the operator [default: the one that the CSV suggests, or the package's name; with --output helm, the
    /// release's]
    #[arg(long, short, value_name = "NAME")]
    namespace: Option<String>,
    /// Namespaces that the operator watches: `AllNamespaces`, `OwnNamespace`, `SingleNamespace=NS` or
    /// `MultiNamespace=NS,…` [default: the first of `AllNamespaces` and `OwnNamespace` that the bundle supports]
    #[arg(long, value_name = "MODE[=NS,…]")]
    install_mode: Option<InstallMode>,
    /// Where the certificates of webhooks come from
    #[arg(long, value_enum, default_value_t = Source::CertManager)]
    certificates: Source,
    /// Output format
    #[arg(long, short, value_enum, default_value_t = Form::Yaml)]
    output: Form,
    /// Directory to write to, which must be empty or not exist; without it, YAML is printed
    #[arg(long, value_name = "DIR", required_if_eq_any = [("output", "kustomize"), ("output", "helm")])]
    directory: Option<PathBuf>,
    #[command(flatten)]
    registries: Registries,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Source {
    /// An Issuer and a Certificate of cert-manager, which must be installed
    CertManager,
    /// A self-signed certificate in a Secret
    SelfSigned,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// YAML documents
    Yaml,
    /// A kustomize base
    Kustomize,
    /// A Helm chart
    Helm,
}

impl RenderManifests {
    pub(in crate::cli) fn run(self) -> Result<Exit> {
        if self.output == Form::Helm && self.namespace.is_some() {
            bail!("--namespace cannot be used with --output helm: the namespace is the release's");
        }
        if self.output == Form::Helm && self.certificates == Source::SelfSigned {
            bail!(
                "--certificates self-signed cannot be used with --output helm: a chart must not contain keys"
            );
        }
        let bundle = bundles::read(&self.reference, &self.registries, &SharedRuntime::default())?;
        if bundle.csv().is_none() {
            return Err(manifests::Error::NoCsv).with_context(|| self.failed());
        }
        let package = bundle
            .annotations()
            .and_then(|found| found.get(Annotations::PACKAGE))
            .unwrap_or_default()
            .to_owned();
        let namespace = match (&self.namespace, self.output) {
            (_, Form::Helm) => layout::HELM_NAMESPACE.to_owned(),
            (Some(namespace), _) => namespace.clone(),
            (None, _) => suggested(&bundle).unwrap_or_else(|| package.clone()),
        };
        if namespace.is_empty() {
            bail!("the bundle has no package name: set the operator's namespace with --namespace");
        }
        let targets = match &self.install_mode {
            Some(mode) if mode.kind == "OwnNamespace" => vec![namespace.clone()],
            Some(mode) => mode.namespaces.clone(),
            None => manifests::default_targets(&bundle, &namespace).with_context(|| self.failed())?,
        };
        let named = if self.output == Form::Helm { None } else { Some(&namespace) };
        for name in named.into_iter().chain(self.install_mode.iter().flat_map(|mode| &mode.namespaces)) {
            check_namespace(name)?;
        }
        let certificates = match self.certificates {
            Source::CertManager => Certificates::CertManager,
            Source::SelfSigned => Certificates::SelfSigned,
        };
        let options = Options { namespace, targets, certificates };
        let rendered = manifests::objects(&bundle, &options).with_context(|| self.failed())?;
        let name = if package.is_empty() { rendered.name.clone() } else { package };
        let files = match self.output {
            Form::Kustomize => layout::kustomize(&rendered),
            Form::Helm => layout::helm(&rendered, &name),
            Form::Yaml => BTreeMap::from([(format!("{name}.yaml"), layout::stream(&rendered))]),
        };
        if let Some(directory) = &self.directory {
            let is_empty = std::fs::read_dir(directory).map_or(true, |mut entries| entries.next().is_none());
            if !is_empty {
                bail!("{} is not empty: choose a new directory", directory.display());
            }
            let files = files.into_iter().map(|(path, text)| (path, text.into_bytes())).collect();
            atomic_files::tree(directory, files)?;
            return Ok(Exit::Success);
        }
        let mut out = io::BufWriter::new(io::stdout().lock());
        for text in files.values() {
            out.write_all(text.as_bytes())?;
        }
        out.flush()?;
        Ok(Exit::Success)
    }

    fn failed(&self) -> String {
        format!("failed to render {}", self.reference)
    }
}

/// Returns the namespace that the CSV suggests.
fn suggested(bundle: &Bundle) -> Option<String> {
    let csv = bundle.csv()?.root.to_json();
    let name = csv.pointer(SUGGESTED)?.as_str()?;
    (!name.is_empty()).then(|| name.to_owned())
}
