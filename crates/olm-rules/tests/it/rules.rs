//! Every rule against its fixtures: `tests/fixtures/rules/<rule>.yaml` holds `fail` and `pass`, lists of edits to the
//! valid bundle in `tests/fixtures/bundle`. Each of `fail` must be found by the rule, none of `pass` may be, and a
//! case may break only its own rule, and those that `also` lists.
//!
//! An edit is `{in: csv|crd|annotations|FILE, path: a.b[0]["c.d"], set: VALUE}` (or `remove: true`, or
//! `append: VALUE` for a list), `{in: FILE, text: "…"}` for a file as it is, `{in: FILE, utf16: "…"}` for one in UTF-16,
//! `{in: FILE, noise: BYTES}` for a ConfigMap of text that cannot be compressed much, or `{in: FILE, delete: true}`. A case is
//! one edit or a list of edits.
//!
//! What the valid bundle lacks for a suite that is not for every bundle is in `tests/fixtures/suites/<suite>.yaml`, a list of
//! edits that come before those of a case. `{kubeVersion: 1.25.0}` and `{extension: {config: {}, namespace: NAME}}` set what
//! is known about the cluster, `{indexDockerfile: TEXT}` what `--optional-values index-path` names, and `{submission: {…}}` what surrounds the bundle in a repository.
//! `{images: {NAME: missing}}` is what registries answer: `missing`, a reason why the name is invalid, or a list of platforms such as `linux/amd64`.
//! `{pullRequest: {…}}` is validated instead of a bundle.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use olm_model::kubernetes::Versions;
use olm_model::pull_request::{BundleChange, ChangedBundle, PullRequest};
use olm_model::read;
use olm_model::report;
use olm_model::report::rules::Example;
use olm_model::report::{Finding, Safety, Suite};
use olm_model::submission::{PublishedVersion, RepositoryContext};
use olm_model::{Availability, Bundle, Images};
use olm_report::text::{Style, Verbosity};
use olm_rules::{Extension, Selection, Settings};
use rayon::iter::{ParallelBridge, ParallelIterator};
use serde_json::Value;

const CSV: &str = "manifests/gizmo-operator.clusterserviceversion.yaml";
const CRD: &str = "manifests/gizmos.gadgets.example.com.crd.yaml";
const ANNOTATIONS: &str = "metadata/annotations.yaml";
const DOCKERFILE: &str = "bundle.Dockerfile";

fn fixtures() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// What a case is validated as.
#[derive(Clone)]
struct Input {
    files: BTreeMap<String, Vec<u8>>,
    settings: Settings,
    submission: Option<Value>,
    images: Images,
    pull_request: Option<PullRequest>,
}

/// Returns what a pull request changes: `{operators: [], bundles: [{operator, version, change}], catalogs: [], foreign: []}`.
fn pull_request(described: &Value) -> PullRequest {
    let list = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().map(|item| item.as_str().unwrap().to_owned()).collect()
    };
    let bundle = |one: &Value| ChangedBundle {
        operator: one["operator"].as_str().unwrap().to_owned(),
        version: one["version"].as_str().unwrap().to_owned(),
        change: match one["change"].as_str().unwrap() {
            "added" => BundleChange::Added,
            "modified" => BundleChange::Modified,
            _ => BundleChange::Deleted {
                uses_catalog: one["uses_catalog"] == true,
                used_by: list(&one["used_by"]),
            },
        },
    };
    PullRequest {
        operators: list(&described["operators"]).into_iter().collect(),
        bundles: described["bundles"].as_array().into_iter().flatten().map(bundle).collect(),
        catalogs: list(&described["catalogs"]).into_iter().collect(),
        foreign: list(&described["foreign"]),
    }
}

