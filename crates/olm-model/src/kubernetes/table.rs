//! The table of releases.

use std::fmt::Write as _;
use std::sync::OnceLock;

use super::minor::Minor;

const TABLE: &str = include_str!("releases.txt");

/// A minor version of Kubernetes that the rules reproduce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Release {
    /// The minor version.
    pub minor: Minor,
    /// The date of its first release, `2025-08-27`.
    pub released: &'static str,
    /// The date of its end of life upstream.
    pub end_of_life: &'static str,
    /// The release whose API server the rules were compared with, `1.34.4`.
    pub reproduced: &'static str,
    /// The version of cel-go that it is built with.
    pub cel_go: &'static str,
}

struct Table {
    updated: &'static str,
    releases: Vec<Release>,
    /// Versions of OpenShift, each with its version of Kubernetes.
    openshift: Vec<(Minor, Minor)>,
    programs: Vec<(&'static str, &'static str)>,
}

fn table() -> &'static Table {
    static READ: OnceLock<Table> = OnceLock::new();
    READ.get_or_init(|| {
        let mut table =
            Table { updated: "", releases: Vec::new(), openshift: Vec::new(), programs: Vec::new() };
        for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
            if let Some(program) = line.strip_prefix("program ").and_then(|program| program.rsplit_once(' '))
            {
                table.programs.push(program);
                continue;
            }
            let fields: Vec<&'static str> = line.split(' ').collect();
            match fields[..] {
                ["updated", date] => table.updated = date,
                ["kubernetes", minor, released, end_of_life, reproduced, cel_go] => {
                    let release = |minor| Release { minor, released, end_of_life, reproduced, cel_go };
                    table.releases.extend(minor.parse().ok().map(release));
                }
                ["openshift", openshift, kubernetes] => {
                    table.openshift.extend(openshift.parse().ok().zip(kubernetes.parse().ok()));
                }
                _ => {}
            }
        }
        table
    })
}

/// Returns the date of the table.
#[must_use]
pub fn updated() -> &'static str {
    table().updated
}

/// Returns the versions of Kubernetes that the rules reproduce, the oldest first.
#[must_use]
pub fn releases() -> &'static [Release] {
    &table().releases
}

/// Returns the other programs that the rules reproduce, and their versions.
#[must_use]
pub fn programs() -> &'static [(&'static str, &'static str)] {
    &table().programs
}

/// Returns the text of `--version --verbose`: which versions the rules reproduce.
#[must_use]
pub fn reproduced() -> String {
    let mut text = format!("reproduces, as of {}:\n", updated());
    for release in releases() {
        let openshift =
            openshift_of(release.minor).map_or_else(String::new, |minor| format!("OpenShift {minor}, "));
        let Release { minor, released, end_of_life, reproduced, cel_go } = release;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "  Kubernetes {minor} ({openshift}API server {reproduced} with cel-go {cel_go}; released {released}, end of life {end_of_life})"
        );
    }
    for (program, version) in programs() {
        let _ = writeln!(text, "  {program} {version}");
    }
    text
}

/// Returns the oldest version that the rules reproduce.
#[must_use]
pub fn oldest() -> Minor {
    releases().first().map_or(Minor::kubernetes(0), |release| release.minor)
}

/// Returns the newest version that the rules reproduce.
#[must_use]
pub fn newest() -> Minor {
    releases().last().map_or(Minor::kubernetes(0), |release| release.minor)
}

/// Returns the version of Kubernetes in a version of OpenShift; `None` if the table does not list it.
#[must_use]
pub fn of_openshift(openshift: Minor) -> Option<Minor> {
    table().openshift.iter().find(|(version, _)| *version == openshift).map(|(_, kubernetes)| *kubernetes)
}

/// Returns the version of OpenShift that contains a version of Kubernetes; `None` if the table lists none.
#[must_use]
pub fn openshift_of(kubernetes: Minor) -> Option<Minor> {
    table().openshift.iter().find(|(_, version)| *version == kubernetes).map(|(openshift, _)| *openshift)
}

/// Returns the versions of OpenShift, each with its version of Kubernetes, the oldest first.
#[must_use]
pub fn openshift_versions() -> &'static [(Minor, Minor)] {
    &table().openshift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_complete_and_ascending() {
        let lines = TABLE.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(lines, 1 + releases().len() + openshift_versions().len() + programs().len());
        assert!(releases().windows(2).all(|pair| pair[0].minor.number() + 1 == pair[1].minor.number()));
        assert!(openshift_versions().windows(2).all(|pair| pair[0] < pair[1]));
        for release in releases() {
            assert!(release.released < release.end_of_life && release.released <= updated(), "{release:?}");
            assert!(release.reproduced.starts_with(&format!("{}.", release.minor)), "{release:?}");
        }
    }

    #[test]
    fn openshift_and_kubernetes_name_each_other() {
        assert_eq!(of_openshift(Minor::openshift(17)), Some(Minor::kubernetes(30)));
        assert_eq!(openshift_of(Minor::kubernetes(30)), Some(Minor::openshift(17)));
        assert_eq!((of_openshift(Minor::openshift(99)), openshift_of(Minor::kubernetes(15))), (None, None));
    }
}
