//! Command lines of public projects, and those of the documentation, as they are and migrated.

use super::*;

const CSV: &str = "+bundle/manifests/gitops-operator.clusterserviceversion.yaml name: gitops-operator.v";
/// What commands report of the mock cluster, which has no OLM.
pub(super) const NO_OLM: &str = "!the cluster has no OLM: it does not serve operators.coreos.com";

/// What the lines of a list of public command lines do.
const LINES: &[Expected] = &[
    ("S|validate-plain", 0, &[PASSED]),
    ("S|validate-of", 0, &[PASSED]),
    ("S|validate-first", 0, &[PASSED]),
    ("S|validate-k8s", 0, &[PASSED]),
    ("S|validate-2sel", 0, &[PASSED]),
    ("S|validate-json", 0, &[PASSED, ">\"passed\": true"]),
    ("S|validate-builder", 0, &[PASSED]),
    ("S|validate-b-image", 0, &[PASSED]),
    ("S|validate-none-img", 0, &[PASSED]),
    ("S|validate-community-ip", 0, &[PASSED]),
    ("S|validate-external", 0, &[PASSED, ">level=warning msg=\"Warning: Field f, Value : from outside\""]),
    ("S|validate-list", 0, &[">NAME ", ">suite=operatorframework"]),
    ("S|validate-grepv", 0, &[">All validation tests have completed successfully"]),
    ("S|validate-v", 0, &[PASSED]),
    (
        "S|gkm",
        0,
        &[
            "+config/manifests/bases/gitops-operator.clusterserviceversion.yaml displayName: Gitops Operator",
            "+config/manifests/kustomization.yaml",
        ],
    ),
    ("S|gkm-int", 0, &["+config/manifests/kustomization.yaml"]),
    ("S|gkm-apis", 0, &["+config/manifests/kustomization.yaml"]),
    ("S|gkm-io", 0, &["+config/manifests/base/bases/gitops-operator.clusterserviceversion.yaml"]),
    (
        "S|gkm-verbose",
        0,
        &[">Kustomize files generated successfully", "+config/manifests/base/kustomization.yaml"],
    ),
    (
        "S|gkm-hub",
        0,
        &["+config/manifests-hub/bases/kernel-module-management-hub.clusterserviceversion.yaml"],
    ),
    (
        "S|gb-stock",
        0,
        &[
            CSV,
            "+bundle/metadata/annotations.yaml channels.v1: stable",
            "+bundle.Dockerfile builder=operator-sdk-v",
        ],
    ),
    ("S|gb-digests", 0, &["+bundle/manifests/gitops-operator.clusterserviceversion.yaml @sha256:"]),
    ("S|gb-nooverwrite", 0, &[CSV, "+bundle/metadata/annotations.yaml bundle.package.v1: gizmo-operator"]),
    ("S|gb-pkgout", 0, &["+bundle2/metadata/annotations.yaml channels.v1: alpha"]),
    ("S|gb-extra", 0, &[CSV]),
    ("S|gb-verbose", 0, &[CSV]),
    (
        "S|gb-input",
        0,
        &[
            ">Bundle manifests generated successfully in bundle-ocp",
            "+bundle-ocp/manifests/das-operator.clusterserviceversion.yaml",
        ],
    ),
    (
        "S|gb-deploy",
        0,
        &[">Generating bundle version 0.0.1", "+bundle/manifests/gadgets.example.com_gizmos.yaml"],
    ),
    ("S|gb-kdir", 0, &["+out/manifests/node-healthcheck-operator.clusterserviceversion.yaml"]),
    ("S|gb-mm", 0, &["+bundle/metadata/annotations.yaml bundle.package.v1: x"]),
    ("S|gb-stdout", 0, &[">kind: ClusterServiceVersion", ">name: RELATED_IMAGE_SIDE_CAR"]),
    ("S|gb-novers", 0, &[CSV]),
    ("S|gb-0ver", 1, &["!Error: invalid command options: local is not a valid semantic version"]),
    ("S|gb-pm", 1, &["!use `operator-sdk generate bundle` with the same manifests"]),
    ("S|run-plain", 1, &[NO_OLM]),
    ("S|run-ns-t", 1, &[NO_OLM]),
    ("S|run-n-first", 1, &[NO_OLM]),
    ("S|run-verbose", 1, &[NO_OLM]),
    ("S|run-http", 1, &[NO_OLM]),
    ("S|run-skiptls", 1, &[NO_OLM, "!Flag --skip-tls has been deprecated"]),
    ("S|run-skiptlsv", 1, &[NO_OLM]),
    ("S|run-scc", 1, &[NO_OLM]),
    ("S|run-mode", 1, &[NO_OLM]),
    ("S|run-mode2", 1, &[NO_OLM]),
    ("S|run-idx", 1, &[NO_OLM]),
    ("S|run-pull", 1, &[NO_OLM]),
    ("S|run-ipp", 1, &[NO_OLM]),
    ("S|run-ca", 1, &["!secret `s` does not exist in namespace `default`"]),
    ("S|up-plain", 1, &[NO_OLM]),
    ("S|up-scc", 1, &[NO_OLM]),
    ("S|up-http", 1, &[NO_OLM]),
    (
        "S|clean-plain",
        0,
        &["!level=warning msg=\"Cleanup operator: package \\\"memcached-operator\\\" not found\\n\""],
    ),
    ("S|clean-all", 0, &["!level=warning"]),
    ("S|clean-false", 0, &["!level=warning"]),
    ("S|clean-nf", 0, &["!level=warning"]),
    ("S|clean-t", 0, &["!level=warning"]),
    ("S|clean-crds", 0, &["!level=warning"]),
    ("S|sc-plain", 1, &[">Name: basic-check-spec", ">State: fail"]),
    ("S|sc-w", 1, &[">Name: olm-spec-descriptors"]),
    ("S|sc-sel", 0, &[">State: pass"]),
    ("S|sc-kuttl", 0, &[">0 tests selected"]),
    ("S|sc-pod", 1, &[">State: fail"]),
    ("S|sc-untar", 1, &[">State: fail"]),
    ("S|olm-i", 1, &["!the manifests lack CRD `catalogsources.operators.coreos.com`"]),
    ("S|olm-iv", 1, &["!the manifests lack CRD `catalogsources.operators.coreos.com`"]),
    ("S|olm-iveq", 1, &["!the manifests lack CRD"]),
    ("S|olm-it", 1, &["!the manifests lack CRD"]),
    ("S|olm-s", 1, &[">OLM is not installed"]),
    ("S|olm-sn", 1, &[">OLM is not installed"]),
    ("S|olm-u", 1, &["!OLM is not installed"]),
    ("S|olm-uv", 1, &["!OLM is not installed"]),
    (
        "S|ver",
        0,
        &[
            ">operator-sdk version: \"v1.42.3\", commit: \"",
            ">kubernetes version: \"1.33.1\"",
            ">, GOOS: \"linux\"",
        ],
    ),
    ("S|ver-cut", 0, &[">v1.42.3\n"]),
    ("S|init", 0, &["+empty/Cargo.toml", "+empty/PROJECT domain: example.com"]),
    ("S|init-ans", 1, &["!only operators in Rust are scaffolded; use the ansible-operator-plugins project"]),
    ("S|init-helm", 1, &["!use `bundle-tool init --from CHART`"]),
    ("S|capi", 0, &["+empty/PROJECT kind: Memcached"]),
    ("S|pkgman", 1, &["!opm alpha bundle generate"]),
    ("O|render-yaml", 0, &[">schema: olm.bundle", ">type: olm.bundle.object"]),
    ("O|render-oyaml", 0, &[">schema: olm.bundle"]),
    ("O|render-dir", 0, &[">schema: olm.bundle", ">image: \"\""]),
    ("O|render-mig", 0, &[">type: olm.bundle.object"]),
    ("O|render-http", 0, &[">schema: olm.bundle"]),
    ("O|render-skip", 0, &[">schema: olm.bundle"]),
    ("O|render-skipt", 0, &[">    \"schema\": \"olm.bundle\","]),
    ("O|render-2", 0, &[">    \"schema\": \"olm.package\",", ">\"name\": \"gizmo-operator.v1.2.0\""]),
    ("O|validate", 0, &[]),
    ("O|validate-q", 0, &[]),
    ("O|gendf", 0, &["+catalog.Dockerfile ADD catalog /configs"]),
    (
        "O|gendf-i",
        0,
        &["+catalog.Dockerfile FROM registry.redhat.io/openshift4/ose-operator-registry-rhel9:v4.18"],
    ),
    ("O|gendf-l", 0, &["+catalog.Dockerfile LABEL \"quay.expires-after\"=\"4w\""]),
    (
        "O|gendf-bin",
        0,
        &[
            "+catalog.Dockerfile FROM registry.redhat.io/openshift4/ose-operator-registry:v4.14 as builder",
            "!Flag --binary-image has been deprecated",
        ],
    ),
    ("O|agendf", 0, &["+catalog.Dockerfile FROM quay.io/operator-framework/opm:latest"]),
    ("O|init", 0, &[">---\ndefaultChannel: alpha\nname: gitops-operator\nschema: olm.package\n"]),
    ("O|init-full", 0, &[">mediatype: image/png", ">description: |\n  # Docs\n"]),
    ("O|rt-basic", 0, &[">---\ndefaultChannel: stable", ">schema: olm.bundle"]),
    ("O|rt-basic-ml", 0, &[">type: olm.csv.metadata"]),
    ("O|rt-none", 0, &[">    \"schema\": \"olm.package\""]),
    ("O|rt-semver-stdin", 0, &[">name: stable-v1"]),
    ("O|rt-semver-caps", 0, &[">name: stable-v1"]),
    ("O|rt-skip", 0, &[">name: stable-v1"]),
    ("O|rt-auto", 0, &[">    \"schema\": \"olm.package\""]),
    ("O|rt-mermaid", 0, &[">graph LR\n", ">subgraph gizmo-operator-stable-v1[\"stable-v1\"]"]),
    ("O|veneer", 0, &[">    \"schema\": \"olm.package\""]),
    (
        "O|conv",
        0,
        &[
            ">    \"schema\": \"olm.template.basic\",",
            ">            \"image\": \"quay.io/example/lightspeed-operator-bundle:v1.0.0\"",
        ],
    ),
    ("O|conv-o", 0, &[">schema: olm.template.basic"]),
    (
        "O|list-p",
        0,
        &[">NAME                 DISPLAY NAME  DEFAULT CHANNEL\nlightspeed-operator                stable\n"],
    ),
    (
        "O|list-c",
        0,
        &[
            ">PACKAGE              CHANNEL  HEAD\n",
            ">lightspeed-operator  stable   lightspeed-operator.v1.2.0\n",
        ],
    ),
    ("O|list-b", 0, &[">PACKAGE              CHANNEL  BUNDLE ", ">lightspeed-operator-bundle:v1.0.0\n"]),
    ("O|graph", 0, &[">graph LR\n  classDef deprecated fill:#E8960F\n", ">-- skip --> "]),
    (
        "O|abg",
        0,
        &[
            "+outb/metadata/annotations.yaml channel.default.v1: stable",
            "+bundle.Dockerfile COPY outb/manifests /manifests/",
        ],
    ),
    (
        "O|abb",
        0,
        &[
            "!Inferred channels: stable",
            "+tool.log docker load",
            "+bundle.Dockerfile COPY metadata /metadata/",
        ],
    ),
    ("O|abv", 0, &["!All validation tests have been completed successfully"]),
    (
        "O|abu",
        0,
        &["+outu/metadata/annotations.yaml", "+outu/manifests/gizmo-operator.clusterserviceversion.yaml"],
    ),
    ("O|abu-h", 0, &["+outu2/metadata/annotations.yaml"]),
    ("O|idx-add", 0, &["!level=warning msg=\"building a file-based catalog", "+tool.log docker load"]),
    (
        "O|idx-gen",
        0,
        &[
            "+index.Dockerfile ADD index /configs",
            "+index/gizmo-operator/catalog.yaml name: gizmo-operator.v1.2.0",
        ],
    ),
    ("O|idx-bt", 0, &["+tool.log docker load"]),
    ("O|idx-prune", 0, &["+tool.log podman load"]),
    ("O|idx-rm", 0, &["+tool.log podman load"]),
    ("O|reg-add", 1, &["!use `bundle-tool catalog add CATALOG BUNDLE`"]),
    ("O|migrate", 0, &["+catalog-migrate/lightspeed-operator/catalog.json     \"schema\": \"olm.package\""]),
    ("O|migrate-y", 0, &["+catalog-migrate2/lightspeed-operator/catalog.yaml schema: olm.package"]),
    ("O|serve-co", 0, &["+cachedir/catalog.index"]),
    ("O|serve-term", 0, &["+cachedir/catalog.index"]),
    ("O|ver", 0, &[">Version: version.Version{OpmVersion:\"v1.73.0\", GitCommit:"]),
    ("O|ver-grep", 0, &[">OpmVersion:\"v1.73.0\"\n"]),
];

