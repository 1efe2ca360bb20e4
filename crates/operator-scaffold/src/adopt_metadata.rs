//! What the files of an existing operator say about it: its name, its version and its channels.

use std::collections::BTreeSet;

use semver::Version;

use super::adopt_bundle;
use super::adopt_bundle::ExistingBundle;
use super::adopt_version::{self, Stated};
use super::makefile_variables::{Makefile, file_of};

/// The Makefile's variables that hold the version, the channels and the default channel, the likeliest first.
const VERSIONS: &[&str] = &["VERSION", "BUNDLE_VERSION", "OPERATOR_VERSION"];
const CHANNELS: &[&str] = &["CHANNELS", "BUNDLE_CHANNELS"];
const DEFAULT_CHANNELS: &[&str] = &["DEFAULT_CHANNEL", "BUNDLE_DEFAULT_CHANNEL"];
/// The channel of an operator whose files state none.
pub(crate) const DEFAULT_CHANNEL: &str = "alpha";
/// The directory of the base CSVs.
const BASES: &str = "config/manifests/bases/";
/// How the names of the files of base CSVs end.
pub(crate) const CSV_SUFFIX: &str = ".clusterserviceversion.yaml";

/// What an operator's own files say about it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Metadata {
    /// The name of the package.
    pub name: Option<String>,
    /// The version, which is never lower than that of the existing base and bundle.
    pub version: Option<Version>,
    /// The channels, separated by commas.
    pub channels: Option<String>,
    /// The default channel.
    pub default_channel: Option<String>,
    /// The existing bundle.
    pub bundle: Option<ExistingBundle>,
    /// The path of each base CSV, and its name.
    pub bases: Vec<(String, String)>,
    /// What was guessed or changed, one line each.
    pub notes: Vec<String>,
}

