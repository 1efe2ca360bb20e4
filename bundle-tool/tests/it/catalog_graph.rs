//! `bundle-tool catalog graph`, `diff` and `explain-upgrade`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{Run, run};

const VALID: &str = include_str!("../fixtures/catalog/valid.yaml");

fn tool(directory: &Path, arguments: &[&str]) -> Run {
    run(directory, &[&["catalog"], arguments].concat())
}

fn assert_text(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

#[test]
fn a_graph_is_shown_as_text_mermaid_and_dot() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("c.yaml"), VALID).unwrap();
    let mut all = String::new();
    for format in ["text", "mermaid", "dot"] {
        let output = tool(dir.path(), &["graph", ".", "--output", format]);
        assert_eq!(output.status, Some(0));
        all.extend(["# ", format, "\n", &output.stdout, "\n"]);
    }
    assert_text("catalog-graph", &all);
    let one = tool(dir.path(), &["graph", "c.yaml", "--package", "gizmo", "--channel", "fast"]);
    assert_eq!(one.stdout, "gizmo (deprecated)\n  fast\n    ● gizmo.v1.2.0 head\n");
    for arguments in [&["--package", "gadget"][..], &["--channel", "slow"]] {
        let output = tool(dir.path(), &[&["graph", "c.yaml"], arguments].concat());
        assert_eq!(output.status, Some(2));
        assert!(output.stderr.contains("is not in the catalog"));
    }
}

#[test]
fn a_broken_graph_is_also_shown_and_names_are_escaped() {
    let dir = tempfile::tempdir().unwrap();
    let broken = VALID
        .replace("- name: gizmo.v1.0.0\n", "- name: gizmo.v1.0.0\n  replaces: gizmo.v1.2.0\n")
        .replace("name: fast", "name: \"f\\\"]\\n  evil --> n1\\e[1m\"");
    fs::write(dir.path().join("c.yaml"), broken).unwrap();
    for format in ["text", "mermaid", "dot"] {
        let output = tool(dir.path(), &["graph", ".", "--output", format]);
        let text = output.stdout;
        assert_eq!(output.status, Some(0));
        assert!(!text.contains("\n  evil") && !text.contains('\u{1b}'), "{text}");
        assert!(text.contains("gizmo.v1.0.0"), "{text}");
    }
}

#[test]
fn upgrades_are_those_of_both_versions_of_olm() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("c.yaml"), VALID).unwrap();
    let mut all = String::new();
    for (from, channel, code) in [
        ("1.0.0", "stable", 0),
        ("gizmo.v1.1.0", "stable", 0),
        ("gizmo.v1.2.0", "stable", 0),
        ("gizmo.v0.9.0", "stable", 0),
        ("gizmo.v0.8.0", "stable", 1),
        ("gizmo.v1.0.0", "fast", 1),
    ] {
        let arguments =
            ["explain-upgrade", ".", "--package", "gizmo", "--channel", channel, "--installed", from];
        let output = tool(dir.path(), &arguments);
        assert_eq!(output.status, Some(code), "{from}: {}", output.stderr);
        all.extend(["# ", from, ", ", channel, "\n", &output.stdout, "\n"]);
    }
    // A version as tags have it is the same version, also of a bundle that is no longer in the catalog.
    let stdout = |installed: &str| {
        let arguments = ["explain-upgrade", ".", "--package", "gizmo", "--installed", installed];
        tool(dir.path(), &arguments).stdout
    };
    assert_eq!(stdout("v1.0.0"), stdout("1.0.0"));
    assert_eq!(stdout("v1.0.1"), stdout("1.0.1").replace("1.0.1", "v1.0.1"));
    // Without the range, both take each step.
    fs::write(dir.path().join("c.yaml"), VALID.replace("  skipRange: '>=1.0.0 <1.2.0'\n", "")).unwrap();
    let output = tool(dir.path(), &["explain-upgrade", ".", "--package", "gizmo", "--installed", "1.0.0"]);
    all.extend(["# 1.0.0, without skipRange\n", &output.stdout, "\n"]);
    assert_text("catalog-explain-upgrade", &all);
}