/// Reads a list of command lines beside the repository, which not every checkout has.
fn shared(name: &str) -> Option<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/dropin").join(name);
    let text = fs::read_to_string(path).ok();
    if text.is_none() {
        test_support::skip(&format!("../shared/dropin/{name} is not beside the repository"));
    }
    text
}

#[test]
fn public_command_lines_work() {
    let Some(text) = shared("inv.tsv") else { return };
    let sandbox = Sandbox::new();
    let lines: Vec<(String, &str)> = text
        .lines()
        .filter_map(|line| {
            let mut parts = line.splitn(3, '|');
            Some((format!("{}|{}", parts.next()?, parts.next()?), parts.next()?))
        })
        .collect();
    check_all(&lines, |_, (name, line)| {
        let Some((_, status, facts)) = LINES.iter().find(|(other, ..)| other == name) else {
            return vec![format!("{name}: no expectation")];
        };
        // A new project is a directory of its own.
        let line = match name.as_str() {
            "S|init" => format!("mkdir empty && cd empty && {line} --skip-go-version-check"),
            "S|capi" => {
                let init = "operator-sdk init --domain example.com --skip-go-version-check";
                format!("mkdir empty && cd empty && {init} && {line}")
            }
            _ => (*line).to_owned(),
        };
        check(name, &sandbox.run(name, &line), *status, facts)
    });
    assert!(!sandbox.server.requests().is_empty());
}

