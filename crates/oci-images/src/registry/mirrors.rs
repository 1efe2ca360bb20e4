//! Mirrors: other places to read an image from, as `registries.conf` names them.
//!
//! Source: containers-registries.conf(5), versions 2 and 1, and `pkg/sysregistriesv2` of containers/image. Names without a registry
//! are those of Docker Hub: `unqualified-search-registries` and aliases are not read, because which image they stand for
//! depends on the machine. Writing never goes to a mirror or to another location, but not to a blocked registry either.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::error::Error;
use super::file;
use super::reference;
use crate::message::escape;
use crate::plain::io_error;
use crate::reference::Reference;
use crate::secrets::Address;

/// Maximum size of a file, in bytes.
const MAX_FILE: u64 = 1 << 20;
/// Maximum number of files in a directory.
const MAX_FILES: usize = 100;

/// The files that may name mirrors. They are read when an image is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mirrors {
    /// A later file replaces what an earlier one says of a prefix.
    files: Vec<PathBuf>,
    /// Directories of further files.
    directories: Vec<PathBuf>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct File {
    #[serde(rename = "registry")]
    registries: Vec<Registry>,
    /// Version 1 of the format.
    #[serde(rename = "registries")]
    v1: Option<V1>,
}

/// Version 1 of the format, which systems still install: lists of registries. `registries.search` is not read either.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct V1 {
    insecure: V1List,
    block: V1List,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct V1List {
    registries: Vec<String>,
}

