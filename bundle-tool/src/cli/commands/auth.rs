//! `bundle-tool auth`: which credentials are used.

use std::io::{self, Write};

use anyhow::Result;
use clap::{Args, Subcommand};
use oci_images::registry::{Outcome, Reference, Repository, Resolver};
use serde_json::{Value, json};

use crate::cli::exit::Exit;
use crate::cli::format::{Format, OutputOption};
use kube_yaml::text::write_json;

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Show which credentials an image gets, and from where
  bundle-tool auth explain quay.io/example/operator-bundle:v1.0.0")]
pub(crate) struct Auth {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Explain(Explain),
}

/// Show which file and which entry an image's credentials come from
///
/// Lists the files in the order in which they are read: `$REGISTRY_AUTH_FILE` alone if it is set, otherwise
/// `$XDG_RUNTIME_DIR/containers/auth.json`, `~/.config/containers/auth.json` and `~/.docker/config.json` (or
/// `$DOCKER_CONFIG/config.json`). In a file, a credential helper of the registry comes first, then the entry with the
/// longest matching prefix, then the default credential store (`credsStore`). Passwords and tokens are never printed,
/// and no registry is contacted.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Show which credentials an image gets, and from where
  bundle-tool auth explain quay.io/example/operator-bundle:v1.0.0

  # Print JSON for a script
  bundle-tool auth explain registry.example.com/team/app --output json")]
struct Explain {
    /// Name of an image, or of a repository
    #[arg(value_name = "IMAGE", value_parser = parse)]
    image: Reference,
    #[command(flatten)]
    format: OutputOption<Format>,
}

fn parse(text: &str) -> Result<Reference, String> {
    Repository::parse(text).map_err(|error| error.to_string())
}

impl Auth {
    pub(crate) fn run(self) -> Result<Exit> {
        let Command::Explain(Explain { image, format }) = self.command;
        let explanation = Resolver::from_env().explain(&image)?;
        let is_anonymous = explanation.is_anonymous();
        let mut out = io::stdout().lock();
        if format.output == Format::Json {
            let files: Vec<Value> = explanation
                .files
                .iter()
                .map(|(path, outcome)| match outcome {
                    Outcome::Used { origin, user } => {
                        json!({ "path": path, "outcome": "used", "origin": origin, "user": user })
                    }
                    Outcome::Missing => json!({ "path": path, "outcome": "missing" }),
                    Outcome::NotReached => json!({ "path": path, "outcome": "not-reached" }),
                    _ => json!({ "path": path, "outcome": "no-entry" }),
                })
                .collect();
            let document = json!({
                "version": 1,
                "registry": image.registry(),
                "repository": image.repository(),
                "anonymous": is_anonymous,
                "files": files,
            });
            write_json(&document, &mut out)?;
            return Ok(Exit::Success);
        }
        writeln!(out, "{}/{}", image.registry(), image.repository())?;
        for (path, outcome) in &explanation.files {
            let text = match outcome {
                Outcome::Missing => "does not exist".to_owned(),
                Outcome::NotReached => "not read: an earlier file has credentials".to_owned(),
                Outcome::Used { origin, user: Some(user) } => format!("used: {origin}, user `{user}`"),
                Outcome::Used { origin, user: None } => format!("used: {origin}, an identity token"),
                _ => "no entry and no credential helper for this image".to_owned(),
            };
            writeln!(out, "  {}: {text}", path.display())?;
        }
        if is_anonymous {
            writeln!(
                out,
                "No credentials: the image is accessed anonymously. To log in, run `bundle-tool login {}`.",
                image.registry()
            )?;
        }
        out.flush()?;
        Ok(Exit::Success)
    }
}
