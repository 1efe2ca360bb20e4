//! `operator-sdk generate kustomize manifests`: writes the base CSV, and a kustomization if none exists.
//!
//! An existing base is updated as operator-sdk updates it: it is decoded, completed and written again, sorted and without comments.
//! In Go projects, the owned CRDs are generated from the API types that PROJECT lists, and their descriptors from markers.
//!
//! Source: `internal/cmd/operator-sdk/generate/kustomize/manifests.go` and
//! `internal/generate/clusterserviceversion/bases/clusterserviceversion.go` of operator-sdk v1.42.

use std::io::{self, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value as Json, json};

use super::super::cobra::Matches;
use super::super::native::{Becomes, NativeCommand, ProjectFacts};
use super::super::{Status, UsageError, log, native};
use super::golang;
use super::supported_project;
use crate::cli::commands::generate::notes;
use kube_yaml::{Tree, Value};
use olm_generate::{Document, GenerateReport, decode_csv, placeholder_base};
use olm_model::disk::file;
use olm_model::names::check_label;

/// The default input and output directory.
const DIRECTORY: &str = "config/manifests";
/// The maximum size of a base CSV in bytes.
const MAX_FILE: u64 = 16 << 20;

/// The native command, which reads no Go, and writes no kustomization.
pub(crate) const NATIVE: NativeCommand = NativeCommand {
    in_project: Some(in_project),
    ..NativeCommand::new(
        &["generate", "manifests"],
        &[
            ("apis-dir", Becomes::Omitted),
            ("input-dir", Becomes::Missing("`generate manifests` updates the base in its output directory")),
            ("interactive", Becomes::IfSet),
            ("output-dir", Becomes::Named("kustomize-dir")),
            ("package", Becomes::IfSet),
            ("quiet", Becomes::IfSet),
        ],
    )
};

/// Returns the package of a project that the native command applies to.
fn in_project(project: &ProjectFacts) -> Result<Vec<String>, &'static str> {
    if project.project.is_go() {
        return Err("`generate manifests` does not read the markers of Go types");
    }
    if !project.has_kustomization {
        return Err("`generate manifests` does not write config/manifests/kustomization.yaml");
    }
    match &project.project.name {
        Some(name) => Ok(vec![format!("--package={name}")]),
        None => Err("`generate manifests` requires `--package`, because PROJECT has no projectName"),
    }
}

pub(crate) fn run(matches: &Matches) -> Result<Status> {
    if !matches.arguments.is_empty() {
        bail!(UsageError(format!("command {} doesn't accept any arguments", matches.path)));
    }
    let Some(project) = supported_project()? else {
        bail!(UsageError(
            "error reading configuration: PROJECT does not exist; run the command in a project".to_owned()
        ));
    };
    let package = match matches.some("package") {
        Some(package) if package.contains(['/', '\\']) => {
            bail!("package name ({package}) must not contain `/` or `\\`")
        }
        // As for operator-sdk, it may be anything else.
        Some(package) => package.to_owned(),
        None => {
            let name = project.name.clone().map_or_else(directory_name, Ok)?;
            if let Err(reason) = check_label(&name) {
                bail!("project name ({name}) is invalid: {reason}");
            }
            name
        }
    };
    let input = matches.some("input-dir").unwrap_or(DIRECTORY);
    let output = Path::new(matches.some("output-dir").unwrap_or(DIRECTORY));
    let is_quiet = matches.bool("quiet");
    if !is_quiet {
        writeln!(io::stdout(), "Generating kustomize files in {}", output.display())?;
    }
    let has_plugin = |part: &str| project.plugins.iter().any(|plugin| plugin.contains(part));
    if has_plugin("bundle-tool") {
        let kustomize = format!("--kustomize-dir={}", output.display());
        return native(["generate", "manifests", "--quiet", &kustomize, &format!("--package={package}")], []);
    }
    let name = format!("bases/{package}.clusterserviceversion.yaml");
    let existing = Path::new(input).join(&name);
    let mut csv = if existing.exists() {
        read(&existing, &package, is_quiet)?
    } else {
        if matches.is_set("interactive") && matches.bool("interactive") {
            log::warn("--interactive has no effect; to set missing values, edit the base CSV");
        }
        placeholder_base(&package)
    };
    prepare(&mut csv);
    if project.is_go() {
        let apis = matches.some("apis-dir").unwrap_or("api");
        golang::apply(&mut csv, Path::new(apis), &project.resources)?;
    }
    let text = kube_yaml::emit(&csv);
    std::fs::create_dir_all(output.join("bases"))
        .with_context(|| format!("failed to write {}", output.join("bases").display()))?;
    atomic_files::file(&output.join(&name), text.as_bytes())?;
    let kustomization = output.join("kustomization.yaml");
    if !kustomization.exists() {
        atomic_files::file(
            &kustomization,
            kustomization_of(&package, has_plugin("go.kubebuilder")).as_bytes(),
        )?;
    }
    if !is_quiet {
        writeln!(io::stdout(), "Kustomize files generated successfully")?;
    }
    Ok(Status::SUCCESS)
}