#[test]
fn differences_name_what_a_cluster_would_lose() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    fs::write(path("old"), VALID).unwrap();
    let output = tool(dir.path(), &["diff", "old", "old"]);
    assert_eq!((output.status, output.stdout.as_str()), (Some(0), "no differences\n"));
    let new = VALID
        .replace(
            "  replaces: gizmo.v1.1.0\n  skips: [gizmo.v0.9.0]\n  skipRange: '>=1.0.0 <1.2.0'\n",
            "  skips: [gizmo.v1.1.0]\n",
        )
        .replace("name: fast", "name: faster")
        .replace("gizmo-bundle:v1.2.0", "gizmo-bundle:v1.2.0-1")
        .replace("message: too old", "message: far too old");
    fs::write(path("new"), new).unwrap();
    let output = tool(dir.path(), &["diff", "old", "new"]);
    assert_eq!(output.status, Some(1));
    let text = output.stdout;
    assert_text("catalog-diff", &text);
    let output = tool(dir.path(), &["diff", "old", "new", "--output", "json", "--package", "gizmo"]);
    let json: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    let stranded: Vec<_> = json["differences"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|difference| difference["kind"] == "stranded")
        .map(|difference| difference["subject"].as_str().unwrap())
        .collect();
    assert_eq!(stranded, ["gizmo.v1.0.0 in channel stable"]);
    assert_eq!(tool(dir.path(), &["diff", "old", "nowhere"]).status, Some(2));
    for (package, message) in [
        ("gizmoo", "error: package `gizmoo` is in none of the catalogs: did you mean `gizmo`?\n"),
        ("other", "error: package `other` is in none of the catalogs: their packages are `gizmo`\n"),
    ] {
        let output = tool(dir.path(), &["diff", "old", "new", "--package", package]);
        assert_eq!((output.status, output.stdout.as_str(), output.stderr.as_str()), (Some(2), "", message));
    }
}

/// A catalog in which everything occurs that a drawing shows.
fn every_sign() -> String {
    let mut text = VALID
        .replace(
            "- name: gizmo.v1.1.0\n",
            "- name: gizmo.v1.1.0\n  skips: [gizmo.v1.0.0]\n- name: gizmo.v0.9.0\n",
        )
        .replace("skips: [gizmo.v0.9.0]", "skips: []");
    text.push_str(
        "---\nschema: olm.channel\nname: down\npackage: gizmo\nentries:\n- name: gizmo.v1.0.0\n  replaces: gizmo.v1.2.0\n- name: gizmo.v1.2.0\n- name: gizmo.v1.1.0\n  replaces: gizmo.v1.2.0\n",
    );
    text.push_str(
        "---\nschema: olm.bundle\nname: gizmo.v0.8.0\npackage: gizmo\nimage: quay.io/a/b:v1\nproperties:\n- type: olm.package\n  value: {packageName: gizmo, version: 0.8.0}\n",
    );
    text
}

#[test]
fn a_drawing_shows_heads_skips_ranges_deprecations_and_what_is_broken() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("c.yaml"), every_sign()).unwrap();
    let output = tool(dir.path(), &["graph", "c.yaml", "--output", "svg", "--installed", "1.0.0"]);
    assert_eq!(output.status, Some(0), "{}", output.stderr);
    let svg = output.stdout;
    for sign in [
        "node head",
        "node skipped",
        "deprecated\" transform",
        "class=\"skips\"",
        "class=\"range\"",
        "replaces downgrade",
        "no channel",
        "no bundle",
        "2 heads",
        "class=\"path\"",
        "prefers-color-scheme:dark",
    ] {
        assert!(svg.contains(sign), "{sign}: {svg}");
    }
    assert_text("catalog-graph-svg", &svg.replace("><", ">\n<"));
    let v1 = tool(
        dir.path(),
        &["graph", "c.yaml", "--output", "svg", "--installed", "gizmo.v1.0.0", "--olm", "v1"],
    );
    assert_ne!(v1.stdout, svg);
    for (arguments, message) in [
        (&["--output", "svg", "--installed", "3.0.0"][..], "bundle `3.0.0` is not in package `gizmo`"),
        (&["--output", "html", "--installed", "1.0.0"], "--installed requires --output svg"),
        (&["--olm", "v1"], "--installed"),
    ] {
        let output = tool(dir.path(), &[&["graph", "c.yaml"], arguments].concat());
        assert_eq!(output.status, Some(2));
        assert!(output.stderr.contains(message), "{message}");
    }
    fs::write(dir.path().join("d.yaml"), every_sign() + "---\nschema: olm.package\nname: other\n").unwrap();
    let several = tool(dir.path(), &["graph", "d.yaml", "--output", "svg"]);
    assert!(several.stderr.contains("select one with --package"), "{}", several.stderr);
}

