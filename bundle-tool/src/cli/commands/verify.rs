//! `bundle-tool verify`: signatures of images.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use oci_images::location::{self, ImageLocation};
use oci_images::registry::{Identity, Reference, Repository, Resolver, Verification, Verifier, VerifyingKey};

use super::attest::MAX_SIGNED;
use crate::cli::exit::Exit;
use crate::cli::images::RegistryArgs;
use crate::cli::runtime::runtime;
use crate::terminal::{ERROR, stderr};
use kube_yaml::text::printable;
use olm_model::disk::file;

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Verify with the public key
  bundle-tool verify quay.io/example/operator-bundle:v1.0.0 --key cosign.pub

  # Verify a keyless signature, with trusted roots from a file
  bundle-tool verify quay.io/example/operator-bundle:v1.0.0 \\
    --certificate-identity release@example.com \\
    --certificate-oidc-issuer https://accounts.google.com \\
    --trusted-root trusted_root.json

  # Sign when pushing
  bundle-tool push bundle ./bundle quay.io/example/operator-bundle:v1.0.0 \\
    --sign cosign.key

  # Verify a file that `attest sign` signed
  bundle-tool verify SHA256SUMS --signature SHA256SUMS.sig --key cosign.pub")]
pub(crate) struct Verify {
    /// Name of the image, or path of the file of --signature
    #[arg(value_name = "IMAGE|FILE")]
    subject: String,
    /// Signature of a file in base64, as `attest sign` and `cosign sign-blob` write it
    #[arg(long, value_name = "FILE")]
    signature: Option<PathBuf>,
    /// Public key in PEM, such as cosign.pub
    #[arg(long, value_name = "FILE", required_unless_present = "certificate_identity")]
    key: Option<PathBuf>,
    /// Email address or URI in the certificate of a keyless signature; requires --certificate-oidc-issuer and --trusted-root
    #[arg(long, value_name = "IDENTITY", conflicts_with_all = ["key", "signature"], requires_all = ["certificate_oidc_issuer", "trusted_root"])]
    certificate_identity: Option<String>,
    /// URL of the OIDC issuer in the certificate
    #[arg(long, value_name = "URL", requires = "certificate_identity")]
    certificate_oidc_issuer: Option<String>,
    /// File with the certificate authorities and transparency logs to trust: a `trusted_root.json` of sigstore
    #[arg(long, value_name = "FILE", requires = "certificate_identity")]
    trusted_root: Option<PathBuf>,
    #[command(flatten)]
    registries: RegistryArgs,
}

/// Maximum size of a signature in bytes.
const MAX_SIGNATURE: u64 = 64 << 10;

impl Verify {
    pub(crate) fn run(self) -> Result<Exit> {
        let Self { subject, signature, key, registries, .. } = &self;
        let verifier =
            match (key, &self.certificate_identity, &self.certificate_oidc_issuer, &self.trusted_root) {
                (Some(key), ..) => {
                    let key = VerifyingKey::read(key)?;
                    if let Some(signature) = signature {
                        return verify_file(Path::new(&subject), signature, &key);
                    }
                    Verifier::Key(key)
                }
                (None, Some(identity), Some(issuer), Some(roots)) => {
                    Identity::read(identity, issuer, roots)?.into()
                }
                _ => bail!("--key or --certificate-identity is required"),
            };
        let image = image(subject)?;
        let (digest, verification) = runtime()?
            .block_on(async {
                let repository =
                    Repository::for_reading(&image, &registries.options(), &Resolver::from_env()).await?;
                let (digest, _) = repository.digest().await?;
                let verification = repository.verify(&digest, verifier).await?;
                Ok::<_, anyhow::Error>((digest, verification))
            })
            .with_context(|| format!("failed to verify {image}"))?;
        let mut out = io::stdout().lock();
        let Verification { verified, problems, .. } = verification;
        for signature in &verified {
            writeln!(out, "{}", printable(&signature.payload))?;
        }
        out.flush()?;
        if !verified.is_empty() {
            return Ok(Exit::Success);
        }
        let mut out = stderr();
        let verified_image = image.at(digest.as_ref());
        if problems.is_empty() {
            writeln!(out, "{ERROR} {verified_image} is not signed")?;
        }
        for problem in problems {
            writeln!(out, "{ERROR} {verified_image} {}", printable(&problem.to_string()))?;
        }
        Ok(Exit::Findings)
    }
}

/// Returns the image that is verified: one in a registry.
fn image(subject: &str) -> Result<Reference> {
    match subject.parse() {
        Ok(ImageLocation::Registry(image)) => Ok(image),
        Ok(place) => bail!("expected the name of an image in a registry, found {place}"),
        Err(location::Error::Path(_)) if Path::new(subject).is_file() => {
            bail!("{subject} is a file: pass its signature with --signature")
        }
        Err(error) => Err(error.into()),
    }
}

/// Verifies the signature of a file.
fn verify_file(path: &Path, signature: &Path, key: &VerifyingKey) -> Result<Exit> {
    let read = |path: &Path, limit: u64| {
        file::read(path, limit).with_context(|| format!("failed to read {}", path.display()))
    };
    let bytes = read(path, MAX_SIGNED)?;
    let signature_bytes = read(signature, MAX_SIGNATURE)?;
    if key.verifies_blob(&bytes, &String::from_utf8_lossy(&signature_bytes)) {
        return Ok(Exit::Success);
    }
    writeln!(
        stderr(),
        "{ERROR} {} is not a signature of {} with this key: the file was changed, or another key signed it",
        signature.display(),
        path.display()
    )?;
    Ok(Exit::Findings)
}
