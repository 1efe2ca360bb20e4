//! Looking up the credentials for an image in the files of container tools.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::credentials::Credentials;
use super::error::Error;
use super::file::{self, AuthFile};
use super::helper;
use crate::message::escape;
use crate::reference::Reference;

/// Where the credentials for an image come from: those that are given, and files. By default there are none.
///
/// ```
/// use oci_images::registry::{Credentials, Repository, Resolver};
///
/// let resolver = Resolver::from_files(["/run/secrets/auth.json"])
///     .with_credentials("registry.example.com", Credentials::basic("alice", "secret"))
///     .with_credentials("quay.io/example", Credentials::identity_token("token"));
/// let image = Repository::parse("registry.example.com/app:v1")?;
/// assert!(!resolver.resolve(&image)?.is_anonymous());
/// assert!(Resolver::default().resolve(&image)?.is_anonymous());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Resolver {
    /// Given credentials, each with its scope.
    pub(crate) given: Vec<(String, Credentials)>,
    /// Path, and whether it has to exist.
    pub(crate) files: Vec<(PathBuf, bool)>,
    pub(crate) helper_directory: Option<PathBuf>,
}

impl Resolver {
    /// Returns the files that this process's environment names.
    #[must_use]
    pub fn from_env() -> Self {
        Self::from_variables(|name| std::env::var_os(name))
    }

    /// Returns the files that an environment names; `variable` returns the value of a variable.
    pub fn from_variables(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let path = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(file) = path("REGISTRY_AUTH_FILE") {
            return Self::from_files([file]);
        }
        let home = path("HOME");
        let config = path("XDG_CONFIG_HOME").or_else(|| home.as_ref().map(|home| home.join(".config")));
        let docker = path("DOCKER_CONFIG").or_else(|| home.map(|home| home.join(".docker")));
        let files = [
            path("XDG_RUNTIME_DIR").map(|directory| directory.join("containers/auth.json")),
            config.map(|directory| directory.join("containers/auth.json")),
            docker.map(|directory| directory.join("config.json")),
        ];
        Self { files: files.into_iter().flatten().map(|file| (file, false)).collect(), ..Self::default() }
    }

    /// Returns these files, which must exist, in the format of podman and docker.
    pub fn from_files(files: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        Self { files: files.into_iter().map(|file| (file.into(), true)).collect(), ..Self::default() }
    }

    /// Uses `credentials` for `scope`, a registry or a registry and the first parts of repositories (`quay.io/org`), before
    /// those of files. They are never sent to another registry; the most specific scope counts.
    #[must_use]
    pub fn with_credentials(mut self, scope: &str, credentials: Credentials) -> Self {
        self.given.push((scope.to_owned(), credentials));
        self
    }

    /// Returns the given credentials for the repository of `reference`.
    pub(crate) fn given(&self, reference: &Reference) -> Option<&Credentials> {
        let covering = self.given.iter().filter_map(|(scope, credentials)| {
            Some((file::covers(scope, reference.registry(), reference.repository())?, credentials))
        });
        covering.max_by_key(|(length, _)| *length).map(|(_, credentials)| credentials)
    }

    /// Looks for credential helpers in `directory` instead of along `PATH`.
    #[must_use]
    pub fn with_helpers_in(mut self, directory: &Path) -> Self {
        self.helper_directory = Some(directory.to_owned());
        self
    }

    /// Returns the credentials for the repository of `reference`; anonymous ones if no file has any. A credential
    /// helper may take 30 seconds.
    ///
    /// # Errors
    ///
    /// [`Error`] if a file exists and cannot be used, or a credential helper fails.
    pub fn resolve(&self, reference: &Reference) -> Result<Credentials, Error> {
        self.resolve_within(reference, helper::TIMEOUT)
    }

    /// [`Resolver::resolve`] with at most `limit` for a credential helper, if that is less than 30 seconds.
    pub(crate) fn resolve_within(
        &self,
        reference: &Reference,
        limit: Duration,
    ) -> Result<Credentials, Error> {
        if let Some(credentials) = self.given(reference) {
            return Ok(credentials.clone());
        }
        for (path, required) in &self.files {
            let Some(file) = AuthFile::read(path, *required)? else { continue };
            if let Some(credentials) = self.resolve_in(&file, path, reference, limit.min(helper::TIMEOUT))? {
                return Ok(credentials);
            }
        }
        Ok(Credentials::anonymous())
    }

