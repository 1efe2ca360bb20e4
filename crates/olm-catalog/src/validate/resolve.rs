//! Resolves the references between the blobs of a catalog, and validates them.
//!
//! Source: `alpha/declcfg/declcfg_to_model.go` and `alpha/model/model.go` of operator-registry.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::blob::{Blob, Bundle, Channel, Deprecations, Package, SourcePosition};
use super::graph;
use super::repair;
use kube_yaml::text::excerpt;
use olm_model::report::suggest;
use olm_model::report::suggest::nearest;
use olm_model::report::{Finding, Fix, Safety};
use olm_rules::{Rule, catalog};

/// How many names are looked up for a suggestion: it takes time, and only so many findings of a rule are shown.
const MAX_SUGGESTIONS: usize = 100;

/// A package with all that belongs to it. Of several blobs of one name the first counts.
#[derive(Debug)]
pub struct PackageGraph<'b> {
    /// The `olm.package` blob.
    pub package: &'b Package,
    /// The channels by name.
    pub channels: BTreeMap<&'b str, &'b Channel>,
    /// The bundles by name.
    pub bundles: BTreeMap<&'b str, &'b Bundle>,
    /// The `olm.deprecations` blob.
    pub deprecations: Option<&'b Deprecations>,
    /// The messages of what is deprecated, by schema and name. The package has no name.
    pub deprecated: BTreeMap<(&'b str, &'b str), &'b str>,
}

impl<'b> PackageGraph<'b> {
    /// Returns the message for users of the package (`olm.package`, without a name), a channel or a bundle, if it is deprecated.
    #[must_use]
    pub fn deprecation(&self, schema: &str, name: &str) -> Option<&'b str> {
        self.deprecated.get(&(schema, name)).copied()
    }

    /// Returns a channel of the package.
    ///
    /// # Errors
    /// The package does not have it.
    pub fn channel(&self, name: &str) -> Result<&'b Channel, UnknownChannel> {
        self.channels.get(name).copied().ok_or_else(|| UnknownChannel {
            package: self.package.name.clone(),
            channel: name.to_owned(),
            known: known(self).unwrap_or_else(|| "it has none".to_owned()),
        })
    }
}

/// A package does not have a channel.
#[derive(Debug, thiserror::Error)]
#[error("channel `{}` is not in package `{}`: {known}", excerpt(channel), excerpt(package))]
pub struct UnknownChannel {
    package: String,
    channel: String,
    /// The channels of the package.
    known: String,
}

/// The packages of a catalog by name.
pub type Packages<'b> = BTreeMap<&'b str, PackageGraph<'b>>;

/// Resolves the references between the blobs; returns the packages with the findings about them.
#[must_use]
pub fn resolve(blobs: &[Blob]) -> (Packages<'_>, Vec<Finding>) {
    let mut resolver = Resolver { findings: Vec::new(), suggestions: 0 };
    let mut packages = resolver.packages(blobs);
    for blob in blobs {
        match blob {
            Blob::Channel(channel) => resolver.channel(channel, &mut packages),
            Blob::Bundle(bundle) => resolver.bundle(bundle, &mut packages),
            Blob::Deprecations(deprecations) => resolver.deprecations(deprecations, &mut packages),
            Blob::Package(_) | Blob::Other { .. } | Blob::Invalid => {}
        }
    }
    for linked in packages.values() {
        resolver.package(linked);
    }
    // Of all channels, also those that have no package or are duplicates.
    for blob in blobs {
        if let Blob::Channel(channel) = blob
            && !channel.is_incomplete
        {
            let package = packages.get(channel.package.as_str());
            let version = |name: &str| package?.bundles.get(name)?.version.as_ref();
            graph::check(channel, version, &mut resolver.findings);
        }
    }
    (packages, resolver.findings)
}

struct Resolver {
    findings: Vec<Finding>,
    /// How many names were looked up for a suggestion.
    suggestions: usize,
}

impl Resolver {
    fn report(&mut self, rule: &Rule, place: &SourcePosition, path: &str, message: impl Into<String>) {
        self.propose(rule, place, path, message, None, None);
    }

