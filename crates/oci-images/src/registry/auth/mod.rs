//! Credentials, from where container tools keep them.
//!
//! `REGISTRY_AUTH_FILE` alone where it is set; otherwise `$XDG_RUNTIME_DIR/containers/auth.json`,
//! `~/.config/containers/auth.json` and Docker's `config.json`, in this order (containers-auth.json(5)). In each, a
//! credential helper of the registry comes first, then the entry with the longest prefix of the repository, then the
//! store for everything. Nothing here prints or logs a secret.

mod file;
mod helper;

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use oci_client::Reference;
use oci_client::secrets::RegistryAuth;

use file::AuthFile;

/// Credentials are kept in a way that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file with credentials cannot be read.
    #[error("failed to read the credentials in {}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file with credentials is not what it should be.
    #[error("the credentials in {} cannot be used: {reason}", .path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong, without quoting the file.
        reason: String,
    },
    /// A credential helper did not give credentials.
    #[error("docker-credential-{helper}, named in {}, gave no credentials for {registry}: {reason}", .path.display())]
    Helper {
        /// The helper's name.
        helper: String,
        /// The file that names it.
        path: PathBuf,
        /// The registry it was asked about.
        registry: String,
        /// What went wrong, without the helper's output.
        reason: String,
    },
}

/// Who to be at a registry, and where that was found.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    pub(super) auth: RegistryAuth,
    origin: Option<String>,
}

impl Credentials {
    /// Nobody in particular.
    #[must_use]
    pub fn anonymous() -> Self {
        Self { auth: RegistryAuth::Anonymous, origin: None }
    }

    fn basic(user: String, password: String, origin: String) -> Self {
        Self { auth: RegistryAuth::Basic(user, password), origin: Some(origin) }
    }

    /// True where no credentials were found.
    #[must_use]
    pub fn is_anonymous(&self) -> bool {
        self.auth == RegistryAuth::Anonymous
    }
}

/// Where the credentials were found, without any secret: `the credentials of quay.io/org in …/auth.json`.
impl fmt::Display for Credentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.origin.as_deref().unwrap_or("anybody (no credentials were found)"))
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Credentials({self})")
    }
}

/// The files that are asked for credentials.
#[derive(Debug, Clone, Default)]
pub struct Resolver {
    /// Path, and whether it has to exist.
    files: Vec<(PathBuf, bool)>,
    helper_folder: Option<PathBuf>,
}

impl Resolver {
    /// The files that this process's environment names.
    #[must_use]
    pub fn from_env() -> Self {
        Self::from_variables(|name| std::env::var_os(name))
    }

    /// The files that an environment names: `variable` gives the value of a variable by its name.
    pub fn from_variables(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let path = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(file) = path("REGISTRY_AUTH_FILE") {
            return Self { files: vec![(file, true)], helper_folder: None };
        }
        let home = path("HOME");
        let config = path("XDG_CONFIG_HOME").or_else(|| home.as_ref().map(|home| home.join(".config")));
        let docker = path("DOCKER_CONFIG").or_else(|| home.map(|home| home.join(".docker")));
        let files = [
            path("XDG_RUNTIME_DIR").map(|folder| folder.join("containers/auth.json")),
            config.map(|folder| folder.join("containers/auth.json")),
            docker.map(|folder| folder.join("config.json")),
        ];
        Self { files: files.into_iter().flatten().map(|file| (file, false)).collect(), helper_folder: None }
    }

    /// Looks for credential helpers in `folder` instead of along `PATH`.
    #[must_use]
    pub fn with_helpers_in(mut self, folder: &Path) -> Self {
        self.helper_folder = Some(folder.to_owned());
        self
    }

    /// The credentials for the repository of `reference`; anonymous where no file has any.
    ///
    /// # Errors
    ///
    /// [`Error`] where a file is there and cannot be used, or a credential helper fails.
    pub fn resolve(&self, reference: &Reference) -> Result<Credentials, Error> {
        for (path, required) in &self.files {
            let Some(file) = AuthFile::read(path, *required)? else { continue };
            if let Some(credentials) = self.resolve_in(&file, path, reference)? {
                return Ok(credentials);
            }
        }
        Ok(Credentials::anonymous())
    }