impl V1 {
    /// Returns the same in version 2.
    fn into_registries(self) -> Vec<Registry> {
        let mut registries: BTreeMap<String, Registry> = BTreeMap::new();
        let mut entry = |name: &str, change: fn(&mut Registry)| {
            // As containers/image does.
            let name = name.trim_end_matches('/').to_owned();
            let new = Registry { location: name.clone(), ..Registry::default() };
            change(registries.entry(name).or_insert(new));
        };
        self.insecure.registries.iter().for_each(|name| entry(name, |registry| registry.insecure = true));
        self.block.registries.iter().for_each(|name| entry(name, |registry| registry.blocked = true));
        registries.into_values().collect()
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct Registry {
    prefix: String,
    location: String,
    insecure: bool,
    blocked: bool,
    mirror_by_digest_only: bool,
    mirror: Vec<Mirror>,
    /// The file that this is from.
    #[serde(skip)]
    file: PathBuf,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct Mirror {
    location: String,
    insecure: bool,
    /// `all`, `digest-only` or `tag-only`.
    #[serde(rename = "pull-from-mirror")]
    pulls: String,
}

/// A place to read an image from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// The image there.
    pub(crate) reference: Reference,
    /// Whether TLS is not verified there, and plain HTTP accepted.
    pub(crate) insecure: bool,
}

impl Mirrors {
    /// Returns the files that an environment names: `CONTAINERS_REGISTRIES_CONF` alone, or the user's `registries.conf`, or
    /// the system's, and the directories of further files beside them. `variable` returns the value of a variable.
    pub fn from_variables(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let path = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(file) = path("CONTAINERS_REGISTRIES_CONF") {
            return Self::from_files([file]);
        }
        let home = path("HOME").map(|home| home.join(".config"));
        let user = path("XDG_CONFIG_HOME").or(home).map(|config| config.join("containers"));
        let directories: Vec<PathBuf> =
            [Some("/etc/containers".into()), user].into_iter().flatten().collect();
        // The user's file replaces the system's; of the directories, all files count.
        let files = directories.iter().rev().map(|directory| directory.join("registries.conf"));
        let files = files.filter(|file| file.exists()).take(1).collect();
        let directories = directories.iter().map(|directory| directory.join("registries.conf.d"));
        Self { files, directories: directories.collect() }
    }

    /// Returns these files, which must exist, in the format of `registries.conf`. A later file replaces what an earlier one says
    /// of a registry.
    pub fn from_files(files: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        Self { files: files.into_iter().map(Into::into).collect(), directories: Vec::new() }
    }

    /// Returns what the files say, by prefix.
    fn read(&self) -> Result<BTreeMap<String, Registry>, Error> {
        let mut paths = self.files.clone();
        for directory in &self.directories {
            let Ok(entries) = directory.read_dir() else { continue };
            let mut found: Vec<_> = entries
                .take(MAX_FILES)
                .filter_map(|entry| Some(entry.ok()?.path()))
                .filter(|path| path.extension().is_some_and(|extension| extension == "conf"))
                .collect();
            found.sort();
            paths.append(&mut found);
        }
        let mut registries = BTreeMap::new();
        for path in paths {
            // A later file replaces what an earlier one says of a prefix.
            registries
                .extend(read_file(&path)?.into_iter().map(|registry| (registry.prefix.clone(), registry)));
        }
        Ok(registries)
    }

    /// Returns where to read the image from, in order; the last one is its own registry, which may have another location.
    /// Mirrors that are blocked themselves are left out.
    ///
    /// # Errors
    ///
    /// [`Error::Mirrors`] if a file exists and cannot be used, [`Error::Blocked`] if the configuration does not allow the
    /// registry.
    pub(crate) fn endpoints(&self, reference: &Reference) -> Result<Vec<Endpoint>, Error> {
        let name = name(reference);
        let registries = self.read()?;
        let Some((length, registry)) = find(&registries, &name) else {
            return Ok(vec![Endpoint { reference: reference.clone(), insecure: false }]);
        };
        registry.require_allowed(&name)?;
        let rest = &name[length..];
        let is_digest = reference.digest().is_some();
        let at = |location: &str, insecure| -> Result<Endpoint, Error> {
            let reference = moved(reference, &format!("{location}{rest}"))?;
            Ok(Endpoint { reference, insecure })
        };
        let is_blocked = |endpoint: &Endpoint| {
            find(&registries, &self::name(&endpoint.reference)).is_some_and(|(_, found)| found.blocked)
        };
        let mut endpoints: Vec<Endpoint> = Vec::new();
        for mirror in &registry.mirror {
            let fits = match mirror.pulls.as_str() {
                "digest-only" => is_digest,
                "tag-only" => !is_digest,
                _ => is_digest || !registry.mirror_by_digest_only,
            };
            if fits {
                endpoints.push(at(&mirror.location, mirror.insecure)?);
            }
        }
        endpoints.retain(|mirror| !is_blocked(mirror));
        endpoints.push(if registry.location.is_empty() {
            Endpoint { reference: reference.clone(), insecure: registry.insecure }
        } else {
            at(&registry.location, registry.insecure)?
        });
        Ok(endpoints)
    }

    /// Returns how to write to the image's registry.
    ///
    /// # Errors
    ///
    /// As [`Mirrors::endpoints`].
    pub(crate) fn writable(&self, reference: &Reference) -> Result<Endpoint, Error> {
        let name = name(reference);
        let registries = self.read()?;
        let mut endpoint = Endpoint { reference: reference.clone(), insecure: false };
        if let Some((_, registry)) = find(&registries, &name) {
            registry.require_allowed(&name)?;
            // It describes the location, which may be another registry.
            let location = registry.location.split('/').next().unwrap_or_default();
            endpoint.insecure =
                registry.insecure && (location.is_empty() || location == reference.registry());
        }
        Ok(endpoint)
    }
}

fn name(reference: &Reference) -> String {
    format!("{}/{}", reference.registry(), reference.repository())
}

/// Returns the registry whose prefix covers most of `name`, and how many bytes that are.
fn find<'a>(registries: &'a BTreeMap<String, Registry>, name: &str) -> Option<(usize, &'a Registry)> {
    let matching = registries.values().filter_map(|registry| Some((registry.match_length(name)?, registry)));
    matching.max_by_key(|(length, _)| *length)
}

impl Registry {
    /// Checks what `file` says of a registry, and returns it with a prefix and without slashes at the end of names.
    ///
    /// # Errors
    ///
    /// The reason why it is invalid; containers/image rejects the same.
    fn checked(mut self, file: &Path) -> Result<Self, String> {
        file.clone_into(&mut self.file);
        self.location = location("location", &self.location)?;
        if self.prefix.is_empty() {
            self.prefix.clone_from(&self.location);
        }
        self.prefix = self.prefix.trim_end_matches('/').to_owned();
        if self.prefix.is_empty() {
            return Err("a [[registry]] has neither `prefix` nor `location`".into());
        }
        // A prefix may have a tag or a digest, which match nothing here.
        if self.prefix.contains("://") {
            return Err(format!("invalid prefix `{}`: expected no scheme", escape(&self.prefix)));
        }
        if self.prefix.starts_with('*')
            && (!self.prefix.starts_with("*.") || self.prefix.contains(['/', ':', '@']))
        {
            let prefix = escape(&self.prefix);
            return Err(format!(
                "invalid prefix `{prefix}`: expected a wildcard without a port, such as `*.example.com`"
            ));
        }
        for mirror in &mut self.mirror {
            mirror.location = location("mirror location", &mirror.location)?;
            let prefix = escape(&self.prefix);
            if mirror.location.is_empty() {
                return Err(format!("a mirror of `{prefix}` has no `location`"));
            }
            if !["", "all", "digest-only", "tag-only"].contains(&mirror.pulls.as_str()) {
                return Err(format!(
                    "invalid pull-from-mirror `{}`: expected `all`, `digest-only` or `tag-only`",
                    escape(&mirror.pulls)
                ));
            }
            if self.mirror_by_digest_only && !mirror.pulls.is_empty() {
                return Err(format!(
                    "`{prefix}` sets mirror-by-digest-only, and its mirror pull-from-mirror: use one of them"
                ));
            }
        }
        Ok(self)
    }

