//! The documentation: its links, its lists of pages, its generated pages, and output that it shows.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::support::run;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// Returns the Markdown files below a directory, without what git ignores.
fn markdown(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir()
            && !path.is_symlink()
            && !name.starts_with('.')
            && name != "target"
            && name != "node_modules"
            && name != "corpus"
        {
            found.extend(markdown(&path));
        } else if path.extension().is_some_and(|end| end == "md") {
            found.push(path);
        }
    }
    found
}

/// Returns a page without blocks of code.
fn prose(page: &str) -> String {
    let parts = page.split("```").step_by(2);
    parts.collect::<Vec<_>>().join("\n")
}

/// Returns the targets of a page's links, outside of code.
fn links(page: &str) -> Vec<String> {
    let prose = prose(page);
    let text: String = prose.split('`').step_by(2).collect::<Vec<_>>().join("code");
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.map(|target| target.trim().to_owned()).collect()
}

/// Returns the anchors of a page's headings, as GitHub and mdBook name them.
fn anchors(page: &str) -> BTreeSet<String> {
    let headings = prose(page);
    let headings = headings.lines().filter_map(|line| line.strip_prefix('#'));
    let anchor = |heading: &str| -> String {
        let kept = heading.trim_start_matches('#').trim().chars().filter_map(|char| match char {
            ' ' => Some('-'),
            '-' | '_' => Some(char),
            char => char.is_alphanumeric().then(|| char.to_ascii_lowercase()),
        });
        kept.collect()
    };
    headings.map(anchor).collect()
}

/// Returns a path without `..`.
fn normalized(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                normal.pop();
            }
            part => normal.push(part),
        }
    }
    normal
}

#[test]
fn links_of_the_site_lead_to_pages_and_to_files_of_the_repository() {
    const URL: &str = "https://forge.example.com/org/bundle-tool";
    let root = root();
    let directory = tempfile::tempdir().unwrap();
    for url in [URL, ""] {
        let site = directory.path().join("site");
        let script =
            std::process::Command::new(root.join("docs/site.sh")).arg(&site).arg(url).output().unwrap();
        assert!(script.status.success(), "{}", String::from_utf8_lossy(&script.stderr));
        let (mut dead, mut outside) = (Vec::new(), 0);
        for page in markdown(&site) {
            for link in links(&fs::read_to_string(&page).unwrap()) {
                let path = link.split('#').next().unwrap();
                let exists = if let Some(path) = path.strip_prefix(&format!("{URL}/blob/HEAD/")) {
                    outside += 1;
                    root.join(path).exists()
                } else if path.is_empty() || path.contains("://") || path.starts_with("mailto:") {
                    true
                } else {
                    let target = normalized(&page.parent().unwrap().join(path));
                    // mdBook writes README.md as index.html, and the page of a link to index.md, too.
                    let readme = target.with_file_name("README.md");
                    let is_readme = target.file_name().is_some_and(|name| name == "index.md");
                    target.starts_with(&site) && (target.exists() || is_readme && readme.exists())
                };
                if !exists {
                    dead.push(format!("{}: {link}", page.strip_prefix(&site).unwrap().display()));
                }
            }
        }
        assert!(dead.is_empty(), "{}", dead.join("\n"));
        assert_eq!(outside > 0, url == URL);
    }
}