#[test]
fn a_page_loads_nothing_and_escapes_every_name() {
    let dir = tempfile::tempdir().unwrap();
    let evil = "</script><img src=x onerror=alert(1)>\\\"'&{{script}}";
    let text =
        every_sign().replace("name: fast", &format!("name: \"{evil}\"")).replace("too old", "<b>old</b>");
    fs::write(dir.path().join("c.yaml"), text).unwrap();
    let output = tool(dir.path(), &["graph", "c.yaml", "--output", "html"]);
    assert_eq!(output.status, Some(0), "{}", output.stderr);
    let page = output.stdout;
    assert!(!page.contains("<img") && !page.contains("<b>old") && page.contains("&lt;img src=x"), "{page}");
    assert_eq!(page.matches("</script>").count(), 1);
    let addresses: Vec<_> = page.match_indices("://").map(|(at, _)| &page[at - 4..at + 20]).collect();
    assert!(addresses.iter().all(|address| address.contains("www.w3.org")), "{addresses:?}");
    for marker in ["src=x", "@import", "url("] {
        assert!(!page.contains(&format!(" {marker}")) || marker == "src=x", "{marker}");
    }
    assert!(page.contains("default-src 'none'"));
}

/// Renders the page in a browser, if one is installed: the program `CHROMIUM`, by default `chromium`.
#[test]
fn the_page_works_in_a_browser() {
    let browser = std::env::var("CHROMIUM").unwrap_or_else(|_| "chromium".to_owned());
    if Command::new(&browser).arg("--version").output().is_err() {
        test_support::skip(&format!("{browser} is not installed"));
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("c.yaml"), every_sign()).unwrap();
    let page = tool(dir.path(), &["graph", "c.yaml", "--output", "html"]).stdout;
    fs::write(dir.path().join("page.html"), page).unwrap();
    let url = format!("file://{}/page.html#gizmo/1.0.0/stable", dir.path().display());
    let profile = format!("--user-data-dir={}/profile", dir.path().display());
    let output = Command::new(browser)
        .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--dump-dom", &profile, &url])
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&output.stdout);
    assert!(dom.contains("<h2>gizmo.v1.0.0</h2>"), "{dom}");
    assert!(dom.contains("Upgrades with OLM v0") && dom.contains("aria-pressed=\"true\""), "{dom}");
    assert!(dom.contains("class=\"path\" d=\"M"), "the path is not drawn: {dom}");
}

