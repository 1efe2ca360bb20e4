//! `bundle-tool catalog prune`, `deprecate` and `migrate`: what changes, and what keeps its bytes.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use base64::Engine as _;
use olm_catalog::prune::{Keep, PruneError, prune};
use olm_catalog::validate;
use olm_catalog::validate::{Blob, Shape, resolve, shape};
use olm_model::read::catalog::{Content, Limits, Source, documents};
use olm_model::version::{Range, Version};
use proptest::prelude::*;

use crate::support::{Run, run};

const VALID: &str = include_str!("../fixtures/catalog/valid.yaml");

fn tool(directory: &Path, arguments: &[&str]) -> Run {
    run(directory, &[&["catalog"], arguments].concat())
}

fn passes(directory: &Path, arguments: &[&str]) {
    let output = tool(directory, arguments);
    assert_eq!(output.status, Some(0), "{arguments:?}: {}", output.stderr);
}

/// A catalog with comments and styles of its own.
fn commented() -> String {
    VALID
        .replace("schema: olm.package\n", "# The package.\nschema:   olm.package # as it is\n")
        .replace("- name: gizmo.v1.0.0\n", "# The first one\n- name: gizmo.v1.0.0\n# then\n")
        .replace(
            "- reference: {schema: olm.channel, name: stable}\n",
            "# because of fast\n- reference: {schema: olm.channel, name: stable}\n",
        )
        + "# at the end\n"
}

#[test]
fn deprecations_are_added_changed_and_removed_in_place() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c/catalog.yaml");
    fs::create_dir(dir.path().join("c")).unwrap();
    let before = commented();
    fs::write(&path, &before).unwrap();
    let bundle =
        ["deprecate", "c", "--package", "gizmo", "--bundle", "gizmo.v1.1.0", "--message", "leaks memory"];
    passes(dir.path(), &bundle);
    let after = fs::read_to_string(&path).unwrap();
    let added = "- message: leaks memory\n  reference:\n    name: gizmo.v1.1.0\n    schema: olm.bundle\n";
    assert_eq!(after, before.replace("  message: too old\n", &format!("  message: too old\n{added}")));
    passes(dir.path(), &["deprecate", "c", "--package", "gizmo", "--bundle", "gizmo.v1.1.0", "--undo"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), before);
    // All three: the blob goes.
    passes(dir.path(), &["deprecate", "c", "--package", "gizmo", "--undo"]);
    passes(
        dir.path(),
        &[
            "deprecate",
            "c",
            "--package",
            "gizmo",
            "--channel",
            "stable",
            "--bundle",
            "gizmo.v1.0.0",
            "--undo",
        ],
    );
    let without = fs::read_to_string(&path).unwrap();
    assert!(
        !without.contains("olm.deprecations") && without.contains("text: kept\n# at the end\n"),
        "{without}"
    );
    passes(dir.path(), &["deprecate", "c", "--package", "gizmo", "--message", "use gadget"]);
    let again = fs::read_to_string(&path).unwrap();
    assert!(
        again.starts_with(&without) && again.ends_with("package: gizmo\nschema: olm.deprecations\n"),
        "{again}"
    );
    for (arguments, message) in [
        (&["--package", "gadget", "--message", "x"][..], "package `gadget` is not in the catalog"),
        (
            &["--package", "gizmo", "--channel", "slow", "--message", "x"],
            "channel `slow` is not in package `gizmo`: its channels are `fast`, `stable`",
        ),
        (&["--package", "gizmo", "--bundle", "x", "--message", "x"], "bundle `x` is not in package `gizmo`"),
        (&["--package", "gizmo", "--channel", "fast", "--undo"], "not deprecated"),
        (&["--package", "gizmo", "--message", " "], "--message must not be empty"),
    ] {
        let output = tool(dir.path(), &[&["deprecate", "c"], arguments].concat());
        assert_eq!(output.status, Some(2));
        assert!(output.stderr.contains(message), "{message}: {}", output.stderr);
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), again);
}

