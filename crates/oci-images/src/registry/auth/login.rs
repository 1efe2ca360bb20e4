//! Writing logins: into the first file that exists, or into the credential helper that it names.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use atomic_files::{DirectoryLock, Pending};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use super::error::Error;
use super::file::{self, AuthFile};
use super::helper;
use super::resolver::Resolver;
use crate::message::escape;
use crate::registry::file as regular;
use crate::sys;

/// How long a login waits for another one.
const LOCK_TIMEOUT: Duration = Duration::from_mins(1);

/// Where a login is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stored {
    /// An entry of a file.
    File(PathBuf),
    /// A credential helper, and the file that names it.
    Helper(String, PathBuf),
}

impl std::fmt::Display for Stored {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path) => write!(formatter, "{}", path.display()),
            Self::Helper(name, path) => {
                let name = escape(name);
                write!(formatter, "docker-credential-{name}, configured in {}", path.display())
            }
        }
    }
}

impl Resolver {
    /// Stores a login for `scope`: a registry, or a registry and the first parts of repositories (`quay.io/org`).
    ///
    /// The file is the first one that exists, or the first one of all; afterwards it has the mode 0600. If it names a
    /// credential helper for the registry, the helper gets the login.
    ///
    /// # Errors
    ///
    /// [`Error`] if the file cannot be read or written, or the helper fails.
    pub fn log_in(&self, scope: &str, user: &str, password: &str) -> Result<Stored, Error> {
        let path = self.target()?;
        let registry = scope.split('/').next().unwrap_or(scope);
        let existing = AuthFile::read(&path, false)?.unwrap_or_default();
        let helper = existing.helper(registry).map(|(key, name)| (name.to_owned(), key.to_owned()));
        let store = existing.store().map(|name| (name.to_owned(), file::store_key(registry).to_owned()));
        if let Some((name, key)) = helper.or(store) {
            let input = json!({ "ServerURL": key, "Username": user, "Secret": password }).to_string();
            helper::change(&name, "store", &input, self.helper_directory.as_deref(), helper::TIMEOUT)
                .map_err(|reason| Error::StoreHelper { helper: escape(&name), path: path.clone(), reason })?;
            return Ok(Stored::Helper(name, path));
        }
        let login = to_raw_value(&json!({ "auth": STANDARD.encode(format!("{user}:{password}")) }));
        let login = login.map_err(|error| Error::Write { path: path.clone(), reason: error.into() })?;
        edit(&path, |auths| {
            remove(auths, scope);
            auths.0.push((key_for(&path, scope), login));
        })?;
        Ok(Stored::File(path))
    }

    /// Removes the login for `scope` from every file and credential helper that has it, and returns where that was.
    ///
    /// # Errors
    ///
    /// [`Error`] if a file cannot be read or written, or a helper fails.
    pub fn log_out(&self, scope: &str) -> Result<Vec<Stored>, Error> {
        let registry = scope.split('/').next().unwrap_or(scope);
        let mut removed = Vec::new();
        for (path, _) in &self.files {
            let Some(existing) = AuthFile::read(path, false)? else { continue };
            let helper = existing.helper(registry).map(|(key, name)| (name.to_owned(), key.to_owned()));
            let store = existing.store().map(|name| (name.to_owned(), file::store_key(registry).to_owned()));
            if let Some((name, key)) = helper.or(store) {
                let fail = |reason| Error::StoreHelper { helper: escape(&name), path: path.clone(), reason };
                let directory = self.helper_directory.as_deref();
                if helper::get(&name, &key, directory, helper::TIMEOUT).map_err(fail)?.is_some() {
                    helper::change(&name, "erase", &key, directory, helper::TIMEOUT).map_err(fail)?;
                    removed.push(Stored::Helper(name, path.clone()));
                }
            }
            if existing.has_key(scope) {
                edit(path, |auths| remove(auths, scope))?;
                removed.push(Stored::File(path.clone()));
            }
        }
        Ok(removed)
    }

    /// Returns the file that logins are written to.
    fn target(&self) -> Result<PathBuf, Error> {
        let existing = self.files.iter().find(|(path, _)| path.exists());
        let (path, _) = existing.or_else(|| self.files.first()).ok_or(Error::NoFile)?;
        Ok(path.clone())
    }
}