impl Metadata {
    /// Reads the metadata of an operator. `files` are the relative paths of its files, `chart` is the directory of its Helm
    /// chart, and `read` returns the text of one of the files.
    ///
    /// The name is that of the existing bundle, of the only base CSV, or in `PROJECT`, the chart, `Cargo.toml`, `pom.xml` or
    /// Gradle's settings; the version that in the `Makefile`, `VERSION`, the chart, `Cargo.toml`, `pom.xml` or Gradle's build, or
    /// the one of the base or the existing bundle if that is higher; the channels those in the `Makefile` or of the existing
    /// bundle.
    ///
    /// # Errors
    /// As `read`.
    pub fn read<E>(
        files: &[String],
        chart: Option<&str>,
        mut read: impl FnMut(&str) -> Result<String, E>,
    ) -> Result<Self, E> {
        let known: BTreeSet<&str> = files.iter().map(String::as_str).collect();
        let mut text = |path: &str| -> Result<Option<String>, E> {
            if known.contains(path) { read(path).map(Some) } else { Ok(None) }
        };
        let project = text(super::project::FILE)?.unwrap_or_default();
        let project_name = super::KubebuilderProject::parse(&project).ok().and_then(|project| project.name);
        let own = only_base(files).or_else(|| project_name.clone());
        let (bundle, bundle_note) = adopt_bundle::find(files, own.as_deref(), &mut text)?;
        let mut existing = Vec::new();
        let mut bases = Vec::new();
        for path in files.iter().filter(|path| path.starts_with(BASES) && path.ends_with(CSV_SUFFIX)) {
            let base = text(path)?.unwrap_or_default();
            let stated = yaml(&base, &["spec", "version"]);
            existing.extend(stated.map(|text| Stated { text, place: path.clone() }));
            bases.push((path.clone(), yaml(&base, &["metadata", "name"]).unwrap_or_default()));
        }
        if let Some(csv) = bundle.as_ref().and_then(|bundle| bundle.csv.as_ref()) {
            existing.push(Stated { text: csv.version.clone(), place: csv.path.clone() });
        }
        let chart_path = chart.map_or_else(String::new, |chart| join(chart, "Chart.yaml"));
        let chart = text(&chart_path)?.unwrap_or_default();
        let cargo = text("Cargo.toml")?.and_then(|text| toml::from_str::<toml::Value>(&text).ok());
        let cargo = |key: &str| Some(cargo.as_ref()?.get("package")?.get(key)?.as_str()?.to_owned());
        let pom = text("pom.xml")?.unwrap_or_default();
        let makefile = Makefile::read(files, &mut text)?;
        let mut gradle = String::new();
        for path in [
            "settings.gradle",
            "settings.gradle.kts",
            "build.gradle",
            "build.gradle.kts",
            "gradle.properties",
        ] {
            gradle.push_str(&text(path)?.unwrap_or_default());
            gradle.push('\n');
        }
        let name = bundle
            .as_ref()
            .and_then(|bundle| bundle.package.clone())
            .or(own)
            .or_else(|| yaml(&chart, &["name"]))
            .or_else(|| cargo("name"))
            .or_else(|| pom_field(&pom, "artifactId"))
            .or_else(|| gradle_field(&gradle, "rootProject.name"));

        let mut declared = Vec::new();
        for value in VERSIONS.iter().flat_map(|name| makefile.values(name)) {
            let file = file_of(&value);
            declared.push(match file.map(&mut text).transpose()?.flatten() {
                Some(text) => Stated { text: first_words(&text), place: file.unwrap_or_default().to_owned() },
                None => Stated { text: value, place: "Makefile".to_owned() },
            });
        }
        for (value, place) in [
            (text("VERSION")?.map(|text| first_words(&text)), "VERSION"),
            (yaml(&chart, &["version"]), chart_path.as_str()),
            (cargo("version"), "Cargo.toml"),
            (pom_field(&pom, "version"), "pom.xml"),
            (gradle_field(&gradle, "version"), "the Gradle build"),
        ] {
            let printable = value.filter(|value| !value.is_empty() && !value.chars().any(char::is_control));
            declared.extend(printable.map(|text| Stated { text, place: place.to_owned() }));
        }
        let (version, version_note) = adopt_version::decide(&declared, &existing);

        let mut notes: Vec<String> = bundle_note.into_iter().chain(version_note).collect();
        let is_plain = |value: &String| are_channels(value);
        let variable = |names: &[&str]| names.iter().flat_map(|name| makefile.values(name)).find(is_plain);
        let default = variable(DEFAULT_CHANNELS);
        let channels = variable(CHANNELS)
            .or_else(|| bundle.as_ref()?.channels.clone().filter(is_plain))
            .or_else(|| default.clone());
        let list: Vec<&str> =
            channels.iter().flat_map(|channels| channels.split(',')).map(str::trim).collect();
        if list.is_empty() {
            notes.push(format!(
                "CHANNELS is {DEFAULT_CHANNEL} because no channels were found in the Makefile or a bundle"
            ));
        }
        let default = default.or_else(|| bundle.as_ref()?.default_channel.clone());
        let default_channel = match default {
            Some(default) if list.contains(&default.as_str()) => Some(default),
            Some(default) => {
                let first = list.first().copied().unwrap_or(DEFAULT_CHANNEL);
                notes.push(format!(
                    "DEFAULT_CHANNEL is {first} because `{default}` is not one of the channels"
                ));
                Some(first.to_owned())
            }
            None => list.first().map(|first| (*first).to_owned()),
        };
        Ok(Self {
            name,
            version,
            channels: Some(list.join(",")).filter(|list| !list.is_empty()),
            default_channel,
            bundle,
            bases,
            notes,
        })
    }
}

/// Returns the beginning of a file that contains a version.
fn first_words(text: &str) -> String {
    const MAX_CHARS: usize = 100;
    text.trim().chars().take(MAX_CHARS).collect()
}

/// Returns whether a value is the name of a channel, or several that are separated by commas.
fn are_channels(value: &str) -> bool {
    let is_of_name = |char: char| char.is_ascii_alphanumeric() || matches!(char, '.' | '-' | '_');
    value
        .split(',')
        .map(str::trim)
        .all(|name| !name.is_empty() && !name.starts_with('-') && name.chars().all(is_of_name))
}

/// Returns the package of the only base CSV.
fn only_base(files: &[String]) -> Option<String> {
    let mut bases = files.iter().filter_map(|file| file.strip_prefix(BASES)?.strip_suffix(CSV_SUFFIX));
    let base = bases.next()?;
    bases.next().is_none().then(|| base.to_owned())
}

