//! `bundle-tool attest`: what accompanies files that are published, such as the archives of a release.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::{Args, Subcommand};
use serde_json::{Map, json};

use super::push::{file_digest, lock_as_spdx, signing_key, source_revision};
use crate::cli::exit::Exit;
use crate::provenance::{self, Build, Resource};
use crate::terminal::{WARNING, stderr};
use kube_yaml::text::printable;
use olm_model::disk::file;

/// Maximum size of a file to sign, in bytes. It is signed as a whole.
pub(crate) const MAX_SIGNED: u64 = 64 << 20;

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Describe what a release contains, and how it was built
  bundle-tool attest sbom >gizmo-operator.spdx.json
  bundle-tool attest provenance *.tar.gz >provenance.json

  # Sign the checksums of a release
  bundle-tool attest sign SHA256SUMS --key cosign.key")]
pub(crate) struct Attest {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    #[expect(clippy::doc_markdown, reason = "a help text, in which a variable is shown as in a shell")]
    /// Print a software bill of materials (SBOM) of the packages in a Cargo.lock
    ///
    /// The format is SPDX 2.3 in JSON. The same file always produces the same document: the time in it is
    /// $SOURCE_DATE_EPOCH, or 1970 if that is not set.
    ///
    /// Exit status: 0 on success, 2 if the file cannot be read.
    Sbom(Sbom),
    /// Print the SLSA provenance of files
    ///
    /// The document is an in-toto statement. It contains the names and digests of the files, and the git revision of the
    /// current directory. If the revision is unknown, a warning is printed and the document does not contain it.
    ///
    /// Exit status: 0 on success, 2 if a file cannot be read, or if two files have the same name.
    Provenance(Provenance),
    /// Sign files with a private key, as `cosign sign-blob` does
    ///
    /// Writes the signature of each FILE to FILE.sig, and overwrites an existing FILE.sig. Verify it with
    /// `bundle-tool verify --signature FILE.sig` or, because no transparency log contains the signature,
    /// `cosign verify-blob --insecure-ignore-tlog=true`.
    ///
    /// Exit status: 0 on success, 2 if the key or a file cannot be read, with nothing written.
    Sign(Sign),
}

impl Attest {
    pub(crate) fn run(self) -> Result<Exit> {
        match self.what {
            What::Sbom(command) => command.run(),
            What::Provenance(command) => command.run(),
            What::Sign(command) => command.run(),
        }
    }
}

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Describe what a release contains
  bundle-tool attest sbom --name gizmo-operator-1.2.0 >gizmo-operator.spdx.json")]
struct Sbom {
    /// Cargo.lock to read
    #[arg(value_name = "FILE", default_value = "Cargo.lock")]
    lock: PathBuf,
    /// Name of the document [default: the path of the file]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

impl Sbom {
    fn run(self) -> Result<Exit> {
        let name = self.name.unwrap_or_else(|| self.lock.display().to_string());
        print(&lock_as_spdx(&self.lock, &name)?)
    }
}

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Describe how archives were built
  bundle-tool attest provenance *.tar.gz >provenance.json")]
struct Provenance {
    /// Files that were built
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

impl Provenance {
    fn run(self) -> Result<Exit> {
        let mut subjects: BTreeMap<String, Resource> = BTreeMap::new();
        for path in &self.files {
            let name = file_name(path)?;
            let digest = BTreeMap::from([("sha256", file_digest(path)?.digest().to_owned())]);
            let subject = Resource { name: Some(name.clone()), digest, ..Resource::default() };
            if subjects.insert(name.clone(), subject).is_some() {
                bail!(
                    "two files have the name `{}`, and provenance names files without their directories",
                    printable(&name)
                );
            }
        }
        let mut build = Build {
            parameters: Map::from_iter([("command".to_owned(), json!("attest provenance"))]),
            dependencies: Vec::new(),
        };
        match source_revision(Path::new(".")) {
            Ok((path, source)) => {
                build.parameters.insert("path".to_owned(), json!(path));
                build.dependencies.push(source);
            }
            Err(reason) => writeln!(
                stderr(),
                "{WARNING} the provenance does not include the source revision: {}",
                printable(&reason)
            )?,
        }
        let subjects: Vec<_> = subjects.into_values().collect();
        print(&provenance::statement(&subjects, &build))
    }
}

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Sign the checksums of a release
  bundle-tool attest sign SHA256SUMS --key cosign.key

  # Verify them
  bundle-tool verify SHA256SUMS --signature SHA256SUMS.sig --key cosign.pub")]
struct Sign {
    /// Files to sign
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[expect(clippy::doc_markdown, reason = "a help text, in which a variable is shown as in a shell")]
    /// Private key, such as cosign.key; its password is read from $COSIGN_PASSWORD
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
}

impl Sign {
    fn run(self) -> Result<Exit> {
        let key = signing_key(&self.key)?;
        let mut signatures = Vec::new();
        for path in &self.files {
            let bytes =
                file::read(path, MAX_SIGNED).with_context(|| format!("failed to read {}", path.display()))?;
            let mut target = path.clone().into_os_string();
            target.push(".sig");
            signatures.push((PathBuf::from(target), key.sign_blob(&bytes)?));
        }
        // Every file was read and signed, so that none is left out if one cannot be read.
        for (path, signature) in signatures {
            atomic_files::file(&path, format!("{signature}\n").as_bytes())?;
        }
        Ok(Exit::Success)
    }
}

/// Returns the name of a file without its directory.
fn file_name(path: &Path) -> Result<String> {
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.with_context(|| format!("{} has no name in UTF-8", path.display()))?;
    Ok(name.to_owned())
}

fn print(bytes: &[u8]) -> Result<Exit> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()?;
    Ok(Exit::Success)
}