/// Returns what surrounds a bundle in a repository: `{operator, version, siblings: [{directory, name, package}], ci: TEXT}`.
fn submission(described: &Value) -> RepositoryContext {
    let text = |value: &Value, key: &str| value[key].as_str().map(str::to_owned);
    let sibling = |one: &Value| PublishedVersion {
        directory: text(one, "directory").unwrap_or_default(),
        name: text(one, "name").unwrap_or_default(),
        package: text(one, "package").unwrap_or_default(),
        openshift_versions: text(one, "openshift_versions"),
    };
    let files = [("ci", olm_model::submission::CI), ("release", olm_model::submission::RELEASE)];
    let files = files.into_iter().filter_map(|(key, name)| Some((name, text(described, key)?.into_bytes())));
    let submission = RepositoryContext {
        operator: text(described, "operator").unwrap_or_default(),
        version: text(described, "version").unwrap_or_default(),
        siblings: described["siblings"].as_array().into_iter().flatten().map(sibling).collect(),
        ..RepositoryContext::default()
    };
    read::submission::with_files(files, submission)
}

/// Returns what a registry answers about an image.
fn availability(described: &Value) -> Availability {
    if let Some(reason) = described["unknown"].as_str() {
        return Availability::Unknown(reason.to_owned());
    }
    match described.as_str() {
        Some("missing") => Availability::Missing,
        Some(reason) => Availability::InvalidName(reason.to_owned()),
        None => {
            let names = described.as_array().into_iter().flatten().filter_map(Value::as_str);
            Availability::Available(names.map(|name| name.parse().unwrap()).collect())
        }
    }
}

/// The valid bundle, prepared for each suite, and whether a suite needs a preparation.
static VALID_BUNDLES: LazyLock<BTreeMap<Suite, (Input, bool)>> = LazyLock::new(|| {
    let file = |path: &str| (path.to_owned(), fs::read(fixtures().join("bundle").join(path)).unwrap());
    let files: BTreeMap<_, _> = [CSV, CRD, ANNOTATIONS].into_iter().map(file).collect();
    let prepared = |suite: Suite| {
        let mut input = Input {
            files: files.clone(),
            settings: Settings::default(),
            submission: None,
            images: Images::new(),
            pull_request: None,
        };
        let edits = fs::read(fixtures().join("suites").join(format!("{suite}.yaml"))).unwrap_or_default();
        let edits = yaml(&edits).as_array().cloned().unwrap_or_default();
        for edit in &edits {
            apply(&mut input, edit);
        }
        (suite, (input, !edits.is_empty()))
    };
    Suite::ALL.into_iter().map(prepared).collect()
});

/// The rules of catalogs are tested with catalogs, in `olm-catalog` and `bundle-tool`.
fn rules_of_bundles() -> impl Iterator<Item = &'static olm_rules::Rule> {
    olm_rules::all().filter(|rule| rule.suite != Suite::Catalog)
}

/// The valid bundle, prepared for a suite.
fn valid_bundle(suite: Suite) -> Input {
    VALID_BUNDLES[&suite].0.clone()
}

/// The findings of a suite and of all that need no preparation.
fn findings(input: &Input, suite: Suite) -> Vec<Finding> {
    let mut bundle: Bundle = read::bundle::files("fixture", &input.files);
    bundle.submission = input.submission.as_ref().map(submission);
    bundle.images.clone_from(&input.images);
    let dockerfile = input.files.get(DOCKERFILE).cloned();
    bundle.dockerfile = dockerfile.and_then(|bytes| read::dockerfile::parse(DOCKERFILE, bytes));
    let suites = Suite::ALL.into_iter().filter(|other| *other == suite || !VALID_BUNDLES[other].1);
    let selection =
        Selection { suites: suites.collect(), settings: input.settings.clone(), ..Selection::default() };
    if let Some(request) = &input.pull_request {
        return olm_rules::validate_pull_request("repository", request, &selection).findings;
    }
    olm_rules::validate(&bundle, &selection).findings
}

fn yaml(bytes: &[u8]) -> Value {
    let parsed = kube_yaml::parse(bytes);
    assert_eq!(parsed.error, None);
    parsed.documents.first().map_or(Value::Null, |tree| tree.root().to_json())
}

/// `a.b[0]["c.d"]` as keys and indices.
fn steps(path: &str) -> Vec<String> {
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(quoted) = rest.strip_prefix("[\"") {
            let end = quoted.find("\"]").unwrap_or_else(|| panic!("no end of a quoted key in {path}"));
            steps.push(quoted[..end].to_owned());
            rest = &quoted[end + 2..];
        } else if let Some(index) = rest.strip_prefix('[') {
            let end = index.find(']').unwrap_or_else(|| panic!("no end of an index in {path}"));
            steps.push(index[..end].to_owned());
            rest = &index[end + 1..];
        } else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            steps.push(rest[..end].to_owned());
            rest = &rest[end..];
        }
        rest = rest.strip_prefix('.').unwrap_or(rest);
    }
    steps
}