/// The values of variables in calls.
const VARIABLES: &[(&str, &str)] = &[
    ("BUNDLE_IMAGE_ORIGIN", "quay.io/x/y:v1"),
    ("BUNDLE_IMAGE", "quay.io/x/y:v1"),
    ("BUNDLE_IMG", "quay.io/x/y:v1"),
    ("BUNDLE_IMGS", "quay.io/x/y:v1"),
    ("CATALOG_BUNDLE_IMGS", "quay.io/x/y:v1"),
    ("PREVIOUS_BUNDLE_IMAGE", "quay.io/x/y:v1"),
    ("THIS_BUNDLE_IMAGE", "quay.io/x/y:v2"),
    ("CATALOG_IMG", "localhost:5107/made:v1"),
    ("CATALOG_IMAGE", "localhost:5107/made:v1"),
    ("CONTAINER_TOOL", "docker"),
    ("CONTAINER_CMD", "docker"),
    ("VERSION", "0.0.1"),
    ("PACKAGE_VERSION", "0.0.1"),
    ("MANIFESTS_DIR", "config/manifests"),
    ("BUNDLE_DIR", "bundle"),
    ("CATALOG_DIR", "catalog"),
    ("OUTDIR", "."),
    ("OP_DIR", "."),
    ("v", "versions"),
    ("CHANNEL", "alpha"),
    ("OPERATOR_NAME", "gitops-operator"),
    ("NEW_VERSION_NEW_MANIFEST_DIR", "bundle"),
    ("QUAY_IMAGE_EXPIRY", "4w"),
    ("timeout", "5m"),
    ("image", "quay.io/x/y:v1"),
    ("latest_published_bundle", "quay.io/x/y:v1"),
    ("OO_BUNDLE", "quay.io/x/y:v2"),
    ("OO_HUB_BUNDLE", "quay.io/x/y:v2"),
    ("TARGET_BUNDLE_IMAGE_SHA", "quay.io/x/y:v1"),
    ("LIMITADOR_OPERATOR_BUNDLE_IMG", "quay.io/x/y:v1"),
    ("AUTHORINO_OPERATOR_BUNDLE_IMG", "quay.io/x/y:v1"),
    ("DNS_OPERATOR_BUNDLE_IMG", "quay.io/x/y:v1"),
    ("BUNDLE_GEN_FLAGS", "-q --overwrite --version 0.0.1"),
    ("BUNDLE_BUILD_GEN_FLAGS", "-q --overwrite --version 0.0.1"),
    ("BUNDLE_METADATA_OPTS", "--channels=alpha --default-channel=alpha"),
    ("FROM_INDEX_OPT", "--from-index localhost:5107/cat:v1"),
    ("OPM_RENDER_FLAGS", "--skip-tls-verify"),
    ("OPM_ARGS", ""),
    ("NAMESPACE", "ns"),
    ("ns", "ns"),
    ("namespace", "ns"),
    ("DEPLOY_NAMESPACE", "ns"),
    ("OPERATOR_NAMESPACE", "ns"),
    ("OADP_TEST_NAMESPACE", "ns"),
    ("IMAGE_REGISTRY", "quay.io/x"),
    ("env", "."),
    ("CATALOG_FILE", "catalog/index.yaml"),
    ("FEATURE_RELEASE_BRANCH", "v1"),
    ("BUNDLE", "quay.io/x/y:v1"),
];