    /// Returns an error if `name` must not be used.
    fn require_allowed(&self, name: &str) -> Result<(), Error> {
        if self.blocked {
            return Err(Error::Blocked { name: name.to_owned(), path: self.file.clone() });
        }
        Ok(())
    }

    /// Returns how many bytes of `name` the prefix covers; `None` if it is for other names.
    fn match_length(&self, name: &str) -> Option<usize> {
        let prefix = self.prefix.as_str();
        if let Some(domain) = prefix.strip_prefix('*') {
            // `*.example.com` covers every subdomain on every port; as in containers/image, the port is kept.
            let host = name.split(['/', ':']).next()?;
            return (domain.starts_with('.') && host.ends_with(domain)).then_some(host.len());
        }
        let rest = name.strip_prefix(prefix)?;
        (rest.is_empty() || rest.starts_with('/')).then_some(prefix.len())
    }
}

/// Returns a location without slashes at its end: a registry, or a registry and the first parts of repositories.
pub(crate) fn location(field: &str, text: &str) -> Result<String, String> {
    let text = text.trim_end_matches('/');
    if text.is_empty() {
        return Ok(String::new());
    }
    let host = text.split('/').next().unwrap_or_default();
    let is_valid = reference::parse(&format!("{text}/x")).is_ok_and(|parsed| parsed.registry() == host);
    if is_valid {
        return Ok(text.to_owned());
    }
    Err(format!(
        "invalid {field} `{}`: expected HOST[:PORT][/PATH], without a scheme or a user",
        Address::new(text)
    ))
}

/// Returns `reference` with another name before its tag or digest.
fn moved(reference: &Reference, name: &str) -> Result<Reference, Error> {
    let mut text = name.to_owned();
    if let Some(digest) = reference.digest() {
        text.push('@');
        text.push_str(digest);
    } else if let Some(tag) = reference.tag() {
        text.push(':');
        text.push_str(tag);
    }
    reference::parse(&text)
}

fn read_file(path: &Path) -> Result<Vec<Registry>, Error> {
    let fail = |reason: String| Error::Mirrors { path: path.to_owned(), reason };
    let bytes = match file::read(path, MAX_FILE) {
        Ok(bytes) => bytes,
        // Removed since the directory was read.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(fail("it does not exist".into()));
        }
        Err(error) => return Err(fail(io_error(&error))),
    };
    let text = String::from_utf8(bytes).map_err(|_| fail("it is not UTF-8".into()))?;
    let file: File = toml::from_str(&text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        let line = text.bytes().take(start).filter(|byte| *byte == b'\n').count() + 1;
        let message = error.message().replace("expected a sequence", "expected a list");
        fail(format!("line {line}: {}", escape(&message)))
    })?;
    let registries = match file.v1 {
        None => file.registries,
        Some(v1) if file.registries.is_empty() => v1.into_registries(),
        Some(_) => {
            return Err(fail("it mixes [registries] of version 1 with [[registry]] of version 2".into()));
        }
    };
    registries.into_iter().map(|registry| registry.checked(path).map_err(fail)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mirrors(text: &str) -> (tempfile::TempDir, Mirrors) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("registries.conf");
        std::fs::write(&path, text).unwrap();
        let value = OsString::from(path);
        let variable = |name: &str| (name == "CONTAINERS_REGISTRIES_CONF").then(|| value.clone());
        (dir, Mirrors::from_variables(variable))
    }

    fn places(mirrors: &Mirrors, image: &str) -> Vec<String> {
        let endpoints = mirrors.endpoints(&image.parse().unwrap()).unwrap();
        endpoints.iter().map(|endpoint| endpoint.reference.to_string()).collect()
    }

    const CONF: &str = r#"
        unqualified-search-registries = ["docker.io"]
        [[registry]]
        prefix = "quay.io/org"
        location = "internal.example.com/quay"
        [[registry.mirror]]
        location = "one.example.com/m"
        pull-from-mirror = "digest-only"
        [[registry.mirror]]
        location = "two.example.com"
        insecure = true
        [[registry]]
        location = "quay.io"
        mirror-by-digest-only = true
        [[registry.mirror]]
        location = "three.example.com/quay"
        [[registry]]
        prefix = "*.blocked.example.com"
        blocked = true
    "#;

    #[test]
    fn longest_prefix_chooses() {
        let (_dir, mirrors) = mirrors(CONF);
        let digest = format!("@sha256:{}", "a".repeat(64));
        assert_eq!(
            places(&mirrors, "quay.io/org/a:v1"),
            ["two.example.com/a:v1", "internal.example.com/quay/a:v1"]
        );
        assert_eq!(
            places(&mirrors, &format!("quay.io/org/a{digest}")),
            [
                format!("one.example.com/m/a{digest}"),
                format!("two.example.com/a{digest}"),
                format!("internal.example.com/quay/a{digest}")
            ]
        );
        assert_eq!(places(&mirrors, "quay.io/organisation/a:v1"), ["quay.io/organisation/a:v1"]);
        assert_eq!(
            places(&mirrors, &format!("quay.io/x/a{digest}")),
            [format!("three.example.com/quay/x/a{digest}"), format!("quay.io/x/a{digest}")]
        );
        assert_eq!(places(&mirrors, "busybox"), ["docker.io/library/busybox"]);
        let insecure = mirrors.endpoints(&"quay.io/org/a:v1".parse().unwrap()).unwrap();
        assert_eq!(insecure.iter().map(|endpoint| endpoint.insecure).collect::<Vec<_>>(), [true, false]);
        let blocked = mirrors.endpoints(&"x.blocked.example.com/a".parse().unwrap());
        assert!(matches!(blocked, Err(Error::Blocked { .. })));
        assert!(mirrors.endpoints(&"blocked.example.com/a".parse().unwrap()).is_ok());
    }

    #[test]
    fn users_file_replaces_the_systems_and_further_files_add() {
        let home = tempfile::tempdir().unwrap();
        let config = home.path().join(".config/containers");
        std::fs::create_dir_all(config.join("registries.conf.d")).unwrap();
        let write = |name: &str, location: &str| {
            let text = format!("[[registry]]\nprefix = \"quay.io\"\nlocation = \"{location}\"\n");
            std::fs::write(config.join(name), text).unwrap();
        };
        write("registries.conf", "one.example.com");
        let value = OsString::from(home.path());
        let read = || Mirrors::from_variables(|name| (name == "HOME").then(|| value.clone()));
        assert_eq!(places(&read(), "quay.io/a:v1"), ["one.example.com/a:v1"]);
        write("registries.conf.d/50-two.conf", "two.example.com");
        assert_eq!(places(&read(), "quay.io/a:v1"), ["two.example.com/a:v1"]);
    }

    #[test]
    fn configuration_that_podman_rejects_is_rejected() {
        let mirror =
            |text: &str| format!("[[registry]]\nprefix = \"quay.io\"\n[[registry.mirror]]\n{text}\n");
        for (text, expected) in [
            ("[[registry]]\nblocked = true".to_owned(), "neither `prefix` nor `location`"),
            (
                "[[registry]]\nlocation = \"http://a.example.com\"".to_owned(),
                "invalid location `http://a.example.com`",
            ),
            (
                "[[registry]]\nlocation = \"u:hunter2@a.example.com\"".to_owned(),
                "invalid location `***@a.example.com`",
            ),
            ("[[registry]]\nlocation = \"a\\u001b\"".to_owned(), "invalid location `a\\u{1b}`"),
            (
                "[[registry]]\nprefix = \"*.a.example.com/x\"".to_owned(),
                "expected a wildcard without a port, such as",
            ),
            (
                "[[registry]]\nprefix = \"*.a.example.com:5000\"".to_owned(),
                "expected a wildcard without a port",
            ),
            (mirror("insecure = true"), "a mirror of `quay.io` has no `location`"),
            (mirror("location = \"https://a.example.com\""), "invalid mirror location"),
            (mirror("location = \"*.example.com\""), "invalid mirror location"),
            (
                mirror("location = \"a.example.com\"\npull-from-mirror = \"x\""),
                "invalid pull-from-mirror `x`",
            ),
            (
                mirror("location = \"a.example.com\"")
                    .replace("[[registry.", "mirror-by-digest-only = true\n[[registry.")
                    + "pull-from-mirror = \"all\"",
                "use one of them",
            ),
            ("\n\n[[registry]]\nblocked = \"yes\"".to_owned(), "line 4: "),
            ("\n[[registry".to_owned(), "line 2: "),
            (
                "[registries.block]\nregistries = []\n[[registry]]\nprefix = \"a\"".to_owned(),
                "mixes [registries]",
            ),
        ] {
            let (_dir, mirrors) = mirrors(&text);
            let error = mirrors.endpoints(&"quay.io/a".parse().unwrap()).unwrap_err();
            let shown = format!("{error} {error:?}");
            assert!(shown.contains(expected) && shown.contains("registries.conf"), "{text}: {shown}");
            assert!(!shown.contains("hunter2"), "{shown}");
        }
    }

    #[test]
    fn version_1_is_read() {
        let text = "[registries.search]\nregistries = ['docker.io']\n[registries.insecure]\nregistries = \
            ['a.example.com', 'b.example.com:5000/']\n[registries.block]\nregistries = ['b.example.com:5000']\n";
        let (_dir, mirrors) = mirrors(text);
        let endpoints = |image: &str| mirrors.endpoints(&image.parse().unwrap());
        let insecure = |image: &str| endpoints(image).unwrap().pop().unwrap().insecure;
        assert!(insecure("a.example.com/x") && !insecure("c.example.com/x"));
        assert!(matches!(endpoints("b.example.com:5000/x"), Err(Error::Blocked { .. })));
    }

    #[test]
    fn device_is_an_empty_file() {
        let mirrors = Mirrors::from_files(["/dev/null"]);
        assert_eq!(places(&mirrors, "quay.io/x:v1"), ["quay.io/x:v1"]);
    }

    #[test]
    fn slashes_at_the_end_of_a_location_are_ignored() {
        let text = "[[registry]]\nprefix = \"quay.io/\"\nlocation = \"a.example.com/b/\"\n\
            [[registry.mirror]]\nlocation = \"m.example.com/\"\n";
        let (_dir, mirrors) = mirrors(text);
        assert_eq!(places(&mirrors, "quay.io/x:v1"), ["m.example.com/x:v1", "a.example.com/b/x:v1"]);
    }

    #[test]
    fn blocked_mirrors_are_not_used() {
        let text = "[[registry]]\nprefix = \"quay.io\"\n[[registry.mirror]]\nlocation = \"m.example.com\"\n\
            [[registry]]\nprefix = \"m.example.com\"\nblocked = true\n";
        let (_dir, mirrors) = mirrors(text);
        assert_eq!(places(&mirrors, "quay.io/x:v1"), ["quay.io/x:v1"]);
    }

    #[test]
    fn writing_ignores_mirrors_and_locations_but_not_blocks() {
        let text = format!(
            "{CONF}\n[[registry]]\nlocation = \"lan.example.com\"\ninsecure = true\n\
            [[registry]]\nprefix = \"moved.example.com\"\nlocation = \"lan.example.com\"\ninsecure = true\n"
        );
        let (_dir, mirrors) = mirrors(&text);
        for (image, insecure) in [
            ("quay.io/org/a:v1", false),
            ("lan.example.com/a:v1", true),
            ("moved.example.com/a:v1", false),
            ("other.example.com/a:v1", false),
        ] {
            let found = mirrors.writable(&image.parse().unwrap()).unwrap();
            assert_eq!((found.reference.to_string().as_str(), found.insecure), (image, insecure));
        }
        let blocked = mirrors.writable(&"x.blocked.example.com/a".parse().unwrap()).unwrap_err().to_string();
        assert!(blocked.contains("registries.conf"), "{blocked}");
    }

    #[test]
    fn file_with_many_registries_is_read() {
        let text: String =
            (0..20_000).map(|n| format!("[[registry]]\nprefix = \"r{n}.example.com\"\n")).collect();
        let (_dir, mirrors) = mirrors(&text);
        assert_eq!(places(&mirrors, "r19999.example.com/a:v1"), ["r19999.example.com/a:v1"]);
    }

    #[test]
    fn invalid_files_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("registries.conf");
        for text in [None, Some("[[registry]"), Some("registry = 1"), Some("[[registry]]\nblocked = \"x\"")] {
            if let Some(text) = text {
                std::fs::write(&path, text).unwrap();
            }
            let error = Mirrors { files: vec![path.clone()], directories: Vec::new() }
                .read()
                .unwrap_err()
                .to_string();
            assert!(error.contains("registries.conf"), "{error}");
        }
    }
}