/// The value at `steps`, made where it is not there; a list is extended by one item at its end.
fn reach<'v>(mut here: &'v mut Value, steps: &[String]) -> &'v mut Value {
    for step in steps {
        if here.is_null() {
            *here = Value::Object(serde_json::Map::new());
        }
        here = match here {
            Value::Array(items) => {
                let index: usize = step.parse().unwrap_or_else(|_| panic!("{step} is no index"));
                if index == items.len() {
                    items.push(Value::Null);
                }
                &mut items[index]
            }
            Value::Object(map) => map.entry(step.clone()).or_insert(Value::Null),
            other => panic!("{step}: cannot look into {other}"),
        };
    }
    here
}

/// A ConfigMap of about `bytes` bytes, the same each time.
fn noise(bytes: u64) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::from("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: noise}\ndata:\n  noise: ");
    let mut state: u64 = 1;
    for _ in 0..bytes {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text.push(char::from(LETTERS[(state >> 58) as usize]));
    }
    text + "\n"
}

/// Returns the path of the file that an edit names.
fn file_name(name: &str) -> &str {
    match name {
        "csv" => CSV,
        "crd" => CRD,
        "annotations" => ANNOTATIONS,
        name => name,
    }
}

fn apply(input: &mut Input, edit: &Value) {
    if let Some(text) = edit["kubeVersion"].as_str() {
        input.settings.versions = Some(Versions::parse(text).unwrap());
        return;
    }
    if let Some(extension) = edit["extension"].as_object() {
        let config = extension["config"].as_object().cloned().unwrap_or_default();
        let namespace = extension.get("namespace").and_then(Value::as_str).map(str::to_owned);
        input.settings.extension = Some(Extension { config, namespace });
        return;
    }
    if let Some(request) = edit.get("pullRequest") {
        input.pull_request = Some(pull_request(request));
        return;
    }
    if let Some(submission) = edit.get("submission") {
        input.submission = Some(submission.clone());
        return;
    }
    if let Some(answers) = edit["images"].as_object() {
        input.images = answers.iter().map(|(name, answer)| (name.clone(), availability(answer))).collect();
        return;
    }
    if let Some(text) = edit["indexDockerfile"].as_str() {
        input.settings.index_dockerfile = Some(text.to_owned());
        return;
    }
    let files = &mut input.files;
    let name = file_name(edit["in"].as_str().unwrap_or_else(|| panic!("an edit without `in`: {edit}")));
    if edit["delete"] == true {
        files.remove(name).unwrap_or_else(|| panic!("{name} is not there"));
    } else if let Some(text) = edit["text"].as_str() {
        files.insert(name.to_owned(), text.as_bytes().to_vec());
    } else if let Some(text) = edit["utf16"].as_str() {
        let units = "\u{feff}".encode_utf16().chain(text.encode_utf16());
        files.insert(name.to_owned(), units.flat_map(u16::to_le_bytes).collect());
    } else if let Some(bytes) = edit["noise"].as_u64() {
        files.insert(name.to_owned(), noise(bytes).into_bytes());
    } else {
        let mut document = files.get(name).map_or(Value::Null, |bytes| yaml(bytes));
        let path = steps(edit["path"].as_str().unwrap_or_default());
        if edit["remove"] == true {
            let (last, parents) = path.split_last().expect("a path to remove");
            match reach(&mut document, parents) {
                Value::Array(items) => {
                    items.remove(last.parse().unwrap());
                }
                Value::Object(map) => {
                    map.shift_remove(last).unwrap_or_else(|| panic!("nothing to remove: {edit}"));
                }
                other => panic!("cannot remove {last} from {other}"),
            }
        } else if let Some(item) = edit.get("append") {
            match reach(&mut document, &path) {
                Value::Array(items) => items.push(item.clone()),
                other => panic!("cannot append to {other}"),
            }
        } else {
            let value = edit.get("set").unwrap_or_else(|| panic!("an edit that does nothing: {edit}"));
            *reach(&mut document, &path) = value.clone();
        }
        files.insert(name.to_owned(), serde_json::to_vec_pretty(&document).unwrap());
    }
}

