//! `bundle-tool verify`: signatures of images.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;
use oci_images::registry::{Reference, Repository, Resolver, Verification, VerifyingKey};

use super::exit::Exit;
use super::images::RegistryArgs;
use super::runtime::runtime;
use crate::terminal::{ERROR, stderr};
use kube_yaml::text::printable;

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Verify with the public key
  bundle-tool verify quay.io/example/operator-bundle:v1.0.0 --key cosign.pub

  # Sign when pushing
  bundle-tool push bundle ./bundle quay.io/example/operator-bundle:v1.0.0 \\
    --sign cosign.key")]
pub(crate) struct Verify {
    /// Name of the image
    #[arg(value_name = "IMAGE", value_parser = parse)]
    image: Reference,
    /// Public key in PEM, such as cosign.pub
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    #[command(flatten)]
    registries: RegistryArgs,
}

fn parse(text: &str) -> Result<Reference, String> {
    Repository::parse(text).map_err(|error| error.to_string())
}

impl Verify {
    pub(crate) fn run(self) -> Result<Exit> {
        let Self { image, key, registries } = self;
        let key = VerifyingKey::read(&key)?;
        let (digest, verification) = runtime()?
            .block_on(async {
                let repository =
                    Repository::for_reading(&image, &registries.options(), &Resolver::from_env()).await?;
                let (digest, _) = repository.digest().await?;
                let verification = repository.verify(&digest, &key).await?;
                Ok::<_, anyhow::Error>((digest, verification))
            })
            .with_context(|| format!("failed to verify {image}"))?;
        let mut out = io::stdout().lock();
        let Verification { verified, other_keys, unsupported, .. } = verification;
        for signature in &verified {
            writeln!(out, "{}", printable(&signature.payload))?;
        }
        out.flush()?;
        if verified.is_empty() {
            let mut stderr = stderr();
            match other_keys {
                0 if unsupported.is_empty() => writeln!(stderr, "{ERROR} {digest} is not signed")?,
                0 => {}
                1 => writeln!(stderr, "{ERROR} {digest} is signed with another key")?,
                count => writeln!(
                    stderr,
                    "{ERROR} {digest} has {count} signatures, none of which was made with this key"
                )?,
            }
            for format in &unsupported {
                writeln!(stderr, "{ERROR} {digest} has a signature in an unsupported format: {format}")?;
            }
            return Ok(Exit::Findings);
        }
        Ok(Exit::Success)
    }
}