#[test]
fn a_diff_shows_what_clusters_would_do_now_and_explain_upgrade_why_not_otherwise() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("old.yaml"), VALID.replace("  skipRange: '>=1.0.0 <1.2.0'\n", "")).unwrap();
    fs::write(dir.path().join("new.yaml"), VALID).unwrap();
    let output = tool(dir.path(), &["diff", "old.yaml", "new.yaml", "--upgrades"]);
    let text = output.stdout;
    assert!(
        text.contains("~   upgrade from gizmo.v1.0.0 in channel stable: gizmo.v1.1.0 → gizmo.v1.2.0\n"),
        "{text}"
    );
    assert!(!text.contains("upgrade from gizmo.v1.1.0"), "{text}");
    let skipping = VALID.replace("skips: [gizmo.v0.9.0]", "skips: [gizmo.v1.1.0]");
    fs::write(dir.path().join("skips.yaml"), skipping).unwrap();
    let explain = |catalog: &str| {
        let output =
            tool(dir.path(), &["explain-upgrade", catalog, "--package", "gizmo", "--installed", "1.0.0"]);
        output.stdout
    };
    assert_eq!(
        explain("new.yaml"),
        "OLM v0: gizmo.v1.0.0 → gizmo.v1.2.0 (skipRange >=1.0.0 <1.2.0): reaches the head of the channel\n    \
         not gizmo.v1.0.0 → gizmo.v1.1.0 (replaces): gizmo.v1.2.0 is nearer to the head of the channel\n\
         OLM v1: gizmo.v1.0.0 → gizmo.v1.2.0 (skipRange >=1.0.0 <1.2.0): reaches the head of the channel\n    \
         not gizmo.v1.0.0 → gizmo.v1.1.0 (replaces): gizmo.v1.2.0 has a higher version\n"
    );
    assert!(
        explain("skips.yaml")
            .contains("not gizmo.v1.0.0 → gizmo.v1.1.0 (replaces): another entry skips it\n")
    );
}

#[test]
fn upgrades_that_never_end_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let bundle = |version: &str| {
        format!(
            "---\nschema: olm.bundle\nname: gizmo.v{version}\npackage: gizmo\nimage: quay.io/a/b:v{version}\nproperties:\n\
             - {{type: olm.package, value: {{packageName: gizmo, version: {version}}}}}\n"
        )
    };
    let text = format!(
        "schema: olm.package\nname: gizmo\ndefaultChannel: stable\n---\nschema: olm.channel\nname: stable\npackage: gizmo\n\
         entries:\n- {{name: gizmo.v1.0.0, replaces: gizmo.v1.1.0}}\n- {{name: gizmo.v1.1.0, replaces: gizmo.v1.0.0}}\n\
         - {{name: gizmo.v1.2.0}}\n{}{}{}",
        bundle("1.0.0"),
        bundle("1.1.0"),
        bundle("1.2.0")
    );
    fs::write(dir.path().join("c.yaml"), text).unwrap();
    let output =
        tool(dir.path(), &["explain-upgrade", "c.yaml", "--package", "gizmo", "--installed", "1.0.0"]);
    assert_eq!(output.status, Some(1), "{}", output.stderr);
    assert_eq!(
        output.stdout,
        "OLM v0: gizmo.v1.0.0: no entry of channel stable replaces or skips it\n    \
         not gizmo.v1.0.0 → gizmo.v1.1.0 (replaces): `replaces` does not lead to it from the head of the channel\n\
         OLM v1: gizmo.v1.0.0 → gizmo.v1.1.0 (replaces): stays installed\n    \
         not gizmo.v1.1.0 → gizmo.v1.0.0 (replaces): the installed version stays a candidate and is preferred\n"
    );
}

#[test]
fn graphs_of_many_deprecated_entries_are_shown() {
    let dir = tempfile::tempdir().unwrap();
    let count = 100_000;
    let mut text = String::from(
        "schema: olm.package\nname: gizmo\ndefaultChannel: stable\n---\nschema: olm.channel\nname: stable\npackage: gizmo\nentries:\n",
    );
    for number in 0..count {
        writeln!(text, "- name: gizmo.v{number}").unwrap();
    }
    text.push_str("---\nschema: olm.deprecations\npackage: gizmo\nentries:\n");
    for number in 0..count {
        writeln!(text, "- reference: {{schema: olm.bundle, name: gizmo.v{number}}}\n  message: m").unwrap();
    }
    fs::write(dir.path().join("c.yaml"), text).unwrap();
    let output = tool(dir.path(), &["graph", "c.yaml"]);
    assert_eq!(output.status, Some(0), "{}", output.stderr);
    assert_eq!(output.stdout.matches(" head deprecated\n").count(), count);
}