fn with(case: &Value, suite: Suite) -> Input {
    let mut input = valid_bundle(suite);
    match case {
        Value::Array(edits) => edits.iter().for_each(|edit| apply(&mut input, edit)),
        edit => apply(&mut input, edit),
    }
    input
}

#[test]
fn the_valid_bundle_has_no_finding() {
    for suite in Suite::ALL {
        assert_eq!(findings(&valid_bundle(suite), suite), [], "{suite}");
    }
}

/// A rule's fixture, validated.
struct Fixture {
    /// Rules that its cases may break as well.
    also: Vec<String>,
    fail: Vec<Case>,
    pass: Vec<Case>,
}

struct Case {
    edits: Value,
    findings: Vec<Finding>,
}

/// The fixtures of all rules; none where the file is missing.
static FIXTURES: LazyLock<BTreeMap<&'static str, Option<Fixture>>> = LazyLock::new(|| {
    LazyLock::force(&VALID_BUNDLES);
    let fixture = |id: &str, suite: Suite| {
        let fixture = yaml(&fs::read(fixtures().join("rules").join(format!("{id}.yaml"))).ok()?);
        let list = |name: &str| fixture[name].as_array().cloned().unwrap_or_default();
        let cases = |name| {
            let case = |edits| Case { findings: findings(&with(&edits, suite), suite), edits };
            list(name).into_iter().map(case).collect()
        };
        let also = list("also").iter().filter_map(Value::as_str).map(str::to_owned).collect();
        Some(Fixture { also, fail: cases("fail"), pass: cases("pass") })
    };
    rules_of_bundles().par_bridge().map(|rule| (rule.id, fixture(rule.id, rule.suite))).collect()
});