/// Returns the name of the current directory, in lower case.
fn directory_name() -> Result<String> {
    let directory = std::env::current_dir().context("failed to find the current directory")?;
    Ok(directory.file_name().unwrap_or_default().to_string_lossy().to_lowercase())
}

/// Reads a base CSV, and reports what it contains that a CSV does not have, unless `is_quiet`.
fn read(path: &Path, package: &str, is_quiet: bool) -> Result<Json> {
    let failed = || format!("error reading existing ClusterServiceVersion base {}", path.display());
    let bytes = file::read_in_project(path, MAX_FILE).with_context(failed)?;
    let parsed = kube_yaml::parse(&bytes);
    if let Some(error) = parsed.error {
        bail!("{}: {}:{}: {}", failed(), error.position.line, error.position.column, error.with_help());
    }
    let is_csv = |tree: &Tree| kube_yaml::string(tree.root(), "kind") == "ClusterServiceVersion";
    let tree = parsed.documents.into_iter().find(is_csv);
    let tree = tree.with_context(|| format!("no ClusterServiceVersion manifest in {}", path.display()))?;
    let document = Document { file: path.display().to_string(), tree };
    let mut report = GenerateReport::default();
    let mut csv = decode_csv(&document, &mut report)?;
    if !is_quiet {
        notes(&report, false)?;
    }
    let root = document.tree.root();
    let deployments = root.dig(&["spec", "install", "spec", "deployments"]);
    if deployments.is_none_or(Value::is_null)
        && let Some(deployments) = csv.pointer_mut("/spec/install/spec/deployments")
    {
        *deployments = Json::Null;
    }
    let version = csv["spec"]["version"].as_str().unwrap_or("0.0.0").to_owned();
    if let Some(name) = csv.pointer_mut("/metadata/name")
        && *name == format!("{package}.vX.Y.Z")
    {
        *name = format!("{package}.v{version}").into();
    }
    Ok(csv)
}

/// Completes a CSV as Go serializes it: fields without `omitempty` are written even if they are empty.
fn prepare(csv: &mut Json) {
    let Some(spec) = csv.get_mut("spec").and_then(Json::as_object_mut) else { return };
    if spec.get("cleanup").is_some_and(|cleanup| cleanup["enabled"] == false) {
        spec.remove("cleanup");
    }
    spec.entry("apiservicedefinitions").or_insert_with(|| json!({}));
    spec.entry("customresourcedefinitions").or_insert_with(|| json!({}));
    spec.entry("displayName").or_insert_with(|| "".into());
    spec.entry("provider").or_insert_with(|| json!({}));
    spec.entry("version").or_insert_with(|| "0.0.0".into());
    let install = spec.entry("install").or_insert_with(|| json!({ "strategy": "" }));
    if let Some(install) = install.as_object_mut() {
        install.entry("strategy").or_insert_with(|| "".into());
        if install.get("spec").is_none_or(|spec| *spec == json!({})) {
            install.insert("spec".to_owned(), json!({ "deployments": null }));
        }
    }
}

/// Returns the kustomization of a project that has none.
fn kustomization_of(package: &str, has_webhooks: bool) -> String {
    let mut out = format!(
        "# The resources that a bundle is generated from.\nresources:\n- bases/{package}.clusterserviceversion.yaml\n\
         - ../default\n- ../samples\n- ../scorecard\n"
    );
    if has_webhooks {
        out.push_str(
            "\n# OLM creates the certificate of webhooks: with webhooks, enable this patch, which removes the volume of the\n\
             # certificate from the Deployment.\n#patches:\n#- target:\n#    group: apps\n#    version: v1\n#    kind: Deployment\n\
             #    name: controller-manager\n#    namespace: system\n#  patch: |-\n#    - op: remove\n\
             #      path: /spec/template/spec/containers/0/volumeMounts/0\n#    - op: remove\n\
             #      path: /spec/template/spec/volumes/0\n",
        );
    }
    out
}
