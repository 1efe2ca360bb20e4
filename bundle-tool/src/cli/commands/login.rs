//! `bundle-tool login` and `logout`: credentials for registries, in the files of podman and docker.

use std::io::{self, Read, Write};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use oci_images::registry::{self, Credentials, Repository, Resolver};

use crate::cli::exit::Exit;
use crate::cli::images::RegistryArgs;
use crate::cli::runtime::runtime;
use crate::terminal::{WARNING, messages, stderr};
use oci_images::secrets::Address;

/// The maximum size of a password in bytes. Tokens of cloud providers have a few thousand.
const MAX_PASSWORD: u64 = 64 << 10;

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Read the password from a file
  bundle-tool login quay.io --username example+robot --password-stdin < token

  # Log in for the repositories of one organization only
  bundle-tool login quay.io/example --username example+robot \\
    --password-stdin < token")]
pub(crate) struct Login {
    /// Registry, optionally with a repository prefix, such as quay.io/example
    #[arg(value_name = "REGISTRY[/PATH]")]
    scope: String,
    /// User name
    #[arg(long, short, value_name = "NAME")]
    username: String,
    /// Read the password from standard input
    #[arg(long, required = true)]
    password_stdin: bool,
    #[command(flatten)]
    registries: RegistryArgs,
}

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  # Remove the login for a registry
  bundle-tool logout quay.io

  # Remove the login for one organization
  bundle-tool logout quay.io/example")]
pub(crate) struct Logout {
    /// Registry, optionally with a repository prefix, such as quay.io/example
    #[arg(value_name = "REGISTRY[/PATH]")]
    scope: String,
}

/// Parses a registry with an optional path.
fn scope(text: &str) -> Result<String, String> {
    let text = text.strip_prefix("https://").unwrap_or(text).trim_end_matches('/');
    let (host, path) = text.split_once('/').unwrap_or((text, "x"));
    // Parsed as part of a name, with a host that cannot be taken for a part of a path.
    let is_host = host == "localhost" || host.contains(['.', ':']);
    match Repository::parse(&format!("{host}/{path}")) {
        Ok(name) if is_host && name.registry() == host && name.tag().is_none_or(|tag| tag == "latest") => {
            Ok(text.to_owned())
        }
        _ => {
            let user = if text.contains('@') { ", without a user, who is set with --username" } else { "" };
            Err(format!(
                "invalid registry `{}`: expected a name, such as quay.io or registry.example.com:5000/team{user}",
                Address::new(text)
            ))
        }
    }
}

impl Login {
    pub(crate) fn run(self) -> Result<Exit> {
        let Self { scope: given, username, password_stdin: _, registries } = self;
        let scope = scope(&given).map_err(anyhow::Error::msg)?;
        if username.is_empty() || username.contains(':') {
            bail!("invalid user name: it must neither be empty nor contain `:`");
        }
        let mut password = String::new();
        let mut input = io::stdin().lock().take(MAX_PASSWORD + 1);
        input.read_to_string(&mut password).context("failed to read the password from standard input")?;
        if password.len() as u64 > MAX_PASSWORD {
            bail!("the password exceeds the limit of {MAX_PASSWORD} bytes");
        }
        let password = password.strip_suffix('\n').unwrap_or(&password);
        let password = password.strip_suffix('\r').unwrap_or(password);
        if password.is_empty() {
            bail!("no password on standard input");
        }
        let host = scope.split('/').next().unwrap_or(&scope);
        let credentials = Credentials::basic(&username, password);
        let login = runtime()?.block_on(registry::log_in(host, credentials, &registries.options()))?;
        let stored = Resolver::from_env().log_in(&scope, &username, password)?;
        if login == registry::Login::NotRequired {
            writeln!(stderr(), "{WARNING} {host} does not ask for a login; the password was not verified")?;
        }
        writeln!(messages(), "Logged in to {scope}; stored in {stored}")?;
        Ok(Exit::Success)
    }
}

impl Logout {
    pub(crate) fn run(self) -> Result<Exit> {
        let scope = scope(&self.scope).map_err(anyhow::Error::msg)?;
        let removed = Resolver::from_env().log_out(&scope)?;
        if removed.is_empty() {
            bail!(
                "not logged in to {scope}; `bundle-tool auth explain {scope}/NAME` shows which files are read"
            );
        }
        let mut out = messages();
        for stored in removed {
            writeln!(out, "Removed the login for {scope} from {stored}")?;
        }
        Ok(Exit::Success)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_registries_with_or_without_a_path() {
        for text in ["quay.io", "quay.io/org", "localhost:5000/a/b", "localhost", "docker.io"] {
            assert_eq!(scope(text).as_deref(), Ok(text));
        }
        assert_eq!(scope("https://quay.io/").as_deref(), Ok("quay.io"));
        for text in
            ["", "quay", "quay.io/", "quay.io/A", "quay.io/a:v1", "http://quay.io", "a b.c", "quay.io/a@x"]
        {
            let parsed = scope(text);
            assert!(parsed.is_err() || text == "quay.io/", "{text}: {parsed:?}");
        }
        let error = scope("user:hunter2@127.0.0.1:1").unwrap_err();
        assert!(error.contains("`***@127.0.0.1:1`") && !error.contains("hunter2"), "{error}");
    }
}