#[test]
fn objects_become_metadata_and_nothing_else_changes() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("c")).unwrap();
    let csv = "{\"kind\":\"ClusterServiceVersion\",\"metadata\":{\"name\":\"gizmo.v1.0.0\",\"annotations\":{\"alm-examples\":\"[]\",\"a\":\"b\"}},\"spec\":{\"displayName\":\"Gizmo\",\"customresourcedefinitions\":{\"owned\":[{\"name\":\"a.b\",\"kind\":\"A\",\"version\":\"v1\",\"specDescriptors\":[{\"path\":\"x\"}]}]}}}";
    let object = |text: &str| {
        let data = base64::engine::general_purpose::STANDARD.encode(text);
        format!("- type: olm.bundle.object\n  value: {{data: {data}}}\n")
    };
    let before = commented().replace(
        "relatedImages:\n",
        &format!("{}{}# images\nrelatedImages:\n", object("{\"kind\":\"ConfigMap\"}"), object(csv)),
    );
    fs::write(dir.path().join("c/catalog.yaml"), &before).unwrap();
    let render = run(dir.path(), &["render", "c", "--minimal", "-o", "yaml"]);
    let text = &render.stdout;
    assert!(
        !text.contains("alm-examples")
            && !text.contains("specDescriptors")
            && text.contains("displayName: Gizmo")
    );
    assert!(
        render.stderr.contains("from 1 bundle: alm-examples of 1, descriptors and resources of 1 API"),
        "{}",
        render.stderr
    );
    passes(dir.path(), &["migrate", "c"]);
    let after = fs::read_to_string(dir.path().join("c/catalog.yaml")).unwrap();
    assert!(!after.contains("olm.bundle.object") && after.contains("alm-examples"), "{after}");
    let end = "# images\nrelatedImages:\n- name: manager\n";
    let (head, tail) = (before.split_once("properties:").unwrap().0, before.split_once(end).unwrap().1);
    assert!(after.starts_with(head) && after.ends_with(&format!("{end}{tail}")), "{after}");
    // Again: nothing changes. A copy has the layout of opm.
    passes(dir.path(), &["migrate", "c"]);
    assert_eq!(fs::read_to_string(dir.path().join("c/catalog.yaml")).unwrap(), after);
    passes(dir.path(), &["migrate", "c", "--output-dir", "d", "--minimal", "-o", "yaml"]);
    assert!(
        fs::read_to_string(dir.path().join("d/gizmo/catalog.yaml")).unwrap().contains("olm.csv.metadata")
    );
    assert!(fs::read_to_string(dir.path().join("d/catalog.yaml")).unwrap().contains("vendor.note"));
    let again = tool(dir.path(), &["migrate", "c", "--output-dir", "d"]);
    assert!(again.status == Some(2) && again.stderr.contains("d is not empty"));
}

#[test]
fn a_pruned_catalog_keeps_its_other_bytes() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("c")).unwrap();
    let other = "---\nschema: olm.package\nname: gadget\ndefaultChannel: a\n---\nschema: olm.channel\npackage: gadget\nname: a\nentries:\n- name: gadget.v1.0.0\n---\nschema: olm.bundle\npackage: gadget\nname: gadget.v1.0.0\nimage: quay.io/a/b:v1\nproperties:\n- type: olm.package\n  value: {packageName: gadget, version: 1.0.0}\n";
    let before = commented() + other;
    fs::write(dir.path().join("c/catalog.yaml"), &before).unwrap();
    fs::write(dir.path().join("c/gadget.json"), "{\"schema\": \"vendor.note\", \"package\": \"gadget\"}\n")
        .unwrap();
    passes(dir.path(), &["prune", "c", "--keep", "gizmo@>=1.1.0", "--output-dir", "d"]);
    assert_eq!(fs::read_to_string(dir.path().join("c/catalog.yaml")).unwrap(), before);
    let expected = commented();
    let first = expected.find("---\nschema: olm.bundle\nname: gizmo.v1.0.0\n").unwrap();
    let second = expected.find("---\nschema: olm.bundle\nname: gizmo.v1.1.0\n").unwrap();
    let expected = format!("{}{}", &expected[..first], &expected[second..])
        .replace("# The first one\n- name: gizmo.v1.0.0\n", "")
        .replace("- reference: {schema: olm.bundle, name: gizmo.v1.0.0}\n  message: too old\n", "");
    assert_eq!(fs::read_to_string(dir.path().join("d/catalog.yaml")).unwrap(), expected);
    assert!(!dir.path().join("d/gadget.json").exists());
    // In place, by channel: the default channel follows where only one is left.
    passes(dir.path(), &["prune", "c", "--keep", "gizmo/fast"]);
    let after = fs::read_to_string(dir.path().join("c/catalog.yaml")).unwrap();
    assert!(after.contains("defaultChannel: fast\n") && !after.contains("name: stable\n"), "{after}");
    assert!(after.starts_with("# The package.\nschema:   olm.package # as it is\n"), "{after}");
    assert!(!dir.path().join("c/gadget.json").exists());
    fs::write(dir.path().join("c/catalog.yaml"), &before).unwrap();
    for (arguments, code, message) in [
        (&["--keep", "widget"][..], 2, "package `widget` is not in the catalog"),
        (&["--keep", "gizmo", "--output-dir", "c/copies/new"], 2, "c/copies/new is inside the catalog"),
        (&["--keep", "gizmo/slow"], 2, "its channels are `fast`, `stable`"),
        (&["--keep", "gizmo@>=9.0.0"], 2, "no bundle of package `gizmo` is in the range"),
        (&["--keep", "gizmo@^1"], 2, "invalid range `^1`"),
        (&["--keep", "gizmo/"], 2, "expected PACKAGE, PACKAGE/CHANNEL"),
        (&["--keep", "gizmo", "--default-channel", "gadget=a"], 2, "package `gadget` is not in the catalog"),
        (
            &["--keep", "gizmo", "--default-channel", "gizmo=slow"],
            2,
            "channel `slow` is not in package `gizmo`: its channels are `fast`, `stable`",
        ),
    ] {
        let output = tool(dir.path(), &[&["prune", "c"], arguments].concat());
        assert_eq!(output.status, Some(code), "{}", output.stderr);
        assert!(output.stderr.contains(message), "{message}: {}", output.stderr);
    }
    assert_eq!(fs::read_to_string(dir.path().join("c/catalog.yaml")).unwrap(), before);
}

