//! The address and the credentials of a cluster, from a kubeconfig: read within limits, renewed when they expire, and masked in
//! messages.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderValue, Uri};
use jiff::Timestamp;
use kube::Config;
use kube::config::{ExecConfig, ExecInteractiveMode, Kubeconfig};
use oci_images::secrets::{Address, Secrets};
use olm_model::disk::file;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;
use tokio::process::Command;
use tokio::sync::Mutex;

use super::process_group::{self, ProcessGroup};
use super::snapshot::string;

/// The maximum size in bytes of a file that a kubeconfig names.
const MAX_FILE: u64 = 1 << 20;
/// The maximum size in bytes of what an exec plugin prints.
const MAX_PLUGIN_OUTPUT: u64 = 1 << 20;
/// The maximum time that an exec plugin may take. With some, a user logs in.
const PLUGIN_TIMEOUT: Duration = Duration::from_mins(2);
/// The time after which a token file is read again.
const TOKEN_FILE_AGE: Duration = Duration::from_mins(1);
/// How long before its expiration a token is renewed, in seconds.
const EXPIRATION_MARGIN: i64 = 60;

/// What goes into the header `Authorization`.
pub(crate) struct Credentials {
    source: Source,
    current: Mutex<Option<Current>>,
    pub(crate) secrets: Secrets,
}

enum Source {
    None,
    Fixed(HeaderValue),
    File(PathBuf),
    Plugin(Box<ExecConfig>),
}

struct Current {
    header: Option<HeaderValue>,
    expires: Expires,
}

enum Expires {
    Never,
    At(Timestamp),
    After(Instant),
}

impl Expires {
    fn is_over(&self) -> bool {
        match self {
            Self::Never => false,
            Self::At(time) => time.as_second() - Timestamp::now().as_second() < EXPIRATION_MARGIN,
            Self::After(time) => *time <= Instant::now(),
        }
    }
}

/// Replaces the files that the cluster and the user of a context name by what they contain, and completes the server's address as
/// kubectl does. Returns the address.
///
/// # Errors
/// A file cannot be read, or is too large; the address is invalid. The reason contains no secret.
pub(crate) fn resolve(
    kubeconfig: &mut Kubeconfig,
    context: Option<&str>,
    secrets: &Secrets,
) -> Result<Option<Address>, String> {
    let name = context.or(kubeconfig.current_context.as_deref()).unwrap_or_default();
    let found = kubeconfig.contexts.iter().find(|context| context.name == name);
    // The reader of the kubeconfig reports what is missing.
    let Some(context) = found.and_then(|context| context.context.clone()) else { return Ok(None) };
    let mut users = kubeconfig.auth_infos.iter_mut().filter(|user| Some(&user.name) == context.user.as_ref());
    let user = users.find_map(|user| user.auth_info.as_mut());
    let has_certificate = if let Some(user) = user {
        if let (None, Some(path)) = (&user.client_certificate_data, &user.client_certificate) {
            user.client_certificate_data = Some(STANDARD.encode(read("client-certificate", path)?));
        }
        if let (None, Some(path)) = (&user.client_key_data, &user.client_key) {
            let key = STANDARD.encode(read("client-key", path)?);
            user.client_key_data = Some(SecretString::from(key));
        }
        user.client_certificate_data.is_some()
    } else {
        false
    };
    let mut clusters = kubeconfig.clusters.iter_mut().filter(|cluster| cluster.name == context.cluster);
    let Some(cluster) = clusters.find_map(|cluster| cluster.cluster.as_mut()) else {
        return Ok(None);
    };
    if let (None, Some(path)) = (&cluster.certificate_authority_data, &cluster.certificate_authority) {
        cluster.certificate_authority_data = Some(STANDARD.encode(read("certificate-authority", path)?));
    }
    if let Some(proxy) = &cluster.proxy_url {
        secrets.add_address(&Address::new(proxy.as_str()));
    }
    let is_encrypted = cluster.certificate_authority_data.is_some()
        || has_certificate
        || cluster.insecure_skip_tls_verify == Some(true);
    let Some(server) = cluster.server.as_mut() else { return Ok(None) };
    *server = completed(server, is_encrypted)?;
    let address = Address::new(server.as_str());
    secrets.add_address(&address);
    Ok(Some(address))
}

