//! The programs under test, as `make build` leaves them, and the registry that they push to.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};

/// The registry that `REGISTRY` names.
#[derive(Debug, Clone)]
pub struct Registry {
    /// Host and port.
    pub host: String,
    /// The file with the certificate authority of its certificate, from `REGISTRY_CA_FILE`.
    pub ca_file: Option<String>,
    /// Whether it serves HTTP without TLS, on a loopback address.
    pub plain_http: bool,
}

impl Registry {
    /// The registry of the environment.
    ///
    /// # Errors
    /// `REGISTRY` is not set.
    pub fn from_env() -> Result<Self> {
        let host =
            std::env::var("REGISTRY").context("REGISTRY names no registry to push to; see e2e/README.md")?;
        Ok(Self { host, ca_file: std::env::var("REGISTRY_CA_FILE").ok(), plain_http: false })
    }

    /// The options of `bundle-tool` for this registry.
    #[must_use]
    pub fn flags(&self) -> Vec<&str> {
        let authority = self.ca_file.iter().flat_map(|file| ["--ca-file", file.as_str()]);
        authority.chain(self.plain_http.then_some("--plain-http")).collect()
    }

    /// The name of an image in this registry.
    #[must_use]
    pub fn image(&self, name: &str) -> String {
        format!("{}/{name}", self.host)
    }

    /// The operand: `MEMCACHED_IMAGE`, or `memcached:1.6` in this registry.
    #[must_use]
    pub fn operand(&self) -> String {
        std::env::var("MEMCACHED_IMAGE").unwrap_or_else(|_| self.image("memcached:1.6"))
    }

    /// An image with `opm`: `OPM_IMAGE`, or `opm:e2e` in this registry.
    #[must_use]
    pub fn opm(&self) -> String {
        std::env::var("OPM_IMAGE").unwrap_or_else(|_| self.image("opm:e2e"))
    }
}

/// Removes what cargo tells its tests from the environment of a program: in a cargo that the program starts, build scripts would run
/// again because of it, and everything that depends on them would be compiled again, then and the next time outside.
pub fn outside_cargo(command: &mut Command) -> &mut Command {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text == "CARGO" || text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(name);
        }
    }
    command
}

/// Returns the program opm that `OPM` names, to compare with; `None` without the variable.
///
/// # Errors
/// The variable names no file.
pub fn opm() -> Result<Option<PathBuf>> {
    let Some(opm) = std::env::var_os("OPM").map(PathBuf::from) else { return Ok(None) };
    ensure!(opm.is_file(), "OPM names no file: {}", opm.display());
    Ok(Some(opm))
}

/// The static binaries of both crates.
#[derive(Debug, Clone)]
pub struct Programs {
    directory: PathBuf,
}

impl Programs {
    /// The directory that `PROGRAMS` names, or where `make dist` puts them.
    ///
    /// # Errors
    /// They are not there.
    pub fn from_env() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let directory = std::env::var_os("PROGRAMS").map_or_else(
            || root.join(format!("target/{}-unknown-linux-musl/dist", std::env::consts::ARCH)),
            PathBuf::from,
        );
        for name in ["bundle-tool", "memcached-operator"] {
            ensure!(
                directory.join(name).is_file(),
                "{} is not built; run `make dist`",
                directory.join(name).display()
            );
        }
        Ok(Self { directory })
    }

    /// The path of one of the programs.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Runs `bundle-tool` and returns its standard output.
    ///
    /// # Errors
    /// It cannot be started, or its exit status is not 0; the error has its standard error.
    pub fn tool(&self, arguments: &[&str], input: &[u8]) -> Result<String> {
        self.run("bundle-tool", arguments, input)
    }

    /// Runs `memcached-operator` and returns its standard output.
    ///
    /// # Errors
    /// It cannot be started, or its exit status is not 0; the error has its standard error.
    pub fn operator(&self, arguments: &[&str]) -> Result<String> {
        self.run("memcached-operator", arguments, &[])
    }

    fn run(&self, program: &str, arguments: &[&str], input: &[u8]) -> Result<String> {
        let start = Instant::now();
        let output = run(Command::new(self.path(program)).args(arguments), input);
        eprintln!("{:6.1} s  $ {program} {}", start.elapsed().as_secs_f64(), arguments.join(" "));
        Ok(String::from_utf8(output?)?)
    }
}

/// Runs a program with an input, and returns its standard output.
///
/// # Errors
/// It cannot be started or does not read its input, or its exit status is not 0; then the error has both of its outputs.
pub fn run(command: &mut Command, input: &[u8]) -> Result<Vec<u8>> {
    use std::io::Write as _;
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("failed to start {}", command.get_program().display()))?;
    child.stdin.take().context("no standard input")?.write_all(input)?;
    let output = child.wait_with_output()?;
    ensure!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(output.stdout)
}