    /// Returns the name that is likely meant, and whether no other name is.
    fn near<'n>(
        &mut self,
        name: &str,
        names: impl Iterator<Item = &'n str> + Clone,
    ) -> Option<(&'n str, bool)> {
        self.suggestions += 1;
        if self.suggestions > MAX_SUGGESTIONS {
            return None;
        }
        let near = nearest(name, names.clone())?;
        Some((near, nearest(name, names.filter(|other| *other != near)).is_none()))
    }

    /// Returns the bundle whose name differs in case alone, and whether no other one does: another version is no misspelling.
    fn near_bundle<'b>(&mut self, name: &str, linked: &PackageGraph<'b>) -> Option<(&'b str, bool)> {
        self.suggestions += 1;
        if self.suggestions > MAX_SUGGESTIONS {
            return None;
        }
        let mut same = linked.bundles.keys().copied().filter(|other| other.eq_ignore_ascii_case(name));
        same.next().map(|near| (near, same.next().is_none()))
    }

    fn propose(
        &mut self,
        rule: &Rule,
        place: &SourcePosition,
        path: &str,
        message: impl Into<String>,
        proposal: Option<String>,
        fix: Option<Fix>,
    ) {
        let finding = place.finding(rule, path, message);
        self.findings.push(repair::with(finding, proposal, fix));
    }

    fn packages<'b>(&mut self, blobs: &'b [Blob]) -> Packages<'b> {
        let mut packages = Packages::new();
        for blob in blobs {
            let Blob::Package(package) = blob else { continue };
            if let Some(first) = packages.get(package.name.as_str()) {
                let message =
                    format!("duplicate package `{}`: first defined at {}", package.name, first.package.place);
                self.report(&catalog::PACKAGE_DUPLICATE, &package.place, "name", message);
                continue;
            }
            packages.insert(
                &package.name,
                PackageGraph {
                    package,
                    channels: BTreeMap::new(),
                    bundles: BTreeMap::new(),
                    deprecations: None,
                    deprecated: BTreeMap::new(),
                },
            );
        }
        packages
    }

    /// Finds the package of a blob, or reports that there is none.
    fn find<'p, 'b>(
        &mut self,
        packages: &'p mut Packages<'b>,
        name: &str,
        of: &str,
        place: &SourcePosition,
    ) -> Option<&'p mut PackageGraph<'b>> {
        if name.is_empty() {
            self.report(
                &catalog::PACKAGE_NAME_MISSING,
                place,
                "package",
                format!("{of} does not specify its package"),
            );
            return None;
        }
        if !packages.contains_key(name) {
            let message = format!("{of} belongs to package `{name}`, which is not in the catalog");
            let near = self.near(name, packages.keys().copied());
            let proposal = near.map(|(near, _)| {
                format!("correct `package` if `{near}` is meant; otherwise, add the `olm.package` blob")
            });
            let fix = sole(near).map(|near| repair::set(Safety::Unsafe, "package", near));
            self.propose(&catalog::PACKAGE_UNKNOWN, place, "package", message, proposal, fix);
        }
        packages.get_mut(name)
    }

    fn channel<'b>(&mut self, channel: &'b Channel, packages: &mut Packages<'b>) {
        let of = format!("channel `{}`", channel.name);
        let Some(linked) = self.find(packages, &channel.package, &of, &channel.package_place) else { return };
        if let Some(first) = linked.channels.get(channel.name.as_str()) {
            let message = format!("duplicate {of}: first defined at {}", first.place);
            self.report(&catalog::CHANNEL_DUPLICATE, &channel.place, "name", message);
            return;
        }
        linked.channels.insert(&channel.name, channel);
    }

    fn bundle<'b>(&mut self, bundle: &'b Bundle, packages: &mut Packages<'b>) {
        let of = format!("bundle `{}`", bundle.name);
        let Some(linked) = self.find(packages, &bundle.package, &of, &bundle.package_place) else { return };
        if let Some(first) = linked.bundles.get(bundle.name.as_str()) {
            let message = format!("duplicate {of}: first defined at {}", first.place);
            self.report(&catalog::BUNDLE_DUPLICATE, &bundle.place, "name", message);
            return;
        }
        linked.bundles.insert(&bundle.name, bundle);
    }

    fn deprecations<'b>(&mut self, deprecations: &'b Deprecations, packages: &mut Packages<'b>) {
        let of = "the deprecation";
        let Some(linked) = self.find(packages, &deprecations.package, of, &deprecations.package_place) else {
            return;
        };
        if let Some(first) = linked.deprecations {
            let message =
                format!("package `{}` already has deprecations at {}", deprecations.package, first.place);
            self.report(&catalog::DEPRECATION_DUPLICATE, &deprecations.place, "package", message);
            return;
        }
        linked.deprecations = Some(deprecations);
        for entry in &deprecations.entries {
            linked.deprecated.entry((&entry.schema, &entry.name)).or_insert(&entry.message);
        }
    }

    fn package(&mut self, linked: &PackageGraph<'_>) {
        let package = linked.package;
        if !package.is_incomplete {
            if package.default_channel.is_empty() {
                let message = format!("package `{}` has no default channel", package.name);
                let is_set = package.default_channel_place != package.place;
                let fix = only_channel(linked).map(|channel| {
                    if is_set {
                        repair::set(Safety::Safe, "defaultChannel", channel)
                    } else {
                        repair::insert(Safety::Safe, "", "defaultChannel", channel)
                    }
                });
                let place = &package.place;
                self.propose(&catalog::DEFAULT_CHANNEL_MISSING, place, "defaultChannel", message, None, fix);
            } else if !linked.channels.contains_key(package.default_channel.as_str()) {
                let message = match known(linked) {
                    Some(known) => format!(
                        "default channel `{}` is not a channel of package `{}`: {known}",
                        package.default_channel, package.name
                    ),
                    None => format!("default channel `{}` does not exist", package.default_channel),
                };
                let near = self.near(&package.default_channel, linked.channels.keys().copied());
                let set = |safety| move |channel: &str| repair::set(safety, "defaultChannel", channel);
                let proposal = near.map(|(near, _)| format!("set `defaultChannel: {near}`"));
                let fix = only_channel(linked).map(set(Safety::Safe));
                let fix = fix.or_else(|| sole(near).map(set(Safety::Unsafe)));
                self.propose(
                    &catalog::DEFAULT_CHANNEL_UNKNOWN,
                    &package.default_channel_place,
                    "defaultChannel",
                    message,
                    proposal,
                    fix,
                );
            }
        }
        if linked.channels.is_empty() {
            let message = format!("package `{}` has no channels", package.name);
            self.report(&catalog::PACKAGE_CHANNEL_MISSING, &package.place, "", message);
        }
        self.entries(linked);
        self.heads(linked);
        self.versions(linked);
        if let Some(deprecations) = linked.deprecations {
            self.deprecated(deprecations, linked);
        }
    }

    /// Every entry has a bundle, every bundle an entry.
    fn entries(&mut self, linked: &PackageGraph<'_>) {
        let entries: HashSet<&str> = linked
            .channels
            .values()
            .flat_map(|channel| channel.entries.iter().map(|entry| entry.name.as_str()))
            .collect();
        for channel in linked.channels.values() {
            for (index, entry) in channel.entries.iter().enumerate() {
                let place = channel.place_of(entry);
                let Some(bundle) = linked.bundles.get(entry.name.as_str()) else {
                    // An entry without a name is a finding of its own.
                    if !entry.name.is_empty() {
                        let message = format!(
                            "channel `{}` has entry `{}`, but there is no such bundle",
                            channel.name, entry.name
                        );
                        // Another version is no misspelling: only bundles that no channel has are likely to be meant.
                        let unused = linked.bundles.keys().copied().filter(|name| !entries.contains(name));
                        let near = self.near(&entry.name, unused);
                        let path = format!("entries[{index}].name");
                        let fix = sole(near).map(|near| repair::set(Safety::Unsafe, &path, near));
                        let proposal = near.map(|(near, _)| {
                            format!("correct the name if `{near}` is meant; otherwise, add the `olm.bundle` blob or remove the entry")
                        });
                        let rule = &catalog::CHANNEL_BUNDLE_MISSING;
                        self.propose(rule, &place, "entries", message, proposal, fix);
                    }
                    continue;
                };
                let replaced =
                    linked.bundles.get(entry.replaces.as_str()).and_then(|old| old.version.as_ref());
                if let (Some(new), Some(old)) = (&bundle.version, replaced)
                    && new.cmp_precedence(old).is_lt()
                {
                    let message = format!(
                        "`{}` of version {new} replaces `{}` of the higher version {old}",
                        entry.name, entry.replaces
                    );
                    self.report(&catalog::CHANNEL_VERSION_DECREASES, &place, "entries", message);
                }
            }
        }
        if linked.channels.values().any(|channel| channel.is_incomplete) {
            return;
        }
        for bundle in linked.bundles.values().filter(|bundle| !entries.contains(bundle.name.as_str())) {
            let message =
                format!("bundle `{}` is not in any channel of package `{}`", bundle.name, bundle.package);
            self.report(&catalog::BUNDLE_NOT_IN_CHANNEL, &bundle.place, "name", message);
        }
    }

    /// The head of a channel describes the package to users.
    fn heads(&mut self, linked: &PackageGraph<'_>) {
        let mut channels: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for channel in linked.channels.values() {
            if let [head] = graph::heads(channel)[..] {
                channels.entry(head.name.as_str()).or_default().push(format!("`{}`", channel.name));
            }
        }
        for (name, of) in channels {
            let Some(bundle) = linked.bundles.get(name) else { continue };
            if !bundle.has_metadata && bundle.objects.is_none() {
                const MAX_NAMES: usize = 10;
                let plural = if of.len() == 1 { "" } else { "s" };
                let more = if of.len() > MAX_NAMES { ", …" } else { "" };
                let of = of[..of.len().min(MAX_NAMES)].join(", ");
                let message = format!(
                    "bundle `{name}` is the head of channel{plural} {of}{more} and has neither `olm.csv.metadata` nor `olm.bundle.object`"
                );
                self.report(&catalog::CHANNEL_HEAD_WITHOUT_METADATA, &bundle.place, "properties", message);
            }
        }
    }

    fn versions(&mut self, linked: &PackageGraph<'_>) {
        let mut seen: HashMap<String, &Bundle> = HashMap::new();
        for bundle in linked.bundles.values() {
            let Some(version) = bundle.version_and_release() else { continue };
            if let Some(other) = seen.get(&version) {
                let message =
                    format!("bundles `{}` and `{}` have the same version {version}", other.name, bundle.name);
                self.report(&catalog::BUNDLE_VERSION_DUPLICATE, &bundle.place, "properties", message);
            } else {
                seen.insert(version, bundle);
            }
        }
    }

    fn deprecated(&mut self, deprecations: &Deprecations, linked: &PackageGraph<'_>) {
        let mut seen = HashMap::new();
        // Without its last entry, a list in block style would be null.
        let is_last = deprecations.entries.len() == 1;
        let remove = |index: usize, what: &str| {
            let path = if is_last { String::new() } else { format!("entries[{index}]") };
            repair::remove(Safety::Safe, &path, what)
        };
        for (index, deprecation) in deprecations.entries.iter().enumerate() {
            let path = format!("entries[{index}].reference");
            let (schema, name) = (deprecation.schema.as_str(), deprecation.name.as_str());
            let place = &deprecation.place;
            if let Some(first) = seen.get(&(schema, name)) {
                let message = format!("duplicate deprecation of {schema} `{name}`");
                let is_same = *first == deprecation.message;
                let fix = is_same.then(|| remove(index, "the second deprecation, which equals the first"));
                self.propose(&catalog::DEPRECATION_DUPLICATE, place, &path, message, None, fix);
                continue;
            }
            seen.insert((schema, name), deprecation.message.as_str());
            let is_known = match schema {
                "olm.package" if name.is_empty() => true,
                "olm.package" => {
                    let message =
                        format!("a deprecation of the package must not have a name, found `{name}`");
                    let is_package = name == linked.package.name;
                    let removed = format!("{path}.name");
                    let fix = is_package.then(|| repair::remove(Safety::Safe, &removed, "`name`"));
                    let rule = &catalog::DEPRECATION_REFERENCE_INVALID;
                    self.propose(rule, place, &path, message, None, fix);
                    true
                }
                "olm.channel" => linked.channels.contains_key(name),
                "olm.bundle" => linked.bundles.contains_key(name),
                "" => {
                    let message = "missing required field `reference.schema`";
                    self.report(&catalog::DEPRECATION_REFERENCE_INVALID, place, &path, message);
                    true
                }
                other => {
                    let message = format!(
                        "invalid schema `{other}`: expected `olm.package`, `olm.channel` or `olm.bundle`"
                    );
                    self.report(&catalog::DEPRECATION_REFERENCE_INVALID, place, &path, message);
                    true
                }
            };
            if !is_known {
                let what = if schema == "olm.channel" { "channel" } else { "bundle" };
                let message = format!("{what} `{name}` is not in package `{}`", linked.package.name);
                let near = if schema == "olm.channel" {
                    self.near(name, linked.channels.keys().copied())
                } else {
                    self.near_bundle(name, linked)
                };
                let proposal = near.map(|(near, _)| format!("set `name: {near}`, or remove the deprecation"));
                let named = format!("{path}.name");
                let fix = match near {
                    Some(_) => sole(near).map(|near| repair::set(Safety::Unsafe, &named, near)),
                    // Nothing is known of names that were not looked up.
                    None if self.suggestions > MAX_SUGGESTIONS => None,
                    None => Some(remove(index, &format!("the deprecation of {what} `{name}`"))),
                };
                self.propose(&catalog::DEPRECATION_TARGET_UNKNOWN, place, &path, message, proposal, fix);
            }
        }
    }
}

/// Returns the name that is likely meant, if no other one is.
fn sole(near: Option<(&str, bool)>) -> Option<&str> {
    near.filter(|(_, is_only)| *is_only).map(|(name, _)| name)
}

/// Returns the only channel of a package.
fn only_channel<'b>(linked: &PackageGraph<'b>) -> Option<&'b str> {
    linked.channels.keys().copied().next().filter(|_| linked.channels.len() == 1)
}

/// The channels of a package for a message.
fn known(linked: &PackageGraph<'_>) -> Option<String> {
    let names = suggest::listed(linked.channels.keys().copied())?;
    Some(format!("its channels are {names}"))
}