/// Returns the URL of a server, to which a scheme is added as kubectl does.
///
/// Source: `rest/url_utils.go` of client-go v0.34.
fn completed(server: &str, is_encrypted: bool) -> Result<String, String> {
    let shown = Address::new(server);
    let invalid = || format!("invalid server `{shown}`: expected a URL, or a host with an optional port");
    if server.is_empty() {
        return Err("the cluster has no server".to_owned());
    }
    let url = if server.contains("://") {
        server.to_owned()
    } else {
        let scheme = if is_encrypted { "https" } else { "http" };
        // A host alone has no path.
        if server.trim_end_matches('/').contains('/') {
            return Err(invalid());
        }
        format!("{scheme}://{server}")
    };
    let uri: Uri = url.parse().map_err(|_| invalid())?;
    let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
    if is_http && uri.host().is_some_and(|host| !host.is_empty()) { Ok(url) } else { Err(invalid()) }
}

fn read(field: &str, path: impl AsRef<Path>) -> Result<Vec<u8>, String> {
    let path = path.as_ref();
    file::read(path, MAX_FILE).map_err(|error| format!("failed to read {field} {}: {error}", path.display()))
}

fn bearer(token: &str) -> Result<HeaderValue, String> {
    header(format!("Bearer {token}")).ok_or_else(|| {
        "the token contains characters that an HTTP header must not have, such as a line break".to_owned()
    })
}

fn header(text: String) -> Option<HeaderValue> {
    let mut value = HeaderValue::try_from(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

impl Credentials {
    /// Takes the credentials out of a configuration. An exec plugin runs once, because it may return a certificate.
    ///
    /// # Errors
    /// The credentials cannot be used. The reason contains no secret.
    pub(crate) async fn take(config: &mut Config, secrets: Secrets) -> Result<Self, String> {
        let user = &mut config.auth_info;
        let basic = user.username.take().zip(user.password.take());
        let (token, file, plugin) = (user.token.take(), user.token_file.take(), user.exec.take());
        let provider = user.auth_provider.take();
        let mut current = None;
        let source = if let Some(provider) = provider {
            let token = provider.config.get("id-token").filter(|_| provider.name == "oidc");
            let Some(token) = token else {
                return Err(format!(
                    "the authentication provider `{}` is not supported: use an exec plugin",
                    provider.name
                ));
            };
            secrets.add(token);
            Source::Fixed(bearer(token)?)
        } else if let Some((user, password)) = basic {
            Self::basic(&user, password.expose_secret(), &secrets)
        } else if let Some(token) = token {
            let token = token.expose_secret();
            secrets.add(token);
            Source::Fixed(bearer(token)?)
        } else if let Some(path) = file {
            current = Some(from_file(Path::new(&path), &secrets)?);
            Source::File(path.into())
        } else if let Some(plugin) = plugin {
            let status = run(&plugin).await?;
            let get = |field: &str| Some(string(&status, field)).filter(|text| !text.is_empty());
            if let (Some(certificate), Some(key)) = (get("/clientCertificateData"), get("/clientKeyData")) {
                secrets.add(key);
                user.client_certificate_data = Some(STANDARD.encode(certificate));
                user.client_key_data = Some(SecretString::from(STANDARD.encode(key)));
            }
            current = Some(from_status(&status, &secrets)?);
            Source::Plugin(Box::new(plugin))
        } else {
            // As Go's client of HTTP has it.
            let authority = config.cluster_url.authority().map(http::uri::Authority::as_str);
            match authority.and_then(|authority| authority.rsplit_once('@')) {
                Some((user, _)) => {
                    let (user, password) = user.split_once(':').unwrap_or((user, ""));
                    Self::basic(user, password, &secrets)
                }
                None => Source::None,
            }
        };
        Ok(Self { source, current: Mutex::new(current), secrets })
    }

    fn basic(user: &str, password: &str, secrets: &Secrets) -> Source {
        secrets.add(password);
        secrets.add(&format!("{user}:{password}"));
        let value = header(format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))));
        value.map_or(Source::None, Source::Fixed)
    }

    /// Returns no credentials.
    #[cfg(test)]
    pub(crate) fn none() -> Self {
        Self { source: Source::None, current: Mutex::default(), secrets: Secrets::default() }
    }

    /// Returns the value of the header `Authorization`.
    ///
    /// # Errors
    /// A token has expired and cannot be renewed.
    pub(crate) async fn header(&self) -> Result<Option<HeaderValue>, String> {
        let mut current = self.current.lock().await;
        if current.as_ref().is_none_or(|current| current.expires.is_over()) {
            match &self.source {
                Source::None => return Ok(None),
                Source::Fixed(header) => return Ok(Some(header.clone())),
                Source::File(path) => match from_file(path, &self.secrets) {
                    Ok(new) => *current = Some(new),
                    // As client-go, which keeps a token whose file was removed.
                    Err(reason) => match current.as_mut() {
                        Some(old) => old.expires = Expires::After(Instant::now() + TOKEN_FILE_AGE),
                        None => return Err(reason),
                    },
                },
                Source::Plugin(plugin) => *current = Some(from_status(&run(plugin).await?, &self.secrets)?),
            }
        }
        Ok(current.as_ref().and_then(|current| current.header.clone()))
    }
}

