//! What changes from one catalog to the next, for catalogs and for clusters that follow their channels.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::upgrade::{Olm, Upgrades};
use super::validate::{Channel, Entry, PackageGraph, Packages, heads};
use kube_yaml::text::null_if_empty;

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Difference {
    /// The package.
    pub package: String,
    /// What happened.
    pub kind: Kind,
    /// What it happened to: `channel stable`, `bundle gizmo.v1.0.0`; the package itself if empty.
    #[serde(serialize_with = "null_if_empty")]
    pub subject: String,
    /// The value before; empty where there is none.
    #[serde(serialize_with = "null_if_empty")]
    pub old: String,
    /// The value after; empty where there is none.
    #[serde(serialize_with = "null_if_empty")]
    pub new: String,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Only the new catalog has it.
    Added,
    /// Only the old catalog has it.
    Removed,
    /// Both have it, with different values.
    Changed,
    /// A cluster with this bundle no longer reaches the head of its channel.
    Stranded,
}

/// Returns the differences, by package; with `upgrades` also what OLM v0 would upgrade each bundle to next.
#[must_use]
pub fn diff(old: &Packages<'_>, new: &Packages<'_>, upgrades: bool) -> Vec<Difference> {
    let mut differ = Differ { package: "", upgrades, found: Vec::new() };
    let names: BTreeSet<&str> = old.keys().chain(new.keys()).copied().collect();
    for name in names {
        differ.package = name;
        match (old.get(name), new.get(name)) {
            (Some(old), Some(new)) => differ.packages(old, new),
            (Some(_), None) => differ.report(Kind::Removed, "", "", ""),
            (None, Some(_)) => differ.report(Kind::Added, "", "", ""),
            (None, None) => {}
        }
    }
    differ.found
}

struct Differ<'a> {
    package: &'a str,
    upgrades: bool,
    found: Vec<Difference>,
}