/// The blobs of a catalog's text.
fn blobs(text: &str) -> Vec<Blob> {
    let source = Source { name: "c.yaml".into(), content: Content::Bytes(text.into()) };
    documents([source], Limits::default(), |document| validate::decode(&document).blob).unwrap()
}

/// An entry of a random channel: what it replaces, skips, and from which version on its range begins, as numbers of entries.
#[derive(Debug, Clone)]
struct Random {
    replaces: Option<usize>,
    skips: Vec<usize>,
    range: Option<usize>,
}

fn catalog(entries: &[Random]) -> String {
    let mut text = "schema: olm.package\nname: p\ndefaultChannel: c\n---\nschema: olm.channel\npackage: p\nname: c\nentries:\n".to_owned();
    for (index, entry) in entries.iter().enumerate() {
        writeln!(text, "- name: p.v1.0.{index}").unwrap();
        if let Some(replaces) = entry.replaces {
            writeln!(text, "  replaces: p.v1.0.{replaces}").unwrap();
        }
        if !entry.skips.is_empty() {
            let skips: Vec<_> = entry.skips.iter().map(|skip| format!("p.v1.0.{skip}")).collect();
            writeln!(text, "  skips: [{}]", skips.join(", ")).unwrap();
        }
        if let Some(range) = entry.range {
            writeln!(text, "  skipRange: '>=1.0.{range} <1.0.{index}'").unwrap();
        }
    }
    for index in 0..entries.len() {
        writeln!(text, "---\nschema: olm.bundle\npackage: p\nname: p.v1.0.{index}\nimage: q.io/a:v1\nproperties:\n- {{type: olm.package, value: {{packageName: p, version: 1.0.{index}}}}}").unwrap();
    }
    text
}

/// The entries that an upgrade path leads to from each of the present ones, one edge after the other.
fn reached(entries: &[Random], present: &BTreeSet<usize>) -> BTreeMap<usize, HashSet<usize>> {
    let successors = |from: usize| {
        present.iter().copied().filter(move |&to| {
            let entry = &entries[to];
            entry.replaces == Some(from)
                || entry.skips.contains(&from)
                || entry.range.is_some_and(|range| (range..to).contains(&from))
        })
    };
    let all = present.iter().map(|&start| {
        let (mut seen, mut pending) = (HashSet::new(), vec![start]);
        while let Some(next) = pending.pop() {
            pending.extend(successors(next).filter(|to| seen.insert(*to)));
        }
        (start, seen)
    });
    all.collect()
}