    pub(crate) fn resolve_in(
        &self,
        file: &AuthFile,
        path: &Path,
        reference: &Reference,
        limit: Duration,
    ) -> Result<Option<Credentials>, Error> {
        let ask = |name: &str, registry: &str| {
            let found = helper::get(name, registry, self.helper_directory.as_deref(), limit);
            let found = found.map_err(|reason| Error::Helper {
                helper: escape(name),
                path: path.to_owned(),
                registry: escape(registry),
                reason,
            })?;
            let origin =
                || format!("the credentials of {} from docker-credential-{}", escape(registry), escape(name));
            Ok(found.map(|secret| Credentials::found(secret, origin())))
        };
        if let Some((registry, name)) = file.helper(reference.registry()) {
            return ask(name, registry);
        }
        if let Some((key, login)) = file.login(reference.registry(), reference.repository()) {
            let key = escape(key);
            let secret = login.decode().map_err(|reason| Error::Malformed {
                path: path.to_owned(),
                reason: format!("{key}: {reason}"),
            })?;
            let origin = format!("the credentials of {key} in {}", path.display());
            return Ok(Some(Credentials::found(secret, origin)));
        }
        match file.store() {
            Some(name) => ask(name, file::store_key(reference.registry())),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::credentials::Secret;
    use super::*;

    fn resolver(text: &str) -> (tempfile::TempDir, Resolver) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("auth.json");
        fs::write(&path, text).unwrap();
        let resolver = Resolver::from_files([path]).with_helpers_in(dir.path());
        (dir, resolver)
    }

    fn user(resolver: &Resolver, image: &str) -> Option<String> {
        match resolver.resolve(&image.parse().unwrap()).unwrap().secret {
            Secret::Basic { user, password } => {
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
    fn longest_prefix_wins() {
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
    fn given_credentials_are_for_their_scope_and_before_files() {
        let (_dir, resolver) =
            resolver(&format!(r#"{{"auths": {{"quay.io": {{"auth": "{}"}}}}}}"#, auth("file")));
        let resolver = resolver
            .with_credentials("docker.io", Credentials::basic("hub", "secret"))
            .with_credentials("quay.io/org/app", Credentials::basic("app", "secret"))
            .with_credentials("quay.io/org", Credentials::basic("org", "secret"));
        for (image, expected) in [
            ("quay.io/org/app:v1", Some("app")),
            ("quay.io/org/other", Some("org")),
            ("quay.io/organization/app", Some("file")),
            ("busybox", Some("hub")),
            ("mirror.example.com/org/app", None),
        ] {
            assert_eq!(user(&resolver, image).as_deref(), expected, "{image}");
        }
        let explained = |image: &str| resolver.explain(&image.parse().unwrap()).unwrap();
        let explanation = explained("quay.io/org/app:v1");
        assert!(!explanation.is_anonymous() && explanation.given.is_some());
        assert_eq!(explained("quay.io/other/app:v1").given, None);
    }

    #[test]
    fn helpers_are_asked() {
        let (dir, resolver) = resolver(
            r#"{"credHelpers": {"ecr.example.com": "one"}, "credsStore": "all", "auths": {"a.example.com": {"auth": "YTpzZWNyZXQ="}}}"#,
        );
        let script = |name: &str, text: &str| {
            helper::write_script(&dir.path().join(format!("docker-credential-{name}")), text);
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
    fn helper_that_hangs_or_never_ends_is_stopped() {
        let (dir, resolver) = resolver(r#"{"credsStore": "x"}"#);
        let image: Reference = "x.example.com/x".parse().unwrap();
        let run = |text: &str, limit: Duration| {
            helper::write_script(&dir.path().join("docker-credential-x"), text);
            resolver.resolve_within(&image, limit).map_err(|error| error.to_string())
        };
        let (short, long) = (Duration::from_millis(200), Duration::from_mins(1));
        for (text, limit, expected) in [
            ("sleep 1000", short, "did not exit within"),
            // A shell waits for its child; both have to go.
            ("sleep 1000; true", short, "did not exit within"),
            ("cat /dev/zero", long, "more than 65536 bytes"),
            ("yes | cat", long, "more than 65536 bytes"),
            ("yes & sleep 1000", long, "more than 65536 bytes"),
        ] {
            let error = run(text, limit).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
        // What a child in the background does with the pipe is of no interest once the helper has answered.
        let answer = r#"echo '{"Username":"u","Secret":"s"}'; sleep 1000 & exit 0"#;
        assert!(!run(answer, long).unwrap().is_anonymous());
    }

    #[test]
    fn helper_that_does_not_read_a_long_password_is_stopped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("docker-credential-x");
        helper::write_script(&path, "exec sleep 1000");
        // More than a pipe holds.
        let input = "p".repeat(1 << 20);
        let limit = Duration::from_millis(200);
        let error = helper::change("x", "store", &input, Some(dir.path()), limit).unwrap_err();
        assert!(error.contains("did not exit within"), "{error}");
        helper::write_script(&path, "test $(wc -c) = 1048577");
        helper::change("x", "store", &input, Some(dir.path()), Duration::from_mins(1)).unwrap();
    }

    #[test]
    fn null_and_empty_names_stand_for_nothing() {
        let image: Reference = "x.example.com/x".parse().unwrap();
        for text in [
            r#"{"auths": null, "credHelpers": null, "credsStore": null}"#,
            r#"{"auths": {"x.example.com": null}, "credsStore": ""}"#,
            r#"{"auths": {"x.example.com": {"auth": null}}, "credHelpers": {"x.example.com": ""}}"#,
        ] {
            let (_dir, resolver) = resolver(text);
            assert!(resolver.resolve(&image).unwrap().is_anonymous(), "{text}");
            resolver.log_in("x.example.com", "a", "secret").unwrap();
            assert_eq!(user(&resolver, "x.example.com/x").as_deref(), Some("a"), "{text}");
        }
    }

    #[test]
    fn invalid_files_are_told_apart() {
        for (text, expected) in [
            ("[]", "expected a JSON object, found a list"),
            (r#"{"auths": []}"#, "unexpected type of a value at line 1, column"),
            (r#"{"auths": {"#, "invalid JSON at line 1, column"),
        ] {
            let (_dir, resolver) = resolver(text);
            let error = resolver.resolve(&"x.example.com/x".parse().unwrap()).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn identity_tokens_are_found() {
        let (_dir, resolver) =
            resolver(r#"{"auths": {"x.example.com": {"auth": "dTpw", "identitytoken": "t"}}}"#);
        let credentials = resolver.resolve(&"x.example.com/x".parse().unwrap()).unwrap();
        assert!(credentials.secret == Secret::IdentityToken("t".into()));
    }

    #[test]
    fn device_is_read_within_the_limit() {
        let image: Reference = "x.example.com/x".parse().unwrap();
        let error = Resolver::from_files(["/dev/zero"]).resolve(&image).unwrap_err().to_string();
        assert!(error.contains("exceeds the limit"), "{error}");
        assert!(Resolver::from_files(["/dev/null"]).resolve(&image).unwrap().is_anonymous());
    }

    #[test]
    fn missing_helper_is_named() {
        let (_dir, resolver) = resolver(r#"{"credHelpers": {"x.example.com": "gone"}}"#);
        let error = resolver.resolve(&"x.example.com/x".parse().unwrap()).unwrap_err().to_string();
        assert!(error.contains("docker-credential-gone"), "{error}");
    }

    #[test]
    fn environment_names_the_files() {
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
    fn invalid_files_are_reported_without_secrets() {
        let missing = Resolver::from_files(["/no/such/auth.json"]);
        let image: Reference = "x.example.com/x".parse().unwrap();
        assert!(missing.resolve(&image).unwrap_err().to_string().contains("/no/such/auth.json"));
        let optional = Resolver { files: vec![("/no/such/auth.json".into(), false)], ..Resolver::default() };
        assert!(optional.resolve(&image).unwrap().is_anonymous());
        for text in [
            r#"{"auths": {"x.example.com": {"auth": "hunter2!"}}}"#,
            r#"{"auths": {"x.example.com": {"auth": "aHVudGVyMg=="}}}"#,
            r#"{"auths": {"x.example.com": "hunter2"}}"#,
            r#"{"auths": hunter2}"#,
        ] {
            let (_dir, resolver) = resolver(text);
            let error = resolver.resolve(&image).unwrap_err();
            let text = format!("{error} {error:?}");
            assert!(text.contains("auth.json") && !text.contains("hunter2"), "{text}");
        }
        let secret = Secret::Basic { user: "user".into(), password: "hunter2".into() };
        let credentials = Credentials::found(secret, "a file".into());
        assert!(!format!("{credentials} {credentials:?}").contains("hunter2"));
    }
}