impl Differ<'_> {
    fn report(&mut self, kind: Kind, subject: &str, old: &str, new: &str) {
        self.found.push(Difference {
            package: self.package.to_owned(),
            kind,
            subject: subject.to_owned(),
            old: old.to_owned(),
            new: new.to_owned(),
        });
    }

    fn changed(&mut self, subject: &str, old: &str, new: &str) {
        if old != new {
            self.report(Kind::Changed, subject, old, new);
        }
    }

    fn packages(&mut self, old: &PackageGraph<'_>, new: &PackageGraph<'_>) {
        self.changed("default channel", &old.package.default_channel, &new.package.default_channel);
        let channels: BTreeSet<&str> = old.channels.keys().chain(new.channels.keys()).copied().collect();
        for name in channels {
            let subject = format!("channel {name}");
            match (old.channels.get(name), new.channels.get(name)) {
                (Some(_), None) => self.report(Kind::Removed, &subject, "", ""),
                (None, Some(channel)) => self.report(Kind::Added, &subject, "", &head(channel)),
                (Some(before), Some(after)) => {
                    self.changed(&format!("head of {subject}"), &head(before), &head(after));
                    self.entries(name, before, after);
                    self.stranded(old, new, before, after);
                }
                (None, None) => {}
            }
        }
        let bundles: BTreeSet<&str> = old.bundles.keys().chain(new.bundles.keys()).copied().collect();
        for name in bundles {
            let subject = format!("bundle {name}");
            match (old.bundles.get(name), new.bundles.get(name)) {
                (Some(_), None) => self.report(Kind::Removed, &subject, "", ""),
                (None, Some(bundle)) => self.report(Kind::Added, &subject, "", &bundle.image),
                (Some(before), Some(after)) => {
                    self.changed(&format!("image of {subject}"), &before.image, &after.image);
                    let version =
                        |bundle: &super::validate::Bundle| bundle.version_and_release().unwrap_or_default();
                    self.changed(&format!("version of {subject}"), &version(before), &version(after));
                }
                (None, None) => {}
            }
        }
        let (before, after) = (deprecations(old), deprecations(new));
        let all: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for what in all {
            let subject = format!("deprecation of {what}");
            match (before.get(what), after.get(what)) {
                (Some(_), None) => self.report(Kind::Removed, &subject, "", ""),
                (None, Some(message)) => self.report(Kind::Added, &subject, "", message),
                (Some(old), Some(new)) => self.changed(&subject, old, new),
                (None, None) => {}
            }
        }
    }

    fn entries(&mut self, channel: &str, old: &Channel, new: &Channel) {
        let by_name = |channel: &Channel| -> BTreeMap<String, Entry> {
            channel.entries.iter().map(|entry| (entry.name.clone(), entry.clone())).collect()
        };
        let (before, after) = (by_name(old), by_name(new));
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for name in names {
            let subject = format!("entry {name} of channel {channel}");
            match (before.get(name), after.get(name)) {
                (Some(_), None) => self.report(Kind::Removed, &subject, "", ""),
                (None, Some(entry)) => self.report(Kind::Added, &subject, "", &edges(entry)),
                (Some(old), Some(new)) => self.changed(&subject, &edges(old), &edges(new)),
                (None, None) => {}
            }
        }
    }

    /// Reports the bundles that reached a head of the channel before, and do not now, with OLM v0.
    fn stranded(
        &mut self,
        old: &PackageGraph<'_>,
        new: &PackageGraph<'_>,
        before: &Channel,
        after: &Channel,
    ) {
        let bundles = || {
            before.entries.iter().map(|entry| {
                let bundle = old.bundles.get(entry.name.as_str());
                (entry.name.clone(), bundle.and_then(|bundle| bundle.version.clone()))
            })
        };
        let names = |channel: &Channel| -> HashSet<String> {
            heads(channel).iter().map(|head| head.name.clone()).collect()
        };
        let (old_upgrades, new_upgrades) =
            (Upgrades::new(old, before, Olm::V0), Upgrades::new(new, after, Olm::V0));
        if self.upgrades {
            for (name, version) in bundles() {
                let next = |upgrades: &Upgrades<'_>| {
                    upgrades.next(&name, version.as_ref()).map(|step| step.to).unwrap_or_default()
                };
                let subject = format!("upgrade from {name} in channel {}", after.name);
                self.changed(&subject, &next(&old_upgrades), &next(&new_upgrades));
            }
        }
        let (was, is) = (old_upgrades.ends(old, bundles()), new_upgrades.ends(new, bundles()));
        let (old_heads, new_heads) = (names(before), names(after));
        for entry in &before.entries {
            let (Some(was), Some(is)) = (was.get(&entry.name), is.get(&entry.name)) else { continue };
            if old_heads.contains(was) && !new_heads.contains(is) {
                let subject = format!("{} in channel {}", entry.name, after.name);
                // Nothing where there is no upgrade at all.
                let is = if *is == entry.name { "" } else { is };
                self.report(Kind::Stranded, &subject, was, is);
            }
        }
    }
}

fn head(channel: &Channel) -> String {
    let names: Vec<&str> = heads(channel).iter().map(|entry| entry.name.as_str()).collect();
    names.join(", ")
}

/// Returns the edges of an entry for people.
fn edges(entry: &Entry) -> String {
    let mut parts = Vec::new();
    if !entry.replaces.is_empty() {
        parts.push(format!("replaces {}", entry.replaces));
    }
    if !entry.skips.is_empty() {
        let mut skips = entry.skips.clone();
        skips.sort();
        parts.push(format!("skips {}", skips.join(" ")));
    }
    if !entry.skip_range.is_empty() {
        parts.push(format!("skipRange {}", entry.skip_range));
    }
    parts.join(", ")
}

fn deprecations(linked: &PackageGraph<'_>) -> BTreeMap<String, String> {
    let deprecated = linked.deprecated.iter().map(|((schema, name), message)| {
        let what = match *schema {
            "olm.channel" => format!("channel {name}"),
            "olm.bundle" => format!("bundle {name}"),
            _ => "the package".to_owned(),
        };
        (what, (*message).to_owned())
    });
    deprecated.collect()
}
