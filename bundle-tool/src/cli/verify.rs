//! `bundle-tool verify`: signatures of images.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;
use oci_images::registry::{Reference, Repository, Resolver, VerifyingKey};

use super::exit::Exit;
use super::images::Registries;
use super::runtime::runtime;
use crate::model::text::printable;

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Verify with the public key
  bundle-tool verify quay.io/example/operator-bundle:v1.0.0 --key cosign.pub

  # Sign when pushing
  bundle-tool push bundle bundle quay.io/example/operator-bundle:v1.0.0 \\
    --sign cosign.key")]
pub(super) struct Verify {
    /// Name of the image
    #[arg(value_name = "IMAGE", value_parser = parse)]
    image: Reference,
    /// Public key in PEM, such as cosign.pub
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    #[command(flatten)]
    registries: Registries,
}

fn parse(text: &str) -> Result<Reference, String> {
    Repository::parse(text).map_err(|error| error.to_string())
}

impl Verify {
    pub(super) fn run(self) -> Result<Exit> {
        let Self { image, key, registries } = self;
        let key = VerifyingKey::read(&key)?;
        let (digest, verified) = runtime()?
            .block_on(async {
                let repository =
                    Repository::for_reading(&image, &registries.options(), &Resolver::from_env()).await?;
                let (digest, _) = repository.digest().await?;
                let verified = repository.verify(&digest, &key).await?;
                Ok::<_, anyhow::Error>((digest, verified))
            })
            .with_context(|| format!("failed to verify {image}"))?;
        let mut out = io::stdout().lock();
        for signature in &verified {
            writeln!(out, "{}", printable(&signature.payload))?;
        }
        out.flush()?;
        if verified.is_empty() {
            writeln!(io::stderr(), "error: no valid signature of {digest} with this key was found")?;
            return Ok(Exit::Findings);
        }
        Ok(Exit::Success)
    }
}
