//! The command lines of operator-sdk and opm, as scripts write them: run by a shell, with links to this program in `PATH`.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rayon::prelude::*;
use serde_json::json;
use tempfile::TempDir;

use crate::api_server::ApiServer;
use crate::push::Registry;
use crate::support::{copy, copy_bundle, fixture};

/// The registry in command lines that were written elsewhere.
const REGISTRY: &str = "localhost:5107";

/// A project, a registry and a mock API server.
struct Sandbox {
    directory: TempDir,
    registry: Registry,
    server: ApiServer,
}

/// How a line ended.
struct Run {
    status: Option<i32>,
    stdout: String,
    stderr: String,
    directory: PathBuf,
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn script(path: &Path, text: &str) {
    write(path, text);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A Deployment with its service account and role, as kustomize prints it.
const MANIFESTS: &str = "\
apiVersion: v1
kind: ServiceAccount
metadata: {name: manager, namespace: system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: manager, namespace: system}
rules:
- {apiGroups: [''], resources: [configmaps], verbs: [get, list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: manager, namespace: system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: manager}
subjects:
- {kind: ServiceAccount, name: manager, namespace: system}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: controller-manager, namespace: system}
spec:
  replicas: 1
  selector: {matchLabels: {app: manager}}
  template:
    metadata: {labels: {app: manager}}
    spec:
      serviceAccountName: manager
      containers:
      - name: manager
        image: REGISTRY/gitops-operator-bundle:v1
        env:
        - {name: RELATED_IMAGE_SIDE_CAR, value: 'REGISTRY/x/y:v1'}
";

impl Sandbox {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let registry = Registry::start(root);
        let server = ApiServer::start(|request, _| {
            match request {
                "GET /version" => {
                    return (200, json!({ "major": "1", "minor": "33", "gitVersion": "v1.33.0" }));
                }
                "GET /api" => return (200, json!({ "kind": "APIVersions", "versions": [] })),
                "GET /apis" => return (200, json!({ "kind": "APIGroupList", "groups": [] })),
                _ => {}
            }
            (
                404,
                json!({ "kind": "Status", "status": "Failure", "reason": "NotFound", "message": "not found", "code": 404 }),
            )
        });
        server.kubeconfig(&root.join("kubeconfig"));
        let sandbox = Self { directory, registry, server };
        sandbox.links();
        sandbox.project();
        sandbox.images();
        sandbox
    }

    fn host(&self) -> String {
        self.registry.address.replace("127.0.0.1", "localhost")
    }

    /// Writes links with the names of the tools, and programs in place of container tools.
    fn links(&self) {
        let bin = self.directory.path().join("bin");
        fs::create_dir(&bin).unwrap();
        for name in ["operator-sdk", "opm", "bundle-tool"] {
            symlink(env!("CARGO_BIN_EXE_bundle-tool"), bin.join(name)).unwrap();
        }
        for name in ["docker", "podman"] {
            script(
                &bin.join(name),
                "#!/bin/sh\nfor last; do :; done\ntest -s \"$last\" && echo \"$(basename $0) $1\" >> tool.log\n",
            );
        }
    }

    fn project(&self) {
        let root = self.directory.path().join("project");
        copy_bundle(root.join("bundle"));
        copy(&root.join("bundle/manifests"), &root.join("manifests"));
        write(
            &root.join("PROJECT"),
            "domain: example.com\nlayout:\n- helm.sdk.operatorframework.io/v1\nprojectName: gitops-operator\nversion: '3'\n",
        );
        write(&root.join("README.md"), "# Docs\n");
        fs::write(root.join("nhc_blue.png"), b"\x89PNG\r\n\x1a\n").unwrap();
        let catalog = fs::read_to_string(fixture("catalog/valid.yaml")).unwrap();
        write(&root.join("catalog/index.yaml"), &catalog.replace("gizmo", "lightspeed-operator"));
        for name in ["km.yaml", "deploy/all.yaml", "config/all.yaml"] {
            write(&root.join(name), MANIFESTS);
        }
        fs::create_dir_all(root.join("config/crd/bases")).unwrap();
        fs::copy(
            root.join("manifests/gizmos.gadgets.example.com.crd.yaml"),
            root.join("config/crd/bases/gizmos.yaml"),
        )
        .unwrap();
        script(
            &root.join("related-images-validator"),
            "#!/bin/sh\necho '{\"Name\": \"x\", \"Errors\": null, \"Warnings\": [{\"Type\": \"t\", \"Level\": \"Warning\", \
             \"Field\": \"f\", \"BadValue\": \"\", \"Detail\": \"from outside\"}]}'\n",
        );
        write(
            &root.join("basic.yaml"),
            "schema: olm.template.basic\nentries:\n- {schema: olm.package, name: gizmo-operator, defaultChannel: stable}\n\
             - {schema: olm.channel, package: gizmo-operator, name: stable, entries: [{name: gizmo-operator.v1.2.0}]}\n\
             - {schema: olm.bundle, image: 'quay.io/x/y:v1'}\n",
        );
        let semver = "schema: olm.semver\ngenerateMajorChannels: true\nstable:\n  bundles:\n  - image: \
                      quay.io/x/y:v1\n";
        write(&root.join("semver.yaml"), semver);
        let capitals =
            semver.replace("schema", "Schema").replace("generate", "Generate").replace("stable", "Stable");
        write(
            &root.join("semver-caps.yaml"),
            &capitals.replace("bundles", "Bundles").replace("image", "Image"),
        );
        write(
            &root.join("gizmo.package.yaml"),
            "packageName: gizmo-operator\ndefaultChannel: stable\nchannels:\n- {name: stable, currentCSV: gizmo-operator.v1.2.0}\n",
        );
        fs::create_dir(root.join("packagemanifests")).unwrap();
        for name in ["crds.yaml", "olm.yaml"] {
            write(&root.join("olm").join(name), "apiVersion: v1\nkind: Namespace\nmetadata: {name: olm}\n");
        }
        let location = |prefix: &str, location: &str| {
            format!("[[registry]]\nprefix = \"{prefix}\"\nlocation = \"{location}\"\ninsecure = true\n")
        };
        let host = self.host();
        let text = location("quay.io/x", &format!("{host}/x"))
            + &location("docker.io/nadunrds", &format!("{host}/x"))
            + &location("quay.io/example", &format!("{host}/x"))
            + &location("registry.redhat.io/redhat", &format!("{host}/redhat"));
        write(&root.join("registries.conf"), &text);
        for name in
            ["basic.yaml", "semver.yaml", "semver-caps.yaml", "km.yaml", "deploy/all.yaml", "config/all.yaml"]
        {
            let text = fs::read_to_string(root.join(name)).unwrap();
            write(&root.join(name), &text.replace("REGISTRY", &self.host()));
        }
    }

    /// Pushes what the lines pull.
    fn images(&self) {
        let host = self.host();
        let catalog = fs::read_to_string(fixture("catalog/valid.yaml")).unwrap();
        let names = ["a", "b", "etcd"].map(|name| catalog.replace("gizmo", name));
        write(&self.directory.path().join("project/index/all.yaml"), &names.join("---\n"));
        let next = self.directory.path().join("project/next");
        copy_bundle(next.clone());
        let csv = next.join("manifests/gizmo-operator.clusterserviceversion.yaml");
        write(
            &csv,
            &fs::read_to_string(&csv)
                .unwrap()
                .replace("1.2.0", "1.3.0")
                .replace("  version: 1.3.0", "  version: 1.3.0\n  replaces: gizmo-operator.v1.2.0"),
        );
        for (directory, name) in [
            ("bundle", "gitops-operator-bundle:v1"),
            ("bundle", "x/y:v1"),
            ("next", "x/y:v2"),
            ("bundle", "x/k8s-replicator-bundle:v1"),
        ] {
            let run =
                self.run("push", &format!("bundle-tool push bundle {directory} {host}/{name} --plain-http"));
            assert_eq!(run.status, Some(0), "{}", run.stderr);
        }
        for name in ["cat:v1", "redhat/redhat-operator-index:v4.8"] {
            let line = format!("bundle-tool push catalog index {host}/{name} --plain-http --data-only");
            let run = self.run("push", &line);
            assert_eq!(run.status, Some(0), "{}", run.stderr);
        }
        for directory in ["index", "next"] {
            fs::remove_dir_all(self.directory.path().join("project").join(directory)).unwrap();
        }
    }

    /// Runs a line in a copy of the project.
    fn run(&self, name: &str, line: &str) -> Run {
        let root = self.directory.path();
        let directory = root.join("runs").join(name.replace(['|', '/'], "-"));
        if !directory.exists() {
            copy(&root.join("project"), &directory);
        }
        let line = line.replace(REGISTRY, &self.host());
        let path = format!("{}:{}", root.join("bin").display(), std::env::var("PATH").unwrap());
        let output = Command::new("sh")
            .args(["-c", &line])
            .current_dir(&directory)
            .env("PATH", path)
            .env("HOME", root)
            .env("KUBECONFIG", root.join("kubeconfig"))
            .env("CONTAINERS_REGISTRIES_CONF", root.join("project/registries.conf"))
            .env("BUNDLE_TOOL_OLM_RELEASES", root.join("project/olm"))
            .env_remove("SOURCE_DATE_EPOCH")
            .env_remove("KUBERNETES_SERVICE_HOST")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Run {
            status: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
            directory,
        }
    }
}

/// A line by its name: the exit status, and facts. `>` precedes what standard output has, `!` what standard error has, and `+` the
/// path of a file that is written, with what it has after a blank.
type Expected = (&'static str, i32, &'static [&'static str]);

fn check(name: &str, run: &Run, status: i32, facts: &[&str]) -> Vec<String> {
    let mut problems = Vec::new();
    if run.status != Some(status) {
        problems.push(format!(
            "{name}: status {:?}, expected {status}: {}{}",
            run.status, run.stdout, run.stderr
        ));
    }
    for fact in facts {
        let (kind, text) = fact.split_at(1);
        let (found, place) = match kind {
            ">" => (run.stdout.contains(text), run.stdout.clone()),
            "!" => (run.stderr.contains(text), run.stderr.clone()),
            "+" => {
                let (path, text) = text.split_once(' ').unwrap_or((text, ""));
                let content =
                    fs::read_to_string(run.directory.join(path)).unwrap_or_else(|error| error.to_string());
                (run.directory.join(path).exists() && content.contains(text), content)
            }
            _ => panic!("{name}: unknown fact {fact}"),
        };
        if !found {
            problems.push(format!("{name}: {fact} is missing in: {place}"));
        }
    }
    problems
}

const PASSED: &str = "!level=info msg=\"All validation tests have completed successfully\"";
const CSV: &str = "+bundle/manifests/gitops-operator.clusterserviceversion.yaml name: gitops-operator.v";
/// What commands report of the mock cluster, which has no OLM.
const NO_OLM: &str = "!the cluster has no OLM: it does not serve operators.coreos.com";

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
    ("S|ver", 0, &[">operator-sdk version: \"v1.42.3\", commit: \"", ">, GOOS: \"linux\""]),
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
    let problems: Vec<String> = lines
        .par_iter()
        .flat_map(|(name, line)| {
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
        })
        .collect();
    assert!(problems.is_empty(), "{} of {}:\n{}", problems.len(), lines.len(), problems.join("\n"));
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
    let problems: Vec<String> = calls
        .par_iter()
        .enumerate()
        .flat_map(|(index, call)| {
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
        })
        .collect();
    assert!(problems.is_empty(), "{} of {}:\n{}", problems.len(), calls.len(), problems.join("\n"));
}

#[test]
fn flags_are_read_as_cobra_reads_them() {
    let sandbox = Sandbox::new();
    let cases: &[(&str, i32, &[&str])] = &[
        (
            "operator-sdk bundle validate",
            1,
            &["!Error: invalid command args: an image tag or directory is a required argument\nUsage:"],
        ),
        ("operator-sdk bundle validate ./bundle -o yaml", 1, &["!invalid value for output flag: yaml"]),
        (
            "operator-sdk bundle validate ./bundle --select-optional name=x",
            1,
            &["!selector \"name=x\" does not match any validator labels"],
        ),
        (
            "operator-sdk bundle validate ./bundle --select-optional 'name in (capabilities,categories)'",
            0,
            &[PASSED],
        ),
        ("operator-sdk bundle validate ./bundle --optional-values=k8s-version=None", 0, &[PASSED]),
        ("operator-sdk bundle validate ./nosuch/bundle", 1, &["!level=fatal msg="]),
        (
            "operator-sdk bundle validate ./bundle --nosuch",
            1,
            &["!Error: unknown flag: --nosuch\nUsage:\n  operator-sdk bundle validate BUNDLE [flags]"],
        ),
        (
            "operator-sdk nosuch",
            1,
            &[
                "!Error: unknown command \"nosuch\" for \"operator-sdk\"",
                "!Run 'operator-sdk --help' for usage.",
            ],
        ),
        ("operator-sdk", 0, &[">Available Commands:"]),
        (
            "operator-sdk help bundle validate",
            0,
            &[">operator-sdk bundle validate BUNDLE [flags]", ">-b, --image-builder string"],
        ),
        ("operator-sdk completion bash", 0, &[">operator-sdk"]),
        ("opm completion zsh", 0, &[">#compdef opm"]),
        ("opm render bundle -o xml", 1, &["!invalid --output value \\\"xml\\\", expected (json|yaml)"]),
        ("opm validate catalog -o json", 0, &[">{\n  \"passed\": true\n}\n"]),
        ("opm validate catalog -o yaml", 0, &[">passed: true\n"]),
        ("opm validate nosuch", 1, &["!stat nosuch: no such file or directory"]),
        (
            "sed -i 's/name: lightspeed-operator.v1.1.0$/name: x/' catalog/index.yaml; opm validate catalog",
            1,
            &["!level=fatal msg=\"invalid index:\\n"],
        ),
        (
            "sed -i 's/name: lightspeed-operator.v1.1.0$/name: x/' catalog/index.yaml; opm validate catalog -o json",
            1,
            &[">{\n  \"passed\": false,\n  \"error\": {\n    \"message\": \"invalid index:"],
        ),
        (
            "opm render bundle --use-http --skip-tls-verify",
            1,
            &["!invalid flag combination: --use-http and --skip-tls-verify cannot both be true"],
        ),
        ("opm generate dockerfile catalog && opm generate dockerfile catalog", 1, &["!file already exists"]),
        ("opm index add --bundles x --mode semver-skippatch", 1, &["!use a template of schema olm.semver"]),
        ("opm index add", 1, &["!required flag(s) \"bundles\" not set"]),
        (
            "opm render bundle --alpha-image-ref-template 'quay.io/x/{{.Package}}:v{{.Version}}' -o yaml",
            0,
            &[">image: quay.io/x/gizmo-operator:v1.2.0"],
        ),
        ("BUNDLE_TOOL_OPM_VERSION=v1.39.0 opm version", 0, &[">OpmVersion:\"v1.39.0\""]),
        (
            "BUNDLE_TOOL_OPERATOR_SDK_VERSION=v1.28.0 operator-sdk version | cut -d'\"' -f2",
            0,
            &[">v1.28.0\n"],
        ),
        (
            "bundle-tool opm version && bundle-tool operator-sdk version",
            0,
            &[">OpmVersion", ">operator-sdk version:"],
        ),
        ("ln -s $(command -v opm) opm-v1.2; ./opm-v1.2 version", 0, &[">OpmVersion"]),
        (
            "echo '{\"categories\": [\"Toys\"]}' > c.json; sed -i 's/categories: .*/categories: Toys/' bundle/manifests/gizmo-operator.clusterserviceversion.yaml; OPERATOR_BUNDLE_CATEGORIES=c.json operator-sdk bundle validate bundle --select-optional name=categories",
            0,
            &[PASSED],
        ),
        (
            "printf '#!/bin/sh\\nexit 3\\n' > v; chmod +x v; operator-sdk bundle validate bundle --alpha-select-external ./v",
            1,
            &["!the external validator ./v failed"],
        ),
        (
            "printf '#!/bin/sh\\necho x\\n' > v; chmod +x v; operator-sdk bundle validate bundle --alpha-select-external ./v",
            1,
            &["!printed no valid result"],
        ),
        (
            "OPERATOR_BUNDLE_CATEGORIES=$(printf '\\377') operator-sdk bundle validate bundle --select-optional name=categories",
            1,
            &["!failed to read the categories in"],
        ),
        (
            "BUNDLE_TOOL_OPM_VERSION=$(printf '\\377') opm version",
            1,
            &["!the environment variable BUNDLE_TOOL_OPM_VERSION is not valid UTF-8"],
        ),
        ("opm index add --bundles=--help -t localhost:5107/n:v1", 1, &["!invalid --bundles value"]),
        ("opm index prune -f localhost:5107/cat:v1 -p a -t --help", 1, &["!invalid"]),
        ("opm serve -- --help", 1, &["!--help"]),
        ("operator-sdk scorecard -- --help", 1, &["!--help"]),
        (
            "opm index rm -f localhost:5107/cat:v1 -o a,b,etcd -t x/y",
            1,
            &["!--operators lists all packages of localhost"],
        ),
        (
            "opm index prune -f localhost:5107/cat:v1 -p x -t x/y",
            1,
            &["!package \\\"x\\\" is not in localhost"],
        ),
        (
            "opm index add --bundles bundle --generate",
            1,
            &["!invalid --bundles value \\\"bundle\\\": expected the name of an image in a registry"],
        ),
        (
            "opm index add --bundles oci:bundle --generate",
            1,
            &["!invalid --bundles value \\\"oci:bundle\\\": expected the name of an image"],
        ),
        ("opm generate dockerfile catalog -l 'a=b\nRUN evil'", 1, &["!invalid label"]),
        ("opm generate dockerfile catalog -i 'a\nRUN evil'", 1, &["!invalid base image"]),
        ("mkdir 'd\nRUN evil'; opm generate dockerfile 'd\nRUN evil'", 1, &["!invalid directory name"]),
        ("opm alpha bundle generate -d manifests -c b -p 'a\nRUN evil'", 1, &["!invalid package"]),
        ("opm alpha bundle generate -d manifests -p a -c 'b\\'", 1, &["!invalid channels"]),
        (
            "sed -i \"s/version: '3'/version: '9'/\" PROJECT; operator-sdk generate kustomize manifests -q",
            1,
            &["!PROJECT:5:10: version \\\"9\\\" of the file is not supported"],
        ),
        (
            "rm PROJECT; cat km.yaml | operator-sdk generate bundle -q",
            1,
            &["!--package <name> must be set if PROJECT config file is not present"],
        ),
    ];
    let problems: Vec<String> = cases
        .par_iter()
        .enumerate()
        .flat_map(|(index, (line, status, facts))| {
            check(line, &sandbox.run(&format!("cobra-{index}"), line), *status, facts)
        })
        .collect();
    assert!(problems.is_empty(), "{}:\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn wrong_types_in_a_base_are_one_error() {
    let sandbox = Sandbox::new();
    let base = "config/manifests/bases/cache-operator.clusterserviceversion.yaml";
    let head = "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\n";
    for (index, (text, message)) in [
        ("metadata: []\n", "yaml:3:11: ClusterServiceVersion: metadata: expected a map, found a list"),
        ("spec: []\n", "yaml:3:7: ClusterServiceVersion: spec: expected a map, found a list"),
        ("spec: x\n", "yaml:3:7: ClusterServiceVersion: spec: expected a map, found a string"),
        ("spec: 1\n", "yaml:3:7: ClusterServiceVersion: spec: expected a map, found an integer"),
        ("spec: true\n", "yaml:3:7: ClusterServiceVersion: spec: expected a map, found a boolean"),
        (
            "spec: {customresourcedefinitions: [a]}\n",
            "yaml:3:35: ClusterServiceVersion: spec.customresourcedefinitions: expected a map, found a list",
        ),
        (
            "spec: {customresourcedefinitions: {owned: {}}}\n",
            "yaml:3:43: ClusterServiceVersion: spec.customresourcedefinitions.owned: expected a list, found a map",
        ),
        (
            "spec: {customresourcedefinitions: {owned: [{}, x]}}\n",
            "yaml:3:48: ClusterServiceVersion: spec.customresourcedefinitions.owned[1]: expected a map, found a string",
        ),
        ("spec: {install: x}\n", "spec.install: expected a map, found a string"),
        ("", ""),
        ("metadata:\nspec:\n", ""),
        ("spec: {customresourcedefinitions: null, install: null}\n", ""),
        ("spec: {customresourcedefinitions: {owned: null}, install: {spec: null}}\n", ""),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("base-{index}");
        let root = sandbox.directory.path().join("runs").join(&name);
        go_project(&root);
        write(&root.join(base), &format!("{head}{text}"));
        let run = sandbox.run(&name, "operator-sdk generate kustomize manifests -q");
        let expected = i32::from(!message.is_empty());
        assert_eq!(run.status, Some(expected), "{text}: {}", run.stderr);
        assert!(run.stderr.contains(message), "{text}: {}", run.stderr);
        let written = fs::read_to_string(root.join(base)).unwrap();
        assert_eq!(written.contains("name: caches.cache.example.com"), message.is_empty(), "{written}");
    }
}

/// Returns whether everything that a line reports is printable.
fn is_printable(run: &Run) -> bool {
    let is_raw = |char: char| kube_yaml::text::is_escaped(char) && char != '\n';
    !run.stdout.contains(is_raw) && !run.stderr.contains(is_raw)
}

#[test]
fn names_in_catalogs_are_escaped() {
    let sandbox = Sandbox::new();
    let escape = "sed -i 's/name: lightspeed-operator.v1.1.0$/name: \"\\\\e[31m\\\\u202elightspeed-operator.v1.1.0\"/' catalog/index.yaml; ";
    for (name, line) in [
        ("esc-validate", "opm validate catalog"),
        ("esc-channels", "opm alpha list bundles catalog lightspeed-operator"),
        ("esc-graph", "opm alpha render-graph catalog"),
    ] {
        let run = sandbox.run(name, &format!("{escape}{line}"));
        assert!(is_printable(&run), "{name}: {:?} {:?}", run.stdout, run.stderr);
        assert!(
            format!("{}{}", run.stdout, run.stderr).contains("u{202e}"),
            "{name}: {} {}",
            run.stdout,
            run.stderr
        );
    }
}

#[test]
fn outputs_of_opm_are_checked_before_the_first_is_written() {
    const ADD: &str = "opm index add --bundles localhost:5107/gitops-operator-bundle:v1 --generate";
    const PRUNE: &str = "opm index prune -f localhost:5107/cat:v1 -p a --generate";
    let sandbox = Sandbox::new();
    let exists =
        |name: &str, path: &str| sandbox.directory.path().join("runs").join(name).join(path).exists();
    for (name, line, message, unwritten) in [
        (
            "out-empty",
            "opm index add --bundles '' --generate --out-dockerfile no/such/x",
            "the index would be empty",
            "no",
        ),
        ("out-parent", &*format!("{ADD} -d no/such/x"), "failed to write no/such/x", "no"),
        ("out-directory", &format!("mkdir d; {PRUNE} -d d"), "failed to write d", "index"),
        (
            "out-bundle",
            "mkdir bundle.Dockerfile; opm alpha bundle generate -d manifests -p a -c b",
            "failed to write bundle.Dockerfile",
            "metadata",
        ),
        (
            "out-index",
            &format!("touch index; {PRUNE}"),
            "failed to write the catalog to index",
            "index.Dockerfile",
        ),
        (
            "out-full",
            &format!("mkdir index; touch index/x; {PRUNE}"),
            "cannot write the catalog to index, because the directory is not empty",
            "index.Dockerfile",
        ),
        ("out-newline", &format!("{ADD} -i 'a\nRUN evil'"), "invalid base image", "index"),
    ] {
        let run = sandbox.run(name, line);
        assert_eq!(run.status, Some(1), "{name}: {}", run.stderr);
        assert!(run.stderr.contains(message), "{name}: {}", run.stderr);
        assert!(!exists(name, unwritten), "{name}");
    }
    let line = format!("echo mine > index.Dockerfile; {PRUNE}");
    let run = sandbox.run("out-replaced", &line);
    assert!(
        check(
            "out-replaced",
            &run,
            0,
            &[
                "!level=warning msg=\"index.Dockerfile already exists and will be overwritten\"",
                "+index.Dockerfile FROM "
            ]
        )
        .is_empty(),
        "{}",
        run.stderr
    );
}

#[test]
fn bundle_is_generated_again_from_the_input_alone() {
    let sandbox = Sandbox::new();
    let line = "cat km.yaml | operator-sdk generate bundle -q --overwrite --version 0.0.1";
    let first = sandbox.run("again", line);
    assert_eq!(first.status, Some(0), "{}", first.stderr);
    let annotations = first.directory.join("bundle/metadata/annotations.yaml");
    let csv = first.directory.join("bundle/manifests/gitops-operator.clusterserviceversion.yaml");
    let dockerfile = first.directory.join("bundle.Dockerfile");
    let read = |path: &Path| fs::read_to_string(path).unwrap();
    let (before, made) = (read(&csv), read(&annotations));
    assert!(made.contains("bundle.package.v1: gitops-operator") && !made.contains("gizmo"), "{made}");
    let related = before.split("relatedImages:").nth(1).unwrap();
    assert!(related.contains("name: side-car") && !related.contains("name: manager"), "{before}");
    // What recipes append is not kept, so that it does not accumulate.
    for path in [&annotations, &dockerfile] {
        fs::write(path, format!("{}# appended\n", read(path))).unwrap();
    }
    fs::write(&csv, before.replace("createdAt: \"2", "createdAt: \"1")).unwrap();
    let second = sandbox.run("again", line);
    assert_eq!(second.status, Some(0), "{}", second.stderr);
    assert_eq!(read(&annotations), made);
    assert!(!read(&dockerfile).contains("appended"));
    assert!(read(&csv).contains("createdAt: \"2"), "{}", read(&csv));
    assert!(!first.directory.join("bundle-tool.lock").exists());
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
    let problems: Vec<String> = rows
        .par_iter()
        .enumerate()
        .flat_map(|(index, (theirs, ours))| {
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
        })
        .collect();
    assert!(problems.is_empty(), "{}:\n{}", problems.len(), problems.join("\n"));
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

const GO_TYPES: &str = "\
// Package v1 has the API.
// +groupName=cache.example.com
package v1

import (
	metav1 \"k8s.io/apimachinery/pkg/apis/meta/v1\"

	\"github.com/example/op/api/shared\"
)

// CacheSpec is what users want.
type CacheSpec struct {
	// Size is the number of replicas.
	// TODO: limit it
	//+operator-sdk:csv:customresourcedefinitions:type=spec,order=1,displayName=\"Replicas\",xDescriptors={\"urn:alm:descriptor:com.tectonic.ui:podCount\"}
	Size int32 `json:\"size\"`

	shared.Image `json:\",inline\"`

	//+operator-sdk:csv:customresourcedefinitions:type=spec
	Nodes []*Node `json:\"nodes,omitempty\"`

	hidden string
}

// Node may have nodes.
type Node struct {
	//+operator-sdk:csv:customresourcedefinitions:type=spec
	HostName string   `json:\"hostName\"`
	Children []Node   `json:\"children,omitempty\"`
}

// CacheStatus is what was observed.
type CacheStatus struct {
	//+operator-sdk:csv:customresourcedefinitions:type=status,displayName=\"Pods\"
	Pods []string `json:\"pods\"`
}

func (c *Cache) Ready() bool { return c.Name != \"}\" }

//+kubebuilder:object:root=true

// Cache is a cache.
//
// It caches.
//+operator-sdk:csv:customresourcedefinitions:displayName=\"A Cache\",resources={{Pod,v1,\"p\"},{Deployment,v1}}
type Cache struct {
	metav1.TypeMeta   `json:\",inline\"`
	metav1.ObjectMeta `json:\"metadata,omitempty\"`

	Spec   CacheSpec   `json:\"spec,omitempty\"`
	Status CacheStatus `json:\"status,omitempty\"`
}
";

const SHARED_TYPES: &str = "\
package shared

type Image struct {
	// Name of the image.
	//+operator-sdk:csv:customresourcedefinitions:type=spec,displayName=\"Image\"
	Name string `json:\"image\"`
}
";

/// Writes a Go project with one API.
fn go_project(root: &Path) {
    write(
        &root.join("PROJECT"),
        "layout:\n- go.kubebuilder.io/v4\nprojectName: cache-operator\nresources:\n- {api: {crdVersion: v1}, domain: example.com, \
         group: cache, kind: Cache, version: v1}\nversion: '3'\n",
    );
    write(&root.join("go.mod"), "module github.com/example/op\n");
    write(&root.join("api/v1/cache_types.go"), GO_TYPES);
    write(&root.join("api/shared/image.go"), SHARED_TYPES);
}

#[test]
fn base_of_a_go_project_has_descriptors_of_its_markers() {
    let sandbox = Sandbox::new();
    let root = sandbox.directory.path().join("runs/go");
    go_project(&root);
    let line = "operator-sdk generate kustomize manifests -q";
    let base = root.join("config/manifests/bases/cache-operator.clusterserviceversion.yaml");
    assert!(check("go", &sandbox.run("go", line), 0, &[]).is_empty());
    insta::assert_snapshot!("go-base", fs::read_to_string(&base).unwrap());
    // What a person maintains is kept, and what markers say is updated.
    let edited =
        fs::read_to_string(&base).unwrap().replace("Cache Operator description. TODO.", "Caches things.");
    write(&base, &edited.replace("displayName: Replicas", "displayName: Edited"));
    assert!(check("go", &sandbox.run("go", line), 0, &[]).is_empty());
    let again = fs::read_to_string(&base).unwrap();
    assert!(
        again.contains("description: Caches things.") && again.contains("displayName: Replicas"),
        "{again}"
    );
}

#[test]
fn base_is_decoded_as_go_decodes_it() {
    let sandbox = Sandbox::new();
    let root = sandbox.directory.path().join("runs/decoded");
    go_project(&root);
    let base = root.join("config/manifests/bases/cache-operator.clusterserviceversion.yaml");
    write(
        &base,
        "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata: {name: cache-operator.v0.0.0}\n\
         spec:\n  color: red\n  icon: []\n  customresourcedefinitions:\n    owned:\n\
         \u{20}   - {kind: Old, name: olds.example.com, version: v1, displayname: An old kind, specDescriptors: [\
         {path: size, type: object, displayname: Size}]}\n",
    );
    let run = sandbox.run("decoded", "operator-sdk generate kustomize manifests");
    let facts = [
        "!ClusterServiceVersion cache-operator.v0.0.0: unknown field `spec.color` was omitted",
        "!field `spec.customresourcedefinitions.owned[0].displayname` was read as `displayName`; correct its case",
    ];
    assert_eq!(check("decoded", &run, 0, &facts), Vec::<String>::new());
    insta::assert_snapshot!("go-base-decoded", fs::read_to_string(&base).unwrap());
}

#[test]
fn wrong_go_is_one_error_and_nothing_is_written() {
    let sandbox = Sandbox::new();
    for (name, from, to, message) in [
        ("syntax", "type Node struct {", "type Node struct", "api/v1/cache_types.go:"),
        ("marker", "displayName=\\\"Pods\\\"", "colour=red", "unknown argument or wrong value `colour`"),
        ("status", "json:\\\"status,omitempty\\\"", "json:\\\"state\\\"", "no status found for type Cache"),
    ] {
        let root = sandbox.directory.path().join("runs").join(name);
        go_project(&root);
        let changed = GO_TYPES.replace(&from.replace("\\\"", "\""), &to.replace("\\\"", "\""));
        assert_ne!(changed, GO_TYPES, "{name}");
        write(&root.join("api/v1/cache_types.go"), &changed);
        let run = sandbox.run(name, "operator-sdk generate kustomize manifests -q");
        assert_eq!(run.status, Some(1), "{name}: {}", run.stderr);
        assert!(
            run.stderr.contains(message) && run.stderr.contains("cache_types.go:"),
            "{name}: {}",
            run.stderr
        );
        assert!(!root.join("config").exists(), "{name}");
    }
}

#[test]
fn dockerfile_of_a_bundle_adds_to_its_image() {
    let sandbox = Sandbox::new();
    let root = sandbox.directory.path().join("runs/image");
    copy(&sandbox.directory.path().join("project"), &root);
    write(&root.join("licenses/LICENSE"), "the text of the license\n");
    write(
        &root.join("bundle.Dockerfile"),
        "FROM scratch\nLABEL com.example.team=blue\nLABEL operators.operatorframework.io.bundle.package.v1=gizmo-operator\n\
         COPY bundle/manifests /manifests/\nCOPY bundle/metadata /metadata/\nCOPY licenses/* /licenses/\nRUN true\n\
         COPY --from=other /x /x\nUSER 1001\n",
    );
    let run = sandbox.run(
        "image",
        "bundle-tool push bundle bundle quay.io/x/made:v1 --to oci:made && bundle-tool inspect oci:made",
    );
    let facts = [
        ">com.example.team",
        ">1001",
        "!bundle.Dockerfile:7: RUN is ignored, because bundle-tool does not run commands",
        "!bundle.Dockerfile:8: files of another image or stage are not copied to /x",
    ];
    assert_eq!(check("image", &run, 0, &facts), Vec::<String>::new());
    let layers: Vec<Vec<u8>> = fs::read_dir(root.join("made/blobs/sha256"))
        .unwrap()
        .map(|entry| {
            let mut bytes = Vec::new();
            let file = fs::File::open(entry.unwrap().path()).unwrap();
            let _ = std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(file), &mut bytes);
            bytes
        })
        .collect();
    let has =
        |text: &str| layers.iter().any(|layer| layer.windows(text.len()).any(|part| part == text.as_bytes()));
    assert!(has("licenses/LICENSE") && has("the text of the license"));
    let run = sandbox
        .run("image", "rm -r licenses; bundle-tool push bundle bundle quay.io/x/made:v1 --to oci:other");
    assert_eq!(
        check("image", &run, 2, &["!bundle.Dockerfile:6: cannot copy licenses/*"]),
        Vec::<String>::new()
    );
    assert!(!root.join("other").exists());
}