    fn resolve_in(
        &self,
        file: &AuthFile,
        path: &Path,
        reference: &Reference,
    ) -> Result<Option<Credentials>, Error> {
        let ask = |name: &str, registry: &str| {
            let found = helper::get(name, registry, self.helper_folder.as_deref()).map_err(|reason| {
                Error::Helper {
                    helper: name.to_owned(),
                    path: path.to_owned(),
                    registry: registry.to_owned(),
                    reason,
                }
            })?;
            Ok(found.map(|(user, password)| {
                let origin = format!("the credentials of {registry} from docker-credential-{name}");
                Credentials::basic(user, password, origin)
            }))
        };
        if let Some((registry, name)) = file.helper(reference.registry()) {
            return ask(name, registry);
        }
        if let Some((key, login)) = file.login(reference.registry(), reference.repository()) {
            let (user, password) = login.decode().map_err(|reason| Error::Malformed {
                path: path.to_owned(),
                reason: format!("{key}: {reason}"),
            })?;
            let origin = format!("the credentials of {key} in {}", path.display());
            return Ok(Some(Credentials::basic(user, password, origin)));
        }
        match &file.store {
            Some(name) => ask(name, file::store_key(reference.registry())),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn resolver(text: &str) -> (tempfile::TempDir, Resolver) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("auth.json");
        fs::write(&path, text).unwrap();
        let resolver = Resolver { files: vec![(path, true)], helper_folder: Some(dir.path().to_owned()) };
        (dir, resolver)
    }

    fn user(resolver: &Resolver, image: &str) -> Option<String> {
        match resolver.resolve(&image.parse().unwrap()).unwrap().auth {
            RegistryAuth::Basic(user, password) => {
                assert_eq!(password, "secret");
                Some(user)
            }
            _ => None,
        }
    }

    /// `auth` of a user whose password is `secret`.
    fn auth(user: &str) -> String {
        use base64::Engine as _;
        base64::engine::general_purpose::STANDARD.encode(format!("{user}:secret"))
    }

    #[test]
    fn the_longest_prefix_wins() {
        let (_dir, resolver) = resolver(&format!(
            r#"{{"auths": {{
                "quay.io": {{"auth": "{}"}},
                "quay.io/org": {{"auth": "{}"}},
                "quay.io/org/image": {{"username": "image", "password": "secret"}},
                "https://index.docker.io/v1/": {{"auth": "{}"}},
                "localhost:5000": {{"auth": "{}"}},
                "empty.example.com": {{}}
            }}}}"#,
            auth("registry"),
            auth("org"),
            auth("hub"),
            auth("local"),
        ));
        for (image, expected) in [
            ("quay.io/org/image:v1", Some("image")),
            ("quay.io/org/image/below:v1", Some("image")),
            ("quay.io/org/image2:v1", Some("org")),
            ("quay.io/organisation/x", Some("registry")),
            ("docker.io/library/x", Some("hub")),
            ("localhost:5000/x", Some("local")),
            ("localhost:5001/x", None),
            ("empty.example.com/x", None),
            ("other.example.com/x", None),
        ] {
            assert_eq!(user(&resolver, image).as_deref(), expected, "{image}");
        }
    }

    #[test]
    fn helpers_are_run() {
        let (dir, resolver) = resolver(
            r#"{"credHelpers": {"ecr.example.com": "one"}, "credsStore": "all", "auths": {"a.example.com": {"auth": "YTpzZWNyZXQ="}}}"#,
        );
        let script = |name: &str, text: &str| {
            let path = dir.path().join(format!("docker-credential-{name}"));
            fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        };
        script(
            "one",
            r#"read r; [ "$1 $r" = "get ecr.example.com" ] && echo '{"Username":"helped","Secret":"secret"}'"#,
        );
        script("all", "echo 'credentials not found in native keychain'; exit 1");
        assert_eq!(user(&resolver, "ecr.example.com/x").as_deref(), Some("helped"));
        assert_eq!(user(&resolver, "a.example.com/x").as_deref(), Some("a"));
        assert_eq!(user(&resolver, "b.example.com/x"), None);
        script("all", "echo secret-in-output >&2; exit 1");
        let error = resolver.resolve(&"b.example.com/x".parse().unwrap()).unwrap_err().to_string();
        assert!(error.contains("docker-credential-all") && !error.contains("secret-in-output"), "{error}");
    }

    #[test]
    fn a_helper_that_is_not_there_is_named() {
        let (_dir, resolver) = resolver(r#"{"credHelpers": {"x.example.com": "gone"}}"#);
        let error = resolver.resolve(&"x.example.com/x".parse().unwrap()).unwrap_err().to_string();
        assert!(error.contains("docker-credential-gone"), "{error}");
    }

    #[test]
    fn files_are_found_by_the_environment() {
        let variables = |set: &'static [(&str, &str)]| {
            Resolver::from_variables(move |name| {
                set.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
            })
            .files
            .into_iter()
            .map(|(path, _)| path.display().to_string())
            .collect::<Vec<_>>()
        };
        assert_eq!(variables(&[("REGISTRY_AUTH_FILE", "/a.json"), ("HOME", "/h")]), ["/a.json"]);
        assert_eq!(
            variables(&[("HOME", "/h"), ("XDG_RUNTIME_DIR", "/run/u"), ("REGISTRY_AUTH_FILE", "")]),
            ["/run/u/containers/auth.json", "/h/.config/containers/auth.json", "/h/.docker/config.json"]
        );
        assert_eq!(
            variables(&[("HOME", "/h"), ("DOCKER_CONFIG", "/d"), ("XDG_CONFIG_HOME", "/c")]),
            ["/c/containers/auth.json", "/d/config.json"]
        );
        assert!(variables(&[]).is_empty());
    }

    #[test]
    fn what_cannot_be_used_is_said_without_secrets() {
        let missing = Resolver { files: vec![("/no/such/auth.json".into(), true)], helper_folder: None };
        let image: Reference = "x.example.com/x".parse().unwrap();
        assert!(missing.resolve(&image).unwrap_err().to_string().contains("/no/such/auth.json"));
        let optional = Resolver { files: vec![("/no/such/auth.json".into(), false)], helper_folder: None };
        assert!(optional.resolve(&image).unwrap().is_anonymous());
        for text in [
            r#"{"auths": {"x.example.com": {"auth": "hunter2!"}}}"#,
            r#"{"auths": {"x.example.com": {"auth": "aHVudGVyMg=="}}}"#,
            r#"{"auths": {"x.example.com": {"identitytoken": "hunter2"}}}"#,
            r#"{"auths": {"x.example.com": "hunter2"}}"#,
            r#"{"auths": hunter2}"#,
        ] {
            let (_dir, resolver) = resolver(text);
            let error = resolver.resolve(&image).unwrap_err();
            let text = format!("{error} {error:?}");
            assert!(text.contains("auth.json") && !text.contains("hunter2"), "{text}");
        }
        let credentials = Credentials::basic("user".into(), "hunter2".into(), "a file".into());
        assert!(!format!("{credentials} {credentials:?}").contains("hunter2"));
    }
}