/// A catalog of one channel, whose entries are given with their edges and versions.
fn channel(entries: &[(&str, &str)], deprecated: &[&str]) -> String {
    let mut text = "schema: olm.package\nname: gizmo\ndefaultChannel: stable\n---\nschema: olm.channel\npackage: gizmo\n\
                    name: stable\nentries:\n"
        .to_owned();
    for (version, edge) in entries {
        writeln!(text, "- {{name: gizmo.v{version}{edge}}}").unwrap();
    }
    for (version, _) in entries {
        write!(
            text,
            "---\nschema: olm.bundle\npackage: gizmo\nname: gizmo.v{version}\nimage: quay.io/a/b:v{version}\nproperties:\n\
             - {{type: olm.package, value: {{packageName: gizmo, version: {version}}}}}\n"
        )
        .unwrap();
    }
    if !deprecated.is_empty() {
        text += "---\nschema: olm.deprecations\npackage: gizmo\nentries:\n";
    }
    for version in deprecated {
        writeln!(text, "- {{reference: {{schema: olm.bundle, name: gizmo.v{version}}}, message: old}}")
            .unwrap();
    }
    text
}

#[test]
fn graph_of_olm_v1_has_the_edges_of_explain_upgrade() {
    // OLM v1 prefers the installed version to a lower one, and OLM v0 follows the edge.
    let dir = tempfile::tempdir().unwrap();
    let rebuilt = [("1.0.0", ""), ("1.0.0-2", ", replaces: gizmo.v1.0.0")];
    std::fs::write(dir.path().join("c.yaml"), channel(&rebuilt, &[])).unwrap();
    let graph = |olm: &str| {
        let arguments =
            ["catalog", "graph", "c.yaml", "--output", "svg", "--installed", "gizmo.v1.0.0", "--olm", olm];
        crate::support::run(dir.path(), &arguments).stdout
    };
    let (v0, v1) = (graph("v0"), graph("v1"));
    assert!(v0.contains(r#"class="path""#), "{v0}");
    assert!(v1.contains("gizmo.v1.0.0-2") && !v1.contains(r#"class="path""#), "{v1}");
}

#[test]
fn olm_v1_keeps_an_installed_version_that_is_preferred() {
    let explained = |entries: &[(&str, &str)], deprecated: &[&str], from: &str| {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("c.yaml"), channel(entries, deprecated)).unwrap();
        let run = crate::support::run(
            dir.path(),
            &["catalog", "explain-upgrade", "c.yaml", "--package", "gizmo", "--installed", from],
        );
        let line = run.stdout.lines().find(|line| line.starts_with("OLM v1")).unwrap_or_default().to_owned();
        (line, run.status)
    };
    // The build number makes the version a lower one.
    let rebuilt = [("1.0.0", ""), ("1.0.0-2", ", replaces: gizmo.v1.0.0")];
    assert_eq!(
        explained(&rebuilt, &[], "1.0.0"),
        ("OLM v1: gizmo.v1.0.0: stays installed".to_owned(), Some(1))
    );
    let newer = [("1.0.0", ""), ("1.1.0", ", replaces: gizmo.v1.0.0")];
    let (upgraded, status) = explained(&newer, &[], "1.0.0");
    assert!(upgraded.contains("→ gizmo.v1.1.0") && status == Some(0), "{upgraded}");
    // A deprecated bundle comes last, and both are deprecated.
    assert!(explained(&newer, &["1.1.0"], "1.0.0").0.ends_with("stays installed"));
    assert!(explained(&newer, &["1.0.0", "1.1.0"], "1.0.0").0.contains("→ gizmo.v1.1.0"));
    // A lower version that is not deprecated is preferred to a higher one that is.
    let skips = ", skipRange: '<1.2.0'";
    let three = [("1.0.0", ""), ("1.1.0", skips), ("1.2.0", ", skips: [gizmo.v1.1.0, gizmo.v1.0.0]")];
    let (preferred, _) = explained(&three, &["1.2.0"], "1.0.0");
    assert!(preferred.contains("→ gizmo.v1.1.0") && !preferred.contains("→ gizmo.v1.2.0"), "{preferred}");
}