/// Returns the command of a call, with values for its variables; `None` if the line calls neither tool.
fn command(call: &str) -> Option<String> {
    let variable = regex::Regex::new(r"\$(?:\(params\.)?[({]?([A-Za-z_]+)[)}]?").unwrap();
    let tools = regex::Regex::new(
        r#"(?:^|[\s|@;"(/])(?:\$[({]?(OPERATOR_SDK|OPM)[)}]?|(?:\S*bin/)?(operator-sdk|opm))"?\s+(.*)$"#,
    )
    .unwrap();
    let call = call
        .replace("$(shell basename $(CONTAINER_RUNTIME))", "docker")
        .replace("$(dirname \"${CATALOG_FILE}\")", "catalog")
        .replace("$(toDigestURL $BUNDLE)", "quay.io/x/y:v1")
        .replace("xargs -I {} operator-sdk bundle validate {}", "operator-sdk bundle validate ./bundle")
        .replace("$(toDigestURL quay.io/openstack-k8s-operators/openstack-operator-bundle:${FEATURE_RELEASE_BRANCH}-latest)", "quay.io/x/y:v1");
    let found = tools.captures(&call)?;
    let tool = if found.get(1).or(found.get(2))?.as_str().to_lowercase().contains("opm") {
        "opm"
    } else {
        "operator-sdk"
    };
    let rest = found.get(3)?.as_str();
    let values = variable.replace_all(rest, |found: &regex::Captures<'_>| {
        let name = &found[1];
        VARIABLES.iter().find(|(other, _)| *other == name).map_or("", |(_, value)| value).to_owned()
    });
    // What follows on the next line.
    let values = values
        .replace("bundle-upgrade \\", "bundle-upgrade quay.io/x/y:v2")
        .replace("=ope", "=operatorframework");
    let values = values.replace("=operatorframeworkratorframework", "=operatorframework").replace("2>", ">");
    let end = values.find(['|', '>', ';', '\\']).unwrap_or(values.len());
    let rest = values[..end].trim().trim_matches('"').replace('"', "").replace("run_bundle_args[@]", "");
    Some(format!("{tool} {}", rest.trim_end_matches([')', '}'])))
}