pub(crate) fn yaml(text: &str, keys: &[&str]) -> Option<String> {
    let parsed = kube_yaml::parse(text.as_bytes());
    let value = parsed.documents.first()?.root().dig(keys)?;
    Some(value.text().to_owned()).filter(|value| !value.is_empty() && !value.chars().any(char::is_control))
}

/// Returns what a build of Gradle assigns to a property: `name = "value"`, `name 'value'` or `name=value`.
fn gradle_field(text: &str, name: &str) -> Option<String> {
    let field = |line: &str| {
        let rest = line.strip_prefix(name)?;
        if !rest.starts_with([' ', '=']) {
            return None;
        }
        let value = rest.trim_start_matches([' ', '=']).trim().trim_matches(['"', '\'']);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '+');
        Some(value.to_owned()).filter(|value| !value.is_empty() && value.chars().all(is_plain))
    };
    // In a block such as `allprojects` only where there is none outside of blocks.
    text.lines().find_map(field).or_else(|| text.lines().map(str::trim_start).find_map(field))
}

/// The maximum number of properties in a field of a `pom.xml`, and the maximum length of one in bytes.
const MAX_PROPERTIES: usize = 10;
const MAX_PROPERTY: usize = 256;

/// Returns a field of the project in a `pom.xml`, or that of its parent, with a property in its place.
fn pom_field(pom: &str, name: &str) -> Option<String> {
    let own = xml_text(pom, &["project", name]);
    let value = match own {
        None if name == "version" => xml_text(pom, &["project", "parent", name]),
        own => own,
    }?;
    let mut text = String::new();
    let mut rest = value.as_str();
    for _ in 0..MAX_PROPERTIES {
        let Some((before, reference)) = rest.split_once("${") else { break };
        let (property, after) = reference.split_once('}')?;
        text.push_str(before);
        match xml_text(pom, &["project", "properties", property]) {
            Some(value) if value.len() > MAX_PROPERTY => return None,
            Some(value) => text.push_str(&value),
            // Those of Maven's versions for continuous integration are usually empty.
            None if matches!(property, "changelist" | "sha1") => {}
            None => return None,
        }
        rest = after;
    }
    text.push_str(rest);
    Some(text)
}

/// Returns the text of the first element at a path of names.
fn xml_text(xml: &str, path: &[&str]) -> Option<String> {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = xml;
    while let Some(start) = rest.find('<') {
        let before = &rest[..start];
        if open == path {
            return Some(before.trim().to_owned()).filter(|text| !text.is_empty());
        }
        rest = &rest[start + 1..];
        if let Some(comment) = rest.strip_prefix("!--") {
            rest = comment.split_once("-->")?.1;
            continue;
        }
        let (tag, after) = rest.split_once('>')?;
        rest = after;
        if tag.starts_with('/') {
            open.pop();
        } else if !tag.starts_with(['?', '!']) && !tag.ends_with('/') {
            open.push(tag.split_whitespace().next().unwrap_or_default());
        }
    }
    None
}

