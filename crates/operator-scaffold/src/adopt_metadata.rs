//! What the files of an existing operator say about it: its name, its version and its channels.

use semver::Version;

use super::adopt_version::parse as version;

/// The annotations of the existing bundle.
const ANNOTATIONS: &str = "bundle/metadata/annotations.yaml";
/// What precedes the name of a package's fields in `annotations.yaml`.
const PREFIX: &str = "operators.operatorframework.io.bundle.";

/// What an operator's own files say about it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Metadata {
    /// The name of the package.
    pub name: Option<String>,
    /// The version, which is never lower than that of the existing bundle.
    pub version: Option<Version>,
    /// The channels, separated by commas.
    pub channels: Option<String>,
    /// The default channel.
    pub default_channel: Option<String>,
}

impl Metadata {
    /// Reads the metadata of an operator. `files` are the relative paths of its files, `chart` is the directory of its Helm
    /// chart, and `read` returns the text of one of the files.
    ///
    /// The name is that of the existing bundle, of the only base CSV, or in `PROJECT`, the chart, `Cargo.toml`, `pom.xml` or
    /// Gradle's settings; the version that in the `Makefile`, the chart, `Cargo.toml`, `pom.xml` or Gradle's build, or the one of
    /// the existing bundle if that is higher; the channels those in the `Makefile` or of the existing bundle.
    ///
    /// # Errors
    /// As `read`.
    pub fn read<E>(
        files: &[String],
        chart: Option<&str>,
        mut read: impl FnMut(&str) -> Result<String, E>,
    ) -> Result<Self, E> {
        let mut text = |path: &str| -> Result<Option<String>, E> {
            if files.iter().any(|file| file == path) { read(path).map(Some) } else { Ok(None) }
        };
        let annotations = text(ANNOTATIONS)?.unwrap_or_default();
        let annotation = |key: &str| yaml(&annotations, &["annotations", &format!("{PREFIX}{key}")]);
        let bundled = files.iter().find(|file| {
            file.starts_with("bundle/manifests/") && file.ends_with(".clusterserviceversion.yaml")
        });
        let bundled = bundled.map(|path| text(path)).transpose()?.flatten().unwrap_or_default();
        let project = text(super::project::FILE)?.unwrap_or_default();
        let chart = chart.map(|chart| join(chart, "Chart.yaml"));
        let chart = chart.map(|path| text(&path)).transpose()?.flatten().unwrap_or_default();
        let cargo = text("Cargo.toml")?.and_then(|text| toml::from_str::<toml::Value>(&text).ok());
        let cargo = |key: &str| Some(cargo.as_ref()?.get("package")?.get(key)?.as_str()?.to_owned());
        let pom = text("pom.xml")?.unwrap_or_default();
        let makefile = text("Makefile")?.unwrap_or_default();
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
        let name = annotation("package.v1")
            .or_else(|| only_base(files))
            .or_else(|| super::KubebuilderProject::parse(&project).ok()?.name)
            .or_else(|| yaml(&chart, &["name"]))
            .or_else(|| cargo("name"))
            .or_else(|| pom_field(&pom, "artifactId"))
            .or_else(|| gradle_field(&gradle, "rootProject.name"));
        let declared = assigned(&makefile, "VERSION")
            .and_then(|text| version(&text))
            .or_else(|| yaml(&chart, &["version"]).and_then(|text| version(&text)))
            .or_else(|| cargo("version").and_then(|text| version(&text)))
            .or_else(|| pom_field(&pom, "version").and_then(|text| version(&text)))
            .or_else(|| gradle_field(&gradle, "version").and_then(|text| version(&text)));
        let published = yaml(&bundled, &["spec", "version"]).and_then(|text| version(&text));
        let channels = assigned(&makefile, "CHANNELS").or_else(|| annotation("channels.v1"));
        let channels = channels.filter(|channels| channels.chars().all(is_of_channels));
        let default_channel =
            assigned(&makefile, "DEFAULT_CHANNEL").or_else(|| annotation("channel.default.v1"));
        let list: Vec<&str> =
            channels.iter().flat_map(|channels| channels.split(',')).map(str::trim).collect();
        let default_channel = default_channel
            .filter(|default| list.contains(&default.as_str()))
            .or_else(|| list.first().map(|first| (*first).to_owned()));
        Ok(Self {
            name,
            version: declared.max(published),
            channels: Some(list.join(",")).filter(|list| !list.is_empty()),
            default_channel,
        })
    }
}

fn is_of_channels(char: char) -> bool {
    char.is_ascii_alphanumeric() || matches!(char, '.' | '-' | '_' | ',' | ' ')
}

/// Returns the package of the only base CSV.
fn only_base(files: &[String]) -> Option<String> {
    let mut bases = files.iter().filter_map(|file| {
        file.strip_prefix("config/manifests/bases/")?.strip_suffix(".clusterserviceversion.yaml")
    });
    let base = bases.next()?;
    bases.next().is_none().then(|| base.to_owned())
}

fn yaml(text: &str, keys: &[&str]) -> Option<String> {
    let parsed = kube_yaml::parse(text.as_bytes());
    let value = parsed.documents.first()?.root().dig(keys)?;
    Some(value.text().to_owned()).filter(|value| !value.is_empty() && !value.chars().any(char::is_control))
}

/// Returns what a Makefile assigns to a variable, unless it refers to other variables.
fn assigned(makefile: &str, name: &str) -> Option<String> {
    makefile.lines().find_map(|line| {
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (before, value) = line.split_once('=')?;
        if before.trim_end_matches(['?', ':', ' ', '\t']) != name {
            return None;
        }
        let value = value.split('#').next().unwrap_or_default().trim();
        let value = value.trim_matches(['"', '\'']);
        Some(value.to_owned()).filter(|value| !value.is_empty() && !value.contains('$'))
    })
}

/// Returns what a build of Gradle assigns to a property: `name = "value"`, `name 'value'` or `name=value`.
fn gradle_field(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let rest = line.strip_prefix(name)?;
        if !rest.starts_with([' ', '=']) {
            return None;
        }
        let value = rest.trim_start_matches([' ', '=']).trim().trim_matches(['"', '\'']);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '+');
        Some(value.to_owned()).filter(|value| !value.is_empty() && value.chars().all(is_plain))
    })
}

/// Returns a field of the project in a `pom.xml`, or that of its parent, with a property in its place.
fn pom_field(pom: &str, name: &str) -> Option<String> {
    let own = xml_text(pom, &["project", name]);
    let value = match own {
        None if name == "version" => xml_text(pom, &["project", "parent", name]),
        own => own,
    }?;
    match value.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')) {
        Some(property) => xml_text(pom, &["project", "properties", property]),
        None => Some(value),
    }
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
        ("bundle/manifests/x.clusterserviceversion.yaml", "spec:\n  version: 1.2.3\n"),
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
}