#[test]
fn calls_of_public_projects_work() {
    let Some(text) = shared("calls.txt") else { return };
    let sandbox = Sandbox::new();
    let mut calls: Vec<String> = text
        .lines()
        .filter(|line| !line.contains("log_fail"))
        .map(|line| {
            command(line.splitn(4, ' ').nth(3).unwrap()).unwrap_or_else(|| panic!("no call in {line}"))
        })
        .collect();
    calls.sort();
    calls.dedup();
    assert!(calls.len() > 40, "{calls:?}");
    check_all(&calls, |index, call| {
        let words: Vec<&str> = call.split_whitespace().collect();
        let name = format!("call-{index}");
        let prepare = |what: &str| -> String {
            let paths = words.iter().filter(|word| {
                word.contains(what)
                    && !word.contains("quay.io")
                    && !word.contains("localhost")
                    && !word.starts_with('-')
            });
            paths
                    .map(|path| {
                        format!(
                            "if [ ! -e {path} ]; then cp -R {what} copy; mkdir -p $(dirname {path}); mv copy {path}; fi; "
                        )
                    })
                    .collect()
        };
        let setup = match (words[0], words.get(1).copied(), words.get(2).copied()) {
            ("operator-sdk", Some("bundle" | "scorecard"), _) | ("opm", Some("render"), _) => {
                prepare("bundle")
            }
            ("opm", Some("validate" | "generate"), _) => prepare("catalog"),
            ("opm", Some("alpha"), Some("bundle")) => "cp -R manifests versions; ".to_owned(),
            _ => String::new(),
        };
        let is_of_cluster = words.iter().any(|word| matches!(*word, "run" | "olm"));
        // The fixture does not pass the scorecard's tests, and there is no OLM on the mock cluster.
        let status = i32::from(is_of_cluster || words.contains(&"scorecard"));
        let line = format!("{setup}cat km.yaml | {call}");
        let run = sandbox.run(&name, &line);
        let mut problems = check(call, &run, status, &[]);
        if run.stderr.contains("Usage:") {
            problems.push(format!("{call}: a usage error"));
        }
        problems
    });
}