pub(crate) fn join(directory: &str, name: &str) -> String {
    if directory == "." { name.to_owned() } else { format!("{directory}/{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(files: &[(&str, &str)], chart: Option<&str>) -> [String; 4] {
        let paths: Vec<String> = files.iter().map(|(path, _)| (*path).to_owned()).collect();
        let text = |path: &str| {
            let file = files.iter().find(|(other, _)| *other == path);
            file.map(|(_, text)| (*text).to_owned()).ok_or(())
        };
        let found = Metadata::read(&paths, chart, text).unwrap();
        let version = found.version.map(|version| version.to_string());
        [found.name, version, found.channels, found.default_channel].map(Option::unwrap_or_default)
    }

    const BUNDLE: [(&str, &str); 2] = [
        (
            "bundle/metadata/annotations.yaml",
            "annotations:\n  operators.operatorframework.io.bundle.package.v1: pond\n  operators.operatorframework.io.bundle.channels.v1: fast,stable\n  operators.operatorframework.io.bundle.channel.default.v1: stable\n",
        ),
        ("bundle/manifests/x.yaml", "kind: ClusterServiceVersion\nspec:\n  version: 1.2.3\n"),
    ];

    #[test]
    fn existing_bundle_sets_name_version_and_channels() {
        assert_eq!(read(&BUNDLE, None), ["pond", "1.2.3", "fast,stable", "stable"]);
        let project = ("PROJECT", "projectName: lake\n");
        let makefile = |text: &'static str| [BUNDLE[0], BUNDLE[1], project, ("Makefile", text)];
        for (text, expected) in [
            ("VERSION ?= 3.1.0\nCHANNELS = \"stable\"\n", ["pond", "3.1.0", "stable", "stable"]),
            (
                "export VERSION := v2.0.0 # next\nCHANNELS ?= a, b\nDEFAULT_CHANNEL ?= b\n",
                ["pond", "2.0.0", "a,b", "b"],
            ),
            // A lower version than the published one, and a variable, are not taken.
            ("VERSION ?= 0.0.1\nCHANNELS ?= $(X)\n", ["pond", "1.2.3", "fast,stable", "stable"]),
            ("OTHER_VERSION = 9.9.9\n\tVERSION=8.0.0 go build\n", ["pond", "1.2.3", "fast,stable", "stable"]),
            ("override VERSION = 3.1.0\n", ["pond", "3.1.0", "fast,stable", "stable"]),
            ("ifndef VERSION\n  VERSION := 3.1.0\nendif\n", ["pond", "3.1.0", "fast,stable", "stable"]),
            ("define X\nVERSION = 9.0.0\nendef\nVERSION = 3.1\n", ["pond", "3.1.0", "fast,stable", "stable"]),
            ("BUNDLE_VERSION ?= 3.1.0\nBUNDLE_CHANNELS ?= stable\n", ["pond", "3.1.0", "stable", "stable"]),
        ] {
            assert_eq!(read(&makefile(text), None), expected, "{text}");
        }
    }

    #[test]
    fn build_files_set_name_and_version() {
        let pom = "<?xml version=\"1.0\"?>\n<!-- <project><artifactId>no</artifactId></project> -->\n<project xmlns=\"x\">\n  <parent><artifactId>parent</artifactId><version>9.0.0</version></parent>\n  <artifactId>lake-operator</artifactId>\n  <version>${revision}</version>\n  <properties><revision>1.4.0</revision></properties>\n</project>\n";
        for (files, chart, expected) in [
            (&[("pom.xml", pom)][..], None, ["lake-operator", "1.4.0", "", ""]),
            (
                &[(
                    "pom.xml",
                    "<project><parent><version>2.0.0</version></parent><artifactId>a</artifactId></project>",
                )],
                None,
                ["a", "2.0.0", "", ""],
            ),
            (&[("pom.xml", "<project/>")], None, ["", "", "", ""]),
            (
                &[(
                    "pom.xml",
                    "<project><artifactId>lake-operator</artifactId><version>1.4.0-SNAPSHOT</version></project>",
                )],
                None,
                ["lake-operator", "1.4.0", "", ""],
            ),
            (
                &[("build.gradle", "version '1.4.0-SNAPSHOT'\n"), ("settings.gradle", "")],
                None,
                ["", "1.4.0", "", ""],
            ),
            (&[("build.gradle", "allprojects {\n    version = '1.4.0'\n}\n")], None, ["", "1.4.0", "", ""]),
            (
                &[(
                    "pom.xml",
                    "<project><artifactId>a</artifactId><version>${revision}${sha1}${changelist}</version><properties><revision>1.4.0</revision><changelist>-SNAPSHOT</changelist></properties></project>",
                )],
                None,
                ["a", "1.4.0", "", ""],
            ),
            (
                &[("Makefile", "VERSION := $(shell cat ./version.txt)\n"), ("version.txt", "1.4.0\n")],
                None,
                ["", "1.4.0", "", ""],
            ),
            (
                &[
                    ("GNUmakefile", "include hack/*.mk\n"),
                    ("hack/v.mk", "MAJOR = 2\nVERSION ?= $(MAJOR).2.0\nVERSION := $(MAJOR).3.0\n"),
                ],
                None,
                ["", "2.3.0", "", ""],
            ),
            (&[("Chart.yaml", "name: lake\nversion: 1.4.0+abc\n")], Some("."), ["lake", "1.4.0", "", ""]),
            (&[("c/Chart.yaml", "name: lake\nversion: 0.3.0\n")], Some("c"), ["lake", "0.3.0", "", ""]),
            (
                &[("Cargo.toml", "[package]\nname = \"lake\"\nversion = \"0.4.0\"\n")],
                None,
                ["lake", "0.4.0", "", ""],
            ),
            (
                &[
                    ("build.gradle.kts", "version = \"0.5.0\"\nversionCatalog = 1\n"),
                    ("settings.gradle.kts", "rootProject.name = \"lake\"\n"),
                ],
                None,
                ["lake", "0.5.0", "", ""],
            ),
            (
                &[
                    ("config/manifests/bases/lake.clusterserviceversion.yaml", ""),
                    ("PROJECT", "projectName: other\n"),
                ],
                None,
                ["lake", "", "", ""],
            ),
        ] {
            assert_eq!(read(files, chart), expected, "{files:?}");
        }
    }

    #[test]
    fn bundle_is_found_by_its_contents_in_any_directory() {
        for (annotations, csv) in [
            ("deploy/olm-catalog/lake/1.2.3/metadata/annotations.yaml", "deploy/olm-catalog/lake/1.2.3"),
            ("bundle/1.2.3/metadata/annotations.yaml", "bundle/1.2.3"),
            ("config/bundle/metadata/annotations.yaml", "config/bundle"),
            ("bundle/metadata/annotations.yml", "bundle"),
        ] {
            let csv = format!("{csv}/manifests/csv.yml");
            let files = [(annotations, BUNDLE[0].1), (csv.as_str(), BUNDLE[1].1)];
            assert_eq!(read(&files, None), ["pond", "1.2.3", "fast,stable", "stable"], "{annotations}");
        }
        let newer = BUNDLE[1].1.replace("1.2.3", "1.10.0");
        let other = BUNDLE[0].1.replace("pond", "lake");
        let files = [
            ("b/1/metadata/annotations.yaml", BUNDLE[0].1),
            ("b/1/manifests/x.yaml", newer.as_str()),
            ("b/2/metadata/annotations.yaml", BUNDLE[0].1),
            ("b/2/manifests/x.yaml", BUNDLE[1].1),
            ("tests/bundle/metadata/annotations.yaml", other.as_str()),
            ("tests/bundle/manifests/x.yaml", newer.as_str()),
        ];
        assert_eq!(read(&files, None), ["pond", "1.10.0", "fast,stable", "stable"]);
    }

    /// Returns the lines about what was guessed or changed.
    fn notes(files: &[(&str, &str)]) -> Vec<String> {
        let paths: Vec<String> = files.iter().map(|(path, _)| (*path).to_owned()).collect();
        let text = |path: &str| {
            let file = files.iter().find(|(other, _)| *other == path);
            file.map(|(_, text)| (*text).to_owned()).ok_or(())
        };
        Metadata::read(&paths, None, text).unwrap().notes
    }

    #[test]
    fn guesses_are_said_in_a_line_each() {
        let base = "config/manifests/bases/lake.clusterserviceversion.yaml";
        let all: Vec<String> = [
            &[][..],
            &[(base, "spec:\n  version: 2.1.0\n"), ("Makefile", "CHANNELS = a\nVERSION ?= 0.0.1\n")],
            &[(base, "spec:\n  version: 0.0.0\n"), ("Makefile", "DEFAULT_CHANNEL ?= stable\nVERSION=$(X)\n")],
            &[
                ("Makefile", "VERSION ?= $(shell cat VERSION)\nCHANNELS=a\nDEFAULT_CHANNEL=b\n"),
                ("VERSION", "3.1.0\n"),
            ],
            &[
                ("Makefile", "include Makefile.vars\nVERSION = 1\n"),
                ("Makefile.vars", "VERSION ?= 3.1\nCHANNELS = a\n"),
            ],
            &[BUNDLE[0], BUNDLE[1]],
            &[("b/metadata/annotations.yaml", BUNDLE[0].1), ("b/manifests/x.yaml", BUNDLE[1].1)],
        ]
        .into_iter()
        .map(|files| notes(files).join("\n"))
        .collect();
        insta::assert_snapshot!(all.join("\n--\n"));
    }
}