#[test]
fn every_rule_finds_its_failing_fixtures_and_no_passing_one() {
    let mut wrong = Vec::new();
    for rule in rules_of_bundles() {
        let Some(fixture) = &FIXTURES[rule.id] else {
            wrong.push(format!("{}: no fixture", rule.id));
            continue;
        };
        for (list, cases) in [("fail", &fixture.fail), ("pass", &fixture.pass)] {
            if cases.is_empty() {
                wrong.push(format!("{}: no case in `{list}`", rule.id));
            }
            for Case { edits, findings } in cases {
                let found = findings.iter().filter(|finding| finding.rule == rule.id).count();
                if (found > 0) != (list == "fail") {
                    wrong.push(format!("{}: {found} findings in `{list}`: {edits}", rule.id));
                }
                // One defect is one finding in a suite; what a case may break as well is in `also`.
                for other in findings.iter().filter(|finding| {
                    finding.rule != rule.id
                        && finding.is_failure()
                        && finding.suite == rule.suite
                        && !fixture.also.iter().any(|id| *id == finding.rule)
                }) {
                    wrong.push(format!("{}: {edits} also gives {}: {}", rule.id, other.rule, other.message));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What people read of each rule's failing fixtures; `INSTA_UPDATE=always` accepts a changed wording.
#[test]
fn rendered_findings() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let style = Style { verbosity: Verbosity::Verbose, ..Style::default() };
    for (id, fixture) in &*FIXTURES {
        let mut rendered = Vec::new();
        for case in fixture.iter().flat_map(|fixture| &fixture.fail) {
            let findings = case.findings.iter().filter(|finding| finding.rule == *id).cloned().collect();
            let report = report::BundleReport {
                path: "bundle".to_owned(),
                parent: Some(String::new()),
                name: None,
                package: None,
                findings,
            };
            rendered.push(olm_report::text::diagnostics(&(&report).into(), style));
        }
        settings.bind(|| insta::assert_snapshot!(*id, rendered.join("---\n\n")));
    }
}

/// What the language server offers for each finding in YAML: the comment ignores it and is valid.
#[test]
fn a_comment_ignores_every_finding_that_can_be_ignored() {
    // The threads of rayon must not wait for what they are needed for.
    LazyLock::force(&FIXTURES);
    let results: Vec<_> = rules_of_bundles().par_bridge().filter_map(ignored_by_comment).collect();
    let wrong: Vec<_> = results.iter().filter_map(|result| result.as_ref().err()).cloned().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(results.len() > 100, "{}", results.len());
}

/// Inserts the comment that ignores the first finding of a rule's first failing case, and returns an error if the finding is not
/// ignored then. Returns `None` if the finding has no place for a comment.
fn ignored_by_comment(rule: &olm_rules::Rule) -> Option<Result<(), String>> {
    let case = FIXTURES[rule.id].as_ref()?.fail.first()?;
    let mut input = with(&case.edits, rule.suite);
    let mut is_rewritten = false;
    for bytes in input.files.values_mut().filter(|bytes| bytes.starts_with(b"{")) {
        *bytes = kube_yaml::emit(&yaml(bytes)).into_bytes();
        is_rewritten = true;
    }
    let found = if is_rewritten { findings(&input, rule.suite) } else { case.findings.clone() };
    let finding = found.into_iter().find(|found| found.rule == rule.id)?;
    let (name, line) = (finding.file.as_ref()?, finding.line?);
    let bundle = read::bundle::files("fixture", &input.files);
    let file = bundle.file(name)?;
    let comment = olm_rules::comment(&file.path, &file.bytes, line, rule.id, "known")?;
    let text = input.files.get_mut(name).unwrap();
    text.splice(comment.offset..comment.offset, comment.text.bytes());
    let found = findings(&input, rule.suite);
    let is_ignored = |found: &Finding| found.ignored.is_some() && found.message == finding.message;
    let has_fault = found.iter().any(|found| found.rule.starts_with("ignore-"));
    Some(if found.iter().any(is_ignored) && !has_fault {
        Ok(())
    } else {
        Err(format!("{} in line {line} of {name}: {}", rule.id, case.edits))
    })
}

#[test]
fn every_fixture_belongs_to_a_rule() {
    for entry in fs::read_dir(fixtures().join("rules")).unwrap() {
        let path = entry.unwrap().path();
        let id = path.file_stem().unwrap().to_str().unwrap();
        assert!(olm_rules::find(id).is_some(), "{} belongs to no rule", path.display());
    }
}

/// The number of lines above which the YAML of an example is shortened.
const MAX_LINES: usize = 25;
/// Maximum number of files that an example shows.
const MAX_FILES: usize = 3;
/// What a value that the example is not about is replaced with.
const SHORTENED: &str = "SHORTENED-VALUE";
/// The value of a field that the edit removes.
const MISSING: &str = "MISSING-VALUE";

/// Emits YAML, without the details that the example is not about if it is long: what the paths in `keep` lead to is shown.
fn emit_shortened(value: &Value, keep: &[Vec<String>]) -> String {
    let mut text = kube_yaml::emit(value);
    for depth in (0..8).rev() {
        if text.lines().count() <= MAX_LINES {
            break;
        }
        let mut short = value.clone();
        let keep: Vec<&[String]> = keep.iter().map(Vec::as_slice).collect();
        shorten(&mut short, &keep, depth);
        text = kube_yaml::emit(&short);
    }
    let lines = text.lines().map(|line| {
        if let Some(field) = line.strip_suffix(&format!(": {MISSING}")) {
            let start = field.len() - field.trim_start_matches([' ', '-']).len();
            return format!("{}# {} is missing", &field[..start], &field[start..]);
        }
        line.replace(&format!("- {SHORTENED}"), "# …").replace(SHORTENED, "# …")
    });
    lines.map(|line| line + "\n").collect()
}

/// Replaces values that are more than `depth` levels away from the paths in `keep`.
fn shorten(value: &mut Value, keep: &[&[String]], depth: usize) {
    /// The number of items of a list that are shown.
    const ITEMS: usize = 2;
    let below = |step: &str| -> Vec<&[String]> {
        keep.iter()
            .filter_map(|path| path.split_first())
            .filter(|(first, _)| *first == step)
            .map(|(_, rest)| rest)
            .collect()
    };
    let child = |step: &str, value: &mut Value| {
        let keep = below(step);
        let is_found = keep.iter().any(|path| path.is_empty());
        match value {
            Value::Object(_) | Value::Array(_) if !keep.is_empty() => {
                shorten(value, &keep, if is_found { depth + 1 } else { depth });
            }
            Value::Object(fields) if !fields.is_empty() && depth == 0 => *value = SHORTENED.into(),
            Value::Array(items) if !items.is_empty() && depth == 0 => *value = SHORTENED.into(),
            Value::Object(_) | Value::Array(_) => shorten(value, &[], depth.saturating_sub(1)),
            Value::String(text) if text.lines().count() > 3 && !is_found => *value = SHORTENED.into(),
            _ => {}
        }
    };
    match value {
        Value::Object(fields) => fields.iter_mut().for_each(|(key, value)| child(key, value)),
        Value::Array(items) => {
            items.iter_mut().enumerate().for_each(|(index, item)| child(&index.to_string(), item));
            let is_hidden = |index: &usize| *index >= ITEMS && below(&index.to_string()).is_empty();
            let hidden: Vec<usize> = (0..items.len()).filter(is_hidden).collect();
            if hidden.len() > 1 {
                let shown = items.iter().enumerate().filter(|(index, _)| !hidden.contains(index));
                *items = shown.map(|(_, item)| item.clone()).chain([SHORTENED.into()]).collect();
            }
        }
        _ => {}
    }
}

/// Returns the YAML that an edit is about, in a bundle that it was applied to or not; nothing if there is none.
/// `found` are the fields that findings name.
fn excerpt(input: &Input, edit: &Value, is_applied: bool, found: &[Vec<String>]) -> Option<String> {
    if let Some(extension) = edit.get("extension").filter(|_| is_applied) {
        let text = kube_yaml::emit(&extension["config"]);
        return Some(format!("# spec.config.inline of the ClusterExtension\n{text}"));
    }
    if let Some(answers) = edit.get("images") {
        return is_applied.then(|| format!("# what the registries answer\n{}", kube_yaml::emit(answers)));
    }
    if let Some(request) = edit.get("pullRequest").filter(|_| is_applied) {
        return Some(format!("# what the pull request changes\n{}", kube_yaml::emit(request)));
    }
    if let Some(submission) = edit.get("submission").filter(|_| is_applied) {
        let directory = submission["version"].as_str().unwrap_or_default();
        let version = input.files.get(CSV).map(|csv| yaml(csv)["spec"]["version"].clone());
        let mut text = format!(
            "# operators/{}/{directory}, with spec.version {}\n",
            submission["operator"].as_str().unwrap_or_default(),
            version.as_ref().and_then(Value::as_str).unwrap_or_default(),
        );
        for (key, name) in [("ci", "ci.yaml"), ("release", "release-config.yaml")] {
            if let Some(content) = submission[key].as_str() {
                let _ = write!(text, "# {name}\n{content}");
            }
        }
        for sibling in submission["siblings"].as_array().into_iter().flatten() {
            let _ = writeln!(text, "# another bundle: {}", sibling["name"].as_str().unwrap_or_default());
        }
        return Some(text);
    }
    let name = file_name(edit["in"].as_str()?);
    if edit["delete"] == true && is_applied {
        return Some(format!("# without {name}\n"));
    }
    let file = input.files.get(name)?;
    if let Some(bytes) = edit["noise"].as_u64() {
        return is_applied.then(|| format!("# {name}: {bytes} bytes that cannot be compressed\n"));
    }
    if edit.get("text").is_some() {
        return is_applied.then(|| format!("# {name}\n{}", String::from_utf8_lossy(file)));
    }
    let mut steps = steps(edit["path"].as_str().unwrap_or_default());
    let mut keep: Vec<Vec<String>> = found.to_vec();
    keep.push(steps.clone());
    // What is missing shows in what is there besides.
    let removed = if edit["remove"] == true { steps.pop() } else { None };
    let mut document = yaml(file);
    if is_applied
        && let Some(field) = removed
        && let Some(parent) = steps.iter().try_fold(&mut document, |here, step| at(here, step))
        && let Some(parent) = parent.as_object_mut()
    {
        parent.insert(field, MISSING.into());
    }
    let mut here = &mut document;
    let mut is_index = Vec::new();
    for step in &steps {
        is_index.push(here.is_array());
        here = at(here, step)?;
    }
    let mut value = here.take();
    if let (Some(item), true) = (edit.get("append"), is_applied) {
        value = Value::Array(vec![item.clone()]);
    }
    for (step, is_index) in steps.iter().zip(is_index).rev() {
        value = if is_index { serde_json::json!([value]) } else { serde_json::json!({ step: value }) };
    }
    // The only item of a list that the path goes through is its first one.
    let is_item = |step: &String| step.parse::<usize>().is_ok();
    for path in &mut keep {
        let shared = path.iter().zip(&steps).take_while(|(one, other)| one == other).count();
        path.iter_mut().take(shared).filter(|step| is_item(step)).for_each(|step| "0".clone_into(step));
    }
    Some(format!("# {name}\n{}", emit_shortened(&value, &keep)))
}

/// Returns what a step of a path leads to.
fn at<'a>(value: &'a mut Value, step: &str) -> Option<&'a mut Value> {
    if value.is_array() { value.get_mut(step.parse::<usize>().ok()?) } else { value.get_mut(step) }
}

fn edits(case: &Value) -> Vec<&Value> {
    match case {
        Value::Array(edits) => edits.iter().collect(),
        edit => vec![edit],
    }
}

/// Returns the example of a rule: its first failing fixture, and the valid bundle there, or its first passing fixture.
fn example(fixture: &Fixture, suite: Suite) -> Option<Example> {
    let fails = fixture.fail.first()?;
    let input = with(&fails.edits, suite);
    let join = |texts: Vec<String>| {
        let mut text = String::new();
        for line in texts.iter().take(MAX_FILES).flat_map(|text| text.lines()) {
            let _ = writeln!(text, "{}", line.get(..140).unwrap_or(line));
        }
        if let hidden @ 1.. = texts.len().saturating_sub(MAX_FILES) {
            let _ = writeln!(text, "# … and {hidden} more");
        }
        text
    };
    let found: Vec<Vec<String>> =
        fails.findings.iter().filter_map(|finding| finding.path.as_deref()).map(steps).collect();
    let all = |input: &Input, case: &Value, is_applied, found: &[Vec<String>]| -> Vec<String> {
        edits(case).into_iter().filter_map(|edit| excerpt(input, edit, is_applied, found)).collect()
    };
    let bad = all(&input, &fails.edits, true, &found);
    let valid = valid_bundle(suite);
    let mut good = all(&valid, &fails.edits, false, &found);
    if good.is_empty() || edits(&fails.edits).iter().any(|edit| edit.get("append").is_some()) {
        let passes = fixture.pass.first()?;
        good = all(&with(&passes.edits, suite), &passes.edits, true, &[]);
    }
    let (bad, good) = (join(bad), join(good));
    let fixes =
        fixture.fail.iter().flat_map(|case| &case.findings).filter_map(|finding| finding.fix.as_ref());
    let fix = fixes.map(|fix| fix.safety).min_by_key(|safety| *safety != Safety::Safe);
    Some(Example { passes: if good == bad { String::new() } else { good }, fails: bad, fix })
}

/// The examples in the rule reference; `INSTA_UPDATE=always` writes them.
#[test]
fn examples_are_up_to_date() {
    let mut examples = BTreeMap::new();
    for rule in rules_of_bundles() {
        let Some(fixture) = &FIXTURES[rule.id] else { continue };
        let fixed = |finding: &&Finding| finding.rule == rule.id;
        let own = Fixture {
            also: Vec::new(),
            fail: fixture
                .fail
                .iter()
                .map(|case| Case {
                    edits: case.edits.clone(),
                    findings: case.findings.iter().filter(fixed).cloned().collect(),
                })
                .collect(),
            pass: fixture
                .pass
                .iter()
                .map(|case| Case { edits: case.edits.clone(), findings: Vec::new() })
                .collect(),
        };
        if let Some(example) = example(&own, rule.suite) {
            examples.insert(rule.id, example);
        }
    }
    let generated = serde_json::to_string_pretty(&examples).unwrap() + "\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/examples.json");
    if std::env::var_os("INSTA_UPDATE").is_some_and(|value| value == "always") {
        fs::write(path, generated).unwrap();
        return;
    }
    let written = fs::read_to_string(path).unwrap();
    assert!(written == generated, "src/examples.json is out of date: run `make rule`");
}