/// Returns the lines of the tables in `docs/migrating.md`: those of the other tool with the native ones.
fn documented() -> Vec<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/migrating.md");
    let text = fs::read_to_string(path).unwrap();
    let rows =
        text.lines().filter_map(|line| line.strip_prefix("| `")?.strip_suffix("` |")?.split_once("` | `"));
    rows.map(|(theirs, ours)| (theirs.to_owned(), ours.to_owned())).collect()
}

#[test]
fn documented_lines_work_in_both_forms() {
    let sandbox = Sandbox::new();
    let rows = documented();
    assert!(rows.len() > 20, "{rows:?}");
    check_all(&rows, |index, (theirs, ours)| {
        // What needs OLM fails on the mock cluster, after the command line was accepted.
        let needs_olm = [" run ", " olm "].iter().any(|word| theirs.contains(word));
        let mut problems = Vec::new();
        for (kind, line) in [("theirs", theirs), ("ours", ours)] {
            let run = sandbox.run(&format!("documented-{index}-{kind}"), line);
            let is_expected = if needs_olm {
                matches!(run.status, Some(1 | 2))
                    && !run.stderr.contains("Usage")
                    && ["OLM is not installed", "the cluster has no OLM"]
                        .iter()
                        .any(|text| run.stdout.contains(text) || run.stderr.contains(text))
            } else {
                run.status == Some(0)
            };
            if !is_expected {
                problems.push(format!("{line}: {:?}: {}", run.status, run.stderr));
            }
        }
        problems
    });
}

/// The line that fails natively, because it reads tags from a registry on this machine without TLS.
const DIFFERENT: [&str; 1] = ["S|gb-digests"];

#[test]
fn migrated_public_command_lines_end_in_the_same_way() {
    let Some(text) = shared("inv.tsv") else { return };
    let sandbox = Sandbox::new();
    let lines: Vec<&str> = text.lines().collect();
    let problems: Vec<String> = lines
        .par_iter()
        .filter_map(|row| {
            let mut parts = row.splitn(3, '|');
            let name = format!("{}|{}", parts.next()?, parts.next()?);
            let line = parts.next()?;
            let (_, status, _) = LINES.iter().find(|(other, ..)| *other == name)?;
            let directory = format!("migrated-{name}");
            // The first line creates the copy of the project.
            let run = sandbox
                .run(&directory, "mkdir -p config/manifests && touch config/manifests/kustomization.yaml");
            write(&run.directory.join("run.sh"), &format!("{line}\n").replace(REGISTRY, &sandbox.host()));
            let migrate = sandbox.run(&directory, "bundle-tool migrate-project --write");
            let new = fs::read_to_string(run.directory.join("run.sh")).unwrap();
            if migrate.status != Some(0) {
                return Some(format!("{name}: {}", migrate.stderr));
            }
            let run = sandbox.run(&directory, "sh ./run.sh");
            let is_kept = migrate.stdout.contains("kept: ");
            let is_equal = (run.status == Some(0)) == (*status == 0);
            (is_equal == DIFFERENT.contains(&name.as_str()) && !is_kept)
                .then(|| format!("{name}: {new}: {:?}: {}", run.status, run.stderr))
        })
        .collect();
    assert!(problems.is_empty(), "{} of {}:\n{}", problems.len(), lines.len(), problems.join("\n"));
}