fn from_file(path: &Path, secrets: &Secrets) -> Result<Current, String> {
    let bytes = read("tokenFile", path)?;
    let token = std::str::from_utf8(&bytes).unwrap_or_default().trim();
    if token.is_empty() {
        return Err(format!("tokenFile {} contains no token", path.display()));
    }
    secrets.add(token);
    let expires = Expires::After(Instant::now() + TOKEN_FILE_AGE);
    Ok(Current { header: Some(bearer(token)?), expires })
}

/// Returns the token of the status of an `ExecCredential`.
fn from_status(status: &Value, secrets: &Secrets) -> Result<Current, String> {
    let token = string(status, "/token");
    let expires = match string(status, "/expirationTimestamp") {
        "" => Expires::Never,
        time => Expires::At(time.parse().map_err(|_| {
            "the exec plugin returned an invalid `expirationTimestamp`: expected a time as in RFC 3339"
                .to_owned()
        })?),
    };
    secrets.add(token);
    Ok(Current { header: if token.is_empty() { None } else { Some(bearer(token)?) }, expires })
}

/// Runs an exec plugin and returns the status that it prints.
async fn run(plugin: &ExecConfig) -> Result<Value, String> {
    let name = plugin.command.as_deref().ok_or("the exec plugin has no command")?;
    let failed = |reason: String| format!("exec plugin `{name}`: {reason}");
    let is_interactive =
        plugin.interactive_mode != Some(ExecInteractiveMode::Never) && std::io::stdin().is_terminal();
    let mut spec = json!({ "interactive": is_interactive });
    if plugin.provide_cluster_info {
        spec["cluster"] = serde_json::to_value(&plugin.cluster).unwrap_or_default();
    }
    let version = plugin.api_version.as_deref().unwrap_or("client.authentication.k8s.io/v1");
    let info = json!({ "kind": "ExecCredential", "apiVersion": version, "spec": spec });
    let mut command = Command::new(name);
    command.args(plugin.args.iter().flatten()).env("KUBERNETES_EXEC_INFO", info.to_string());
    for variable in plugin.env.iter().flatten() {
        if let (Some(name), Some(value)) = (variable.get("name"), variable.get("value")) {
            command.env(name, value);
        }
    }
    for name in plugin.drop_env.iter().flatten() {
        command.env_remove(name);
    }
    let stdin = if is_interactive { Stdio::inherit() } else { Stdio::null() };
    command.stdin(stdin).stdout(Stdio::piped()).kill_on_drop(true);
    // A plugin that asks the user stays in the group that may read the terminal.
    if !is_interactive {
        process_group::begin(&mut command);
    }
    let mut child = command.spawn().map_err(|error| {
        let hint =
            plugin.install_hint.as_deref().map(|hint| format!("; {}", hint.trim())).unwrap_or_default();
        failed(format!("{error}{hint}"))
    })?;
    let group = ProcessGroup::new(child.id().filter(|_| !is_interactive));
    let mut output = Vec::new();
    let exchange = async {
        if let Some(stdout) = child.stdout.take() {
            stdout.take(MAX_PLUGIN_OUTPUT + 1).read_to_end(&mut output).await?;
        }
        if output.len() as u64 > MAX_PLUGIN_OUTPUT {
            return Ok(None);
        }
        child.wait().await.map(Some)
    };
    let status = tokio::time::timeout(PLUGIN_TIMEOUT, exchange)
        .await
        .map_err(|_| failed(format!("it has not ended within {} seconds", PLUGIN_TIMEOUT.as_secs())))?
        .map_err(|error| failed(error.to_string()))?
        .ok_or_else(|| failed(format!("its output exceeds the limit of {MAX_PLUGIN_OUTPUT} bytes")))?;
    group.leave();
    if !status.success() {
        return Err(failed(format!("it failed with {status}")));
    }
    // The output is JSON, or YAML, and may have secrets: errors do not quote it.
    let parsed = kube_yaml::parse(&output);
    let found = parsed.documents.first().map(|document| document.root().to_json()).unwrap_or_default();
    match found.get("status") {
        Some(status) if status.is_object() => Ok(status.clone()),
        _ => Err(failed("its output is not an ExecCredential with a status".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_without_a_scheme_is_completed_as_by_kubectl() {
        for (server, is_encrypted, url) in [
            ("localhost", false, "http://localhost"),
            ("127.0.0.1:6443", true, "https://127.0.0.1:6443"),
            ("mycluster:6443", false, "http://mycluster:6443"),
            ("mycluster:6443/", true, "https://mycluster:6443/"),
            ("https://host/api", false, "https://host/api"),
        ] {
            assert_eq!(completed(server, is_encrypted).as_deref(), Ok(url));
        }
        for server in ["", "ftp://host", "https://", "host/path", "https:///x", "ho st", "user:hunter2@ho st"]
        {
            let error = completed(server, false).unwrap_err();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    fn plugin(script: &str) -> ExecConfig {
        let text = json!({
            "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never", "command": "/bin/sh",
            "args": ["-c", script], "env": [{"name": "TOKEN", "value": "hunter2"}],
        });
        serde_json::from_value(text).unwrap()
    }

    #[tokio::test]
    async fn plugin_returns_a_token_with_its_expiration() {
        let script = "echo \"{\\\"status\\\": {\\\"token\\\": \\\"$TOKEN\\\", \\\"expirationTimestamp\\\": \\\"2000-01-01T00:00:00Z\\\"}}\"";
        let status = run(&plugin(script)).await.unwrap();
        let secrets = Secrets::default();
        let current = from_status(&status, &secrets).unwrap();
        assert_eq!(current.header.unwrap(), "Bearer hunter2");
        assert!(current.expires.is_over());
        assert_eq!(secrets.mask("hunter2"), "***");
    }

    #[tokio::test]
    async fn plugin_with_endless_or_invalid_output_is_an_error() {
        for (script, expected) in [
            ("yes", "its output exceeds the limit of 1048576 bytes"),
            ("exit 3", "it failed with exit status: 3"),
            ("echo hunter2", "its output is not an ExecCredential with a status"),
            ("echo '{}'", "its output is not an ExecCredential with a status"),
        ] {
            let error = run(&plugin(script)).await.unwrap_err();
            assert_eq!(error, format!("exec plugin `/bin/sh`: {expected}"), "{script}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn plugin_that_does_not_end_is_an_error() {
        for script in ["read line </proc/self/fd/1; sleep 1000", "sleep 1000 & echo '{}'"] {
            let error = run(&plugin(script)).await.unwrap_err();
            assert!(error.ends_with("it has not ended within 120 seconds"), "{error}");
        }
    }

    fn kubeconfig(cluster: &Value, user: &Value) -> Kubeconfig {
        let text = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "x",
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": cluster}], "users": [{"name": "u", "user": user}],
        });
        Kubeconfig::from_yaml(&text.to_string()).unwrap()
    }

    #[test]
    fn files_that_are_not_regular_are_not_read() {
        let server = json!({"server": "https://host"});
        for (cluster, user, field) in [
            (server.clone(), json!({"client-certificate": "/dev/zero"}), "client-certificate"),
            (server.clone(), json!({"client-key": "/dev/zero"}), "client-key"),
            (
                json!({"server": "https://host", "certificate-authority": "/dev/zero"}),
                json!({}),
                "certificate-authority",
            ),
        ] {
            let error = resolve(&mut kubeconfig(&cluster, &user), None, &Secrets::default()).unwrap_err();
            assert_eq!(
                error,
                format!("failed to read {field} /dev/zero: expected a regular file, found a device")
            );
        }
    }

    async fn taken(user: &Value) -> Result<Option<HeaderValue>, String> {
        let mut file = kubeconfig(&json!({"server": "https://user:hunter2@host"}), user);
        let secrets = Secrets::default();
        resolve(&mut file, None, &secrets).unwrap();
        let mut config =
            Config::from_custom_kubeconfig(file, &kube::config::KubeConfigOptions::default()).await.unwrap();
        let credentials = Credentials::take(&mut config, secrets).await?;
        credentials.header().await
    }

    #[tokio::test]
    async fn tokens_may_end_with_a_line_break_in_a_file_only() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("token");
        std::fs::write(&path, "hunter2-token\n").unwrap();
        let header = taken(&json!({"tokenFile": path})).await.unwrap().unwrap();
        assert!(header.is_sensitive() && header == "Bearer hunter2-token");
        let error = taken(&json!({"token": "hunter2\n"})).await.unwrap_err();
        assert!(error.contains("line break") && !error.contains("hunter2"), "{error}");
        let error = taken(&json!({"tokenFile": "/dev/zero"})).await.unwrap_err();
        assert_eq!(error, "failed to read tokenFile /dev/zero: expected a regular file, found a device");
        std::fs::write(&path, "\n").unwrap();
        assert!(taken(&json!({"tokenFile": path})).await.unwrap_err().ends_with("contains no token"));
        assert_eq!(taken(&json!({})).await.unwrap().unwrap(), "Basic dXNlcjpodW50ZXIy");
    }
}