/// Docker's file has the oldest address of Docker Hub as its key.
fn key_for(path: &Path, scope: &str) -> String {
    let is_docker = path.file_name().is_some_and(|name| name == "config.json");
    if is_docker { file::store_key(scope).to_owned() } else { scope.to_owned() }
}

/// Removes every entry for exactly `scope`, in whatever form it is written.
fn remove(auths: &mut Entries, scope: &str) {
    auths.0.retain(|(key, _)| !file::is_same_scope(key, scope));
}

/// Changes the logins of a file and nothing else in it. Afterwards, only its user may read it.
fn edit(path: &Path, change: impl FnOnce(&mut Entries)) -> Result<(), Error> {
    let write = |reason| Error::Write { path: path.to_owned(), reason };
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if directory.exists() && !directory.is_dir() {
        return Err(write(io::ErrorKind::NotADirectory.into()));
    }
    sys::create_private_directory(directory).map_err(write)?;
    let lock = DirectoryLock::acquire(directory, LOCK_TIMEOUT, |_| {});
    let _lock = lock.map_err(|error| write(io::Error::other(error)))?;
    let existing = match regular::read(path, file::MAX_FILE_SIZE) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // Replacing a file keeps its mode.
            if path.is_symlink() {
                return Err(write(io::Error::other("it is a symbolic link to a file that does not exist")));
            }
            None
        }
        Err(reason) => return Err(Error::Read { path: path.to_owned(), reason }),
    };
    let malformed = |reason: &str| Error::Malformed { path: path.to_owned(), reason: reason.to_owned() };
    // Podman accepts an empty file.
    let text = existing.as_deref().filter(|text| !text.trim_ascii().is_empty());
    let mut document: Entries = serde_json::from_slice(text.unwrap_or(b"{}"))
        .map_err(|_| malformed("it is not a valid JSON object"))?;
    let auths = document.0.iter().rev().find(|(key, _)| key == "auths").map(|(_, value)| value.get());
    let auths: Option<Entries> =
        serde_json::from_str(auths.unwrap_or("null")).map_err(|_| malformed("`auths` is not an object"))?;
    let mut auths = auths.unwrap_or_default();
    change(&mut auths);
    let fail = |error| write(io::Error::other(error));
    let auths = to_raw_value(&auths).map_err(fail)?;
    match document.0.iter_mut().rev().find(|(key, _)| key == "auths") {
        Some((_, value)) => *value = auths,
        None => document.0.push(("auths".to_owned(), auths)),
    }
    let mut text = serde_json::to_vec_pretty(&document).map_err(fail)?;
    text.push(b'\n');
    let failed = |error| write(io::Error::other(error));
    // Podman and docker do not lock the file, and may have changed it meanwhile.
    let file = Pending::new(path).map_err(failed)?.if_unchanged(existing);
    let mut file = file.private().map_err(failed)?;
    file.append(&text).and_then(|()| file.commit()).map_err(failed)
}

/// The entries of a JSON object in their order. Values keep their bytes: numbers may be larger than any type here.
#[derive(Debug, Default)]
struct Entries(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor;
        impl<'de> Visitor<'de> for EntriesVisitor {
            type Value = Entries;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(EntriesVisitor)
    }
}

impl Serialize for Entries {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::time::Instant;

    use serde_json::Value;

    use super::*;

    fn resolver(home: &Path) -> Resolver {
        let home = home.to_owned();
        Resolver::from_variables(move |name| (name == "HOME").then(|| OsString::from(home.clone())))
            .with_helpers_in(Path::new("/nonexistent"))
    }

    fn origin(resolver: &Resolver, image: &str) -> String {
        resolver.resolve(&image.parse().unwrap()).unwrap().to_string()
    }

