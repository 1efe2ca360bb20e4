//! The command lines of operator-sdk and opm, as scripts write them: run by a shell, with links to this program in `PATH`.

mod bundle;
mod flags;
mod golang;
mod lines;
mod opm;
mod public;
mod validate;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rayon::prelude::*;
use serde_json::json;
use tempfile::TempDir;

use crate::api_server::ApiServer;
use crate::push::Registry;
use crate::support::{copy, copy_bundle, fixture, utf8};

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
        let (stdout, stderr) = (utf8(&output.stdout), utf8(&output.stderr));
        Run { status: output.status.code(), stdout, stderr, directory }
    }
}

/// A line or its name, its exit status, and facts. `>` precedes what standard output has, `!` what standard error has, and `+` the
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

/// Runs cases beside each other, and fails with the problems of all.
fn check_all<T: Sync>(cases: &[T], problems: impl Fn(usize, &T) -> Vec<String> + Sync) {
    let found: Vec<String> =
        cases.par_iter().enumerate().flat_map(|(index, case)| problems(index, case)).collect();
    assert!(found.is_empty(), "{} problems of {} lines:\n{}", found.len(), cases.len(), found.join("\n"));
}

/// Checks lines, each in a copy of the project whose name begins with `name`.
fn check_lines(sandbox: &Sandbox, name: &str, lines: &[(&str, i32, &[&str])]) {
    check_all(lines, |index, (line, status, facts)| {
        check(line, &sandbox.run(&format!("{name}-{index}"), line), *status, facts)
    });
}

const PASSED: &str = "!level=info msg=\"All validation tests have completed successfully\"";
