//! How the cluster and this program reach registries, and what serves the catalog.

use std::io::Write as _;

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};

use super::state::State;
use crate::cli::images::{Location, RegistryArgs, RegistryConnection, parse_image};
use crate::cli::time_limit::Deadline;
use olm_cluster::manifests::Catalog;
use olm_cluster::{Cluster, kinds};

// What runs on the cluster to serve the catalog.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Catalog options")]
pub(crate) struct CatalogPodArgs {
    /// opm image that serves the catalog [default: the image that OLM itself uses to unpack bundles]
    #[arg(long, value_name = "IMAGE", value_parser = parse_image)]
    pub(crate) opm_image: Option<String>,
    /// Secret with credentials for pulling images, in the operator's namespace
    #[arg(long, value_name = "NAME")]
    pub(crate) pull_secret_name: Option<String>,
    /// Service account of the catalog's pod
    #[arg(long, value_name = "NAME")]
    service_account: Option<String>,
    /// Pod Security level that the catalog's pod complies with
    #[arg(long, value_enum, value_name = "LEVEL", default_value_t = Security::Restricted)]
    pub(crate) security_context_config: Security,
}

// How registries are reached from here.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Registry options")]
pub(crate) struct Access {
    /// Secret with a certificate authority of the registry in its key cert.pem, in the operator's namespace
    #[arg(long, value_name = "NAME")]
    pub(crate) ca_secret_name: Option<String>,
    #[command(flatten)]
    connection: RegistryConnection,
    /// Use plain HTTP for the registries of the given images and of --push-to, as operator-sdk does
    #[arg(long, hide = true)]
    use_http: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Security {
    /// Restricted
    Restricted,
    /// No security context
    Legacy,
}

/// The maximum size of the certificate in --ca-secret-name.
const MAX_CERTIFICATE: usize = 1 << 20;

/// The registries, with the file of the certificate that a secret has.
pub(crate) struct Prepared {
    pub(crate) options: RegistryArgs,
    /// Deleted when the command ends.
    _certificate: Option<tempfile::NamedTempFile>,
}

impl Access {
    pub(crate) async fn registries(
        &self,
        cluster: Option<&Cluster>,
        namespace: &str,
        references: &[Option<&str>],
        deadline: Deadline,
    ) -> Result<Prepared> {
        let mut certificate = None;
        if let (Some(name), Some(cluster)) = (&self.ca_secret_name, cluster) {
            let secret = cluster
                .get(kinds::SECRET, namespace, name)
                .await?
                .with_context(|| format!("secret `{name}` does not exist in namespace `{namespace}`"))?;
            let encoded = secret["data"]["cert.pem"]
                .as_str()
                .with_context(|| format!("secret `{name}` has no key cert.pem"))?;
            let bytes = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, encoded)
                .with_context(|| format!("key cert.pem of secret `{name}` is not valid base64"))?;
            if bytes.len() > MAX_CERTIFICATE {
                bail!("key cert.pem of secret `{name}` exceeds {MAX_CERTIFICATE} bytes");
            }
            let mut file = tempfile::NamedTempFile::new().context("failed to create a temporary file")?;
            file.write_all(&bytes).context("failed to write a temporary file")?;
            certificate = Some(file);
        }
        let host = |reference: &&str| {
            let location = Location::parse(reference).ok()?;
            location.registry().map(|name| name.registry().to_owned())
        };
        let hosts = references.iter().flatten().filter(|_| self.use_http).filter_map(host);
        let mut options = RegistryArgs::from(self.connection.clone().with_plain_http(hosts)).until(deadline);
        if let Some(file) = &certificate {
            options = options.with_authority(file.path().to_owned());
        }
        Ok(Prepared { options, _certificate: certificate })
    }
}

impl CatalogPodArgs {
    /// Returns a catalog that is served from a `ConfigMap`.
    pub(crate) fn served(&self, content: Vec<u8>, state: Option<&State>) -> Result<Catalog> {
        let image = self.opm_image.clone().or_else(|| state.and_then(State::opm_image)).context(
            "no image with opm is known, because OLM's catalog-operator could not be read; set one with --opm-image",
        )?;
        let digest = oci_images::layout::sha256(&content).to_string();
        Ok(Catalog::Served {
            content: String::from_utf8(content).context("the catalog is not valid UTF-8")?,
            digest,
            image,
            service_account: self.service_account.clone(),
            // OpenShift assigns a user of its own, and rejects others.
            user: (!state.is_some_and(|state| state.openshift)).then_some(1001),
        })
    }
}