fn random_entries() -> impl Strategy<Value = Vec<Random>> {
    let entry = |index: usize| {
        let lower = 0..index.max(1);
        (
            proptest::option::weighted(0.8, lower.clone()),
            proptest::collection::vec(lower.clone(), 0..3),
            proptest::option::weighted(0.3, lower),
        )
            .prop_map(move |(replaces, skips, range)| match index {
                0 => Random { replaces: None, skips: Vec::new(), range: None },
                _ => Random { replaces, skips, range },
            })
    };
    (1_usize..12).prop_flat_map(move |count| (0..count).map(entry).collect::<Vec<_>>()).prop_map(
        |mut entries| {
            // One head that leads to all: what nothing else leads to is skipped by the last entry.
            let last = entries.len() - 1;
            let led: HashSet<usize> =
                entries.iter().flat_map(|entry| entry.skips.iter().copied().chain(entry.replaces)).collect();
            let missing = (0..last).filter(|index| !led.contains(index));
            entries[last].skips.extend(missing.collect::<Vec<_>>());
            entries
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, max_global_rejects: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_upgrade_path_between_what_remains_is_still_there(
        entries in random_entries(),
        low in 0_usize..12,
        high in 0_usize..12,
        single in 0_usize..12,
    ) {
        let text = catalog(&entries);
        let blobs = blobs(&text);
        let (packages, _) = resolve(&blobs);
        let channel = packages["p"].channels["c"];
        prop_assume!(matches!(shape(channel), Shape::Whole(_)));
        let range = format!(">=1.0.{low} <=1.0.{high} || 1.0.{single}");
        let versions = Range::parse(&range).unwrap();
        let keep = Keep { package: "p".to_owned(), channel: None, versions: Some(versions.clone()) };
        let kept = match prune(&packages, &[keep], &BTreeMap::new()) {
            Ok(kept) => kept,
            // It says why it cannot: the reason names bundles, or nothing is in the range.
            Err(PruneError::Graph { reason, .. }) => {
                prop_assert!(reason.contains("`p.v1.0."), "{}", reason);
                return Ok(());
            }
            Err(PruneError::Nothing(_)) => {
                prop_assert!((0..entries.len()).all(|index| !versions.contains(&Version::new(1, 0, index as u64))));
                return Ok(());
            }
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        };
        let all: BTreeSet<usize> = (0..entries.len()).collect();
        let name = |index: usize| format!("p.v1.0.{index}");
        let left: BTreeSet<usize> = all.iter().copied().filter(|&index| kept["p"].has_bundle(&name(index))).collect();
        for &index in &all {
            let is_wanted = versions.contains(&Version::new(1, 0, index as u64));
            prop_assert!(!is_wanted || left.contains(&index), "{} is wanted", index);
        }
        let (before, after) = (reached(&entries, &all), reached(&entries, &left));
        for &from in &left {
            for &to in before[&from].intersection(&left.iter().copied().collect()) {
                prop_assert!(after[&from].contains(&to), "{} → {} is lost; left: {:?}", from, to, left);
            }
        }
        // And the channel that is left is one that opm accepts.
        let pruned = channel.with_entries(|entry| kept["p"].channels["c"].contains(entry.name.as_str()));
        prop_assert!(matches!(shape(&pruned), Shape::Whole(_)), "{:?}", shape(&pruned));
    }
}

#[test]
fn a_catalog_without_blobs_is_a_warning() {
    let scratch = tempfile::tempdir().unwrap();
    fs::create_dir(scratch.path().join("c")).unwrap();
    let output = tool(scratch.path(), &["validate", "c"]);
    assert_eq!(output.status, Some(0), "{}", output.stderr);
    assert_eq!(output.stderr, "warning: c contains no packages, channels or bundles\n");
}

#[test]
fn what_was_written_is_reported() {
    let scratch = tempfile::tempdir().unwrap();
    crate::support::bundle_and_catalog(scratch.path());
    let run = |arguments: &[&str]| {
        let output = tool(scratch.path(), arguments);
        assert_eq!((output.status, output.stdout.as_str()), (Some(0), ""), "{}", output.stderr);
        output.stderr
    };
    let package = ["deprecate", "catalog", "--package", "gizmo-operator"];
    let image = "quay.io/example/gizmo-bundle:v1";
    let printed = [
        run(&["add", "catalog", "bundle", "--image", image]),
        run(&[&package[..], &["--message", "moved"]].concat()),
        run(&[&package[..], &["--channel", "stable", "--bundle", "gizmo-operator.v1.2.0", "--message", "x"]]
            .concat()),
        run(&[&package[..], &["--undo"]].concat()),
        run(&["migrate", "catalog", "--output-dir", "migrated"]),
        run(&[&package[..], &["--message", "moved", "--quiet"]].concat()),
    ];
    insta::assert_snapshot!("catalog-written", printed.concat());
}