    #[test]
    fn login_is_found_again_until_it_is_removed() {
        let home = tempfile::tempdir().unwrap();
        let resolver = resolver(home.path());
        let path = home.path().join(".config/containers/auth.json");
        assert_eq!(resolver.log_in("quay.io/org", "user", "p:w").unwrap(), Stored::File(path.clone()));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        resolver.log_in("docker.io", "hub", "x").unwrap();
        assert!(origin(&resolver, "quay.io/org/a").starts_with("the credentials of quay.io/org in"));
        assert!(origin(&resolver, "busybox").starts_with("the credentials of docker.io in"));
        assert!(resolver.resolve(&"quay.io/other".parse().unwrap()).unwrap().is_anonymous());
        assert!(resolver.log_out("quay.io").unwrap().is_empty(), "another scope stays");
        assert_eq!(resolver.log_out("quay.io/org").unwrap(), [Stored::File(path)]);
        assert!(resolver.resolve(&"quay.io/org/a".parse().unwrap()).unwrap().is_anonymous());
    }

    #[test]
    fn existing_file_keeps_what_else_is_in_it() {
        let home = tempfile::tempdir().unwrap();
        let resolver = resolver(home.path());
        let path = home.path().join(".docker/config.json");
        fs::create_dir(path.parent().unwrap()).unwrap();
        fs::write(&path, r#"{"HttpHeaders":{"a":"b"},"auths":{"index.docker.io":{"auth":"eDp5"},"a":{"n":1e999}},"z":12345678901234567890123}"#)
            .unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        resolver.log_in("docker.io", "u", "p").unwrap();
        assert_eq!(
            fs::read_to_string(&path).unwrap().split_whitespace().collect::<String>(),
            r#"{"HttpHeaders":{"a":"b"},"auths":{"a":{"n":1e999},"https://index.docker.io/v1/":{"auth":"dTpw"}},"z":12345678901234567890123}"#
        );
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        for broken in ["[]", r#"{"auths":[]}"#, "{"] {
            fs::write(&path, broken).unwrap();
            assert!(resolver.log_in("quay.io", "u", "hunter2").is_err());
            assert_eq!(fs::read_to_string(&path).unwrap(), broken);
        }
    }

    #[test]
    fn concurrent_logins_are_all_kept() {
        let home = tempfile::tempdir().unwrap();
        let resolver = resolver(home.path());
        std::thread::scope(|scope| {
            // Who reads a login meanwhile finds no file, or a whole one.
            scope.spawn(|| {
                let path = home.path().join(".config/containers/auth.json");
                let end = Instant::now() + LOCK_TIMEOUT;
                while !path.exists() && Instant::now() < end {
                    std::thread::sleep(Duration::from_micros(50));
                }
                let found: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
                assert!(!found["auths"].as_object().unwrap().is_empty(), "{found}");
            });
            for number in 0..8 {
                let resolver = &resolver;
                scope.spawn(move || resolver.log_in(&format!("r{number}.example.com"), "u", "p").unwrap());
            }
        });
        for number in 0..8 {
            assert_eq!(resolver.log_out(&format!("r{number}.example.com")).unwrap().len(), 1);
        }
    }

    #[test]
    fn helper_gets_the_login() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(".docker/config.json");
        fs::create_dir(path.parent().unwrap()).unwrap();
        fs::write(&path, r#"{"credsStore":"x"}"#).unwrap();
        let program = home.path().join("docker-credential-x");
        let log = home.path().join("log");
        let script = format!(
            "read r\necho \"$1 $r\" >> {}\n[ $1 = get ] && echo '{{\"Username\":\"u\",\"Secret\":\"s\"}}'\nexit 0",
            log.display()
        );
        helper::write_script(&program, &script);
        let resolver = resolver(home.path()).with_helpers_in(home.path());
        assert_eq!(resolver.log_in("quay.io", "u", "p").unwrap(), Stored::Helper("x".into(), path.clone()));
        assert_eq!(resolver.log_out("quay.io").unwrap(), [Stored::Helper("x".into(), path.clone())]);
        assert_eq!(
            fs::read_to_string(log).unwrap(),
            "store {\"ServerURL\":\"quay.io\",\"Username\":\"u\",\"Secret\":\"p\"}\nget quay.io\nerase quay.io\n"
        );
        assert_eq!(fs::read_to_string(path).unwrap(), r#"{"credsStore":"x"}"#, "no secret is in the file");
    }
}