#[test]
fn no_link_is_dead() {
    let root = root();
    let mut dead = Vec::new();
    let mut pages = BTreeMap::new();
    for path in markdown(&root) {
        let text = fs::read_to_string(&path).unwrap();
        pages.insert(path, text);
    }
    for (path, text) in &pages {
        for link in links(text) {
            // Links to Rust items in READMEs that are documentation of crates.
            let is_item = link.contains("::") || !link.contains(['/', '.', '#']);
            if link.contains("://") || link.starts_with("mailto:") || is_item {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = match file {
                "" => path.clone(),
                file => normalized(&path.parent().unwrap().join(file)),
            };
            let is_dead = !target.exists()
                || !anchor.is_empty()
                    && pages.get(&target).is_some_and(|page| !anchors(page).contains(anchor));
            if is_dead {
                dead.push(format!("{}: {link}", path.strip_prefix(&root).unwrap().display()));
            }
        }
    }
    assert!(dead.is_empty(), "{} dead links:\n{}", dead.len(), dead.join("\n"));
    assert!(pages.len() > 400, "{}", pages.len());
}

/// The directories of generated pages, which `make docs-site` lists.
const GENERATED: [&str; 2] = ["rules/", "reference/"];

#[test]
fn every_page_is_in_the_summary_and_reached_from_the_front_page_in_two_steps() {
    let docs = root().join("docs");
    let name = |path: &Path| path.strip_prefix(&docs).unwrap().display().to_string();
    let pages: BTreeSet<String> = markdown(&docs).iter().map(|path| name(path)).collect();
    let is_generated = |page: &str| {
        let below = GENERATED.iter().find_map(|directory| page.strip_prefix(directory));
        below.is_some_and(|name| {
            !["README.md", "exit-codes.md", "environment.md", "settings.md"].contains(&name)
        })
    };
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let listed: Vec<String> = links(&summary).into_iter().filter(|link| !link.is_empty()).collect();
    let expected: BTreeSet<String> =
        pages.iter().filter(|page| *page != "SUMMARY.md" && !is_generated(page)).cloned().collect();
    assert_eq!(listed.iter().cloned().collect::<BTreeSet<_>>(), expected, "docs/SUMMARY.md");
    assert_eq!(listed.len(), expected.len(), "docs/SUMMARY.md lists a page twice");

    let targets = |page: &str| -> BTreeSet<String> {
        let text = fs::read_to_string(docs.join(page)).unwrap();
        let directory = Path::new("/").join(page);
        let below = |link: String| {
            let file = link.split('#').next().unwrap_or_default().to_owned();
            let path = normalized(&directory.parent().unwrap().join(file));
            path.strip_prefix("/").ok().map(|path| path.display().to_string())
        };
        links(&text).into_iter().filter_map(below).filter(|page| pages.contains(page)).collect()
    };
    let mut reached = targets("README.md");
    for page in reached.clone() {
        reached.extend(targets(&page));
    }
    let missing: Vec<_> =
        expected.iter().filter(|page| *page != "README.md" && !reached.contains(*page)).collect();
    assert!(missing.is_empty(), "more than two steps from docs/README.md: {missing:?}");
}

#[test]
fn the_reference_is_up_to_date() {
    let dir = tempfile::tempdir().unwrap();
    let output = run(dir.path(), &["man", "--markdown", "--output-dir", "reference"]);
    assert_eq!(output.status, Some(0), "{}", output.stderr);
    let read = |directory: &Path| -> BTreeMap<String, String> {
        let paths = markdown(directory);
        let page = |path: &PathBuf| {
            (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(path).unwrap())
        };
        paths.iter().map(page).collect()
    };
    let (new, old) = (read(&dir.path().join("reference")), read(&root().join("docs/reference")));
    assert_eq!(new.keys().collect::<Vec<_>>(), old.keys().collect::<Vec<_>>(), "run `make docs`");
    for (name, text) in new {
        assert_eq!(text, old[&name], "docs/reference/{name} is out of date: run `make docs`");
    }
}

/// The variables that the program reads are in the reference, and those in the reference are read.
#[test]
fn environment_variables_are_documented() {
    let page = fs::read_to_string(root().join("docs/reference/environment.md")).unwrap();
    let documented: BTreeSet<&str> =
        page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    let mut sources = String::new();
    let mut pending = vec![
        root().join("bundle-tool/src"),
        root().join("crates/oci-images/src"),
        root().join("crates/olm-cluster/src"),
    ];
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            pending.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|end| end == "rs") && !path.ends_with("cli/environment.rs") {
            sources += &fs::read_to_string(path).unwrap();
        }
    }
    // Which clap, anstream, libraries and the standard library read.
    let elsewhere = ["NO_COLOR", "TMPDIR"];
    let unread: Vec<_> = documented
        .iter()
        .filter(|name| !elsewhere.contains(name) && !sources.contains(&format!("\"{name}\"")))
        .collect();
    assert!(unread.is_empty(), "not read: {unread:?}");
    let calls = ["env::var(\"", "env::var_os(\"", "path(\"", "named(\""];
    let read: BTreeSet<&str> = calls
        .iter()
        .flat_map(|call| sources.split(call).skip(1))
        .filter_map(|rest| rest.split('"').next())
        .collect();
    // Of the shell, of git, and of tests.
    let other = ["HOME", "PATH", "KUBEBUILDER_ASSETS", "CI"];
    let missing: Vec<_> = read
        .iter()
        .filter(|name| name.chars().all(|char| char.is_ascii_uppercase() || char == '_'))
        .filter(|name| !documented.contains(*name) && !other.contains(name))
        .collect();
    assert!(missing.is_empty(), "not documented: {missing:?}");
    assert!(read.len() > 5, "{read:?}");
}

/// What `docs/troubleshooting.md` shows is what `doctor` prints for objects that were recorded on a cluster.
#[test]
fn troubleshooting_shows_what_doctor_prints() {
    let page = fs::read_to_string(root().join("docs/troubleshooting.md")).unwrap();
    let fixtures = root().join("crates/olm-cluster/tests/fixtures/cluster");
    let mut shown = 0;
    // Another error of the same image.
    let missing = |text: &str| {
        text.replace(
            "failed to do request: Head \\\"https://registry.e2e/v2/memcached/manifests/1.6-missing\\\": x509: certificate signed by unknown authority",
            "registry.e2e/memcached:1.6-missing: not found",
        )
    };
    for name in [
        "crash", "forced", "groups", "image", "missing", "node", "program", "quota", "rights", "secret",
        "security", "webhook",
    ] {
        let dir = tempfile::tempdir().unwrap();
        let file = if name == "missing" { "image" } else { name };
        let text = fs::read_to_string(fixtures.join(file).with_extension("json")).unwrap();
        let text = if name == "missing" { missing(&text) } else { text };
        fs::write(dir.path().join("objects.json"), text).unwrap();
        let output = run(dir.path(), &["doctor", "--must-gather", "."]);
        assert_eq!(output.status, Some(1), "{}", output.stderr);
        let problem = output.stdout.split("\n\n1 problem found").next().unwrap();
        assert!(
            page.contains(problem),
            "docs/troubleshooting.md does not show the problem of {name}:\n{problem}"
        );
        shown += 1;
    }
    assert_eq!(shown, page.matches("```text\nproblem: ").count());
}
