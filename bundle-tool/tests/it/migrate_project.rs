//! `migrate-project`.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use crate::support::{Run, git, run};

/// A Makefile as operator-sdk scaffolds it: flags in variables, and rules that download the tools.
const MAKEFILE: &str = "\
# The version of the operator.
VERSION ?= 0.0.1

ifneq ($(origin CHANNELS), undefined)
BUNDLE_CHANNELS := --channels=$(CHANNELS)
endif
ifneq ($(origin DEFAULT_CHANNEL), undefined)
BUNDLE_DEFAULT_CHANNEL := --default-channel=$(DEFAULT_CHANNEL)
endif
BUNDLE_METADATA_OPTS ?= $(BUNDLE_CHANNELS) $(BUNDLE_DEFAULT_CHANNEL)
BUNDLE_GEN_FLAGS ?= -q --overwrite --version $(VERSION) $(BUNDLE_METADATA_OPTS)
USE_IMAGE_DIGESTS ?= false
ifeq ($(USE_IMAGE_DIGESTS), true)
\tBUNDLE_GEN_FLAGS += --use-image-digests
endif
BUNDLE_IMG ?= quay.io/example/gizmo-bundle:v$(VERSION)
BUNDLE_IMGS ?= $(BUNDLE_IMG)
IMG ?= quay.io/example/gizmo:v$(VERSION)
OPERATOR_SDK_VERSION ?= v1.42.0
LOCALBIN ?= $(shell pwd)/bin
KUSTOMIZE ?= $(LOCALBIN)/kustomize

.PHONY: manifests
manifests: ## Generate CRDs.

.PHONY: kustomize
kustomize: ## Download kustomize.

.PHONY: operator-sdk
OPERATOR_SDK ?= $(LOCALBIN)/operator-sdk
operator-sdk: ## Download operator-sdk.
ifeq (,$(wildcard $(OPERATOR_SDK)))
ifeq (, $(shell which operator-sdk 2>/dev/null))
\t@{ \\
\tset -e ;\\
\tmkdir -p $(dir $(OPERATOR_SDK)) ;\\
\tcurl -sSLo $(OPERATOR_SDK) https://example.com/operator-sdk/releases/$(OPERATOR_SDK_VERSION)/operator-sdk_linux ;\\
\tchmod +x $(OPERATOR_SDK) ;\\
\t}
else
OPERATOR_SDK = $(shell which operator-sdk)
endif
endif

.PHONY: bundle
bundle: manifests kustomize operator-sdk ## Generate and validate the bundle.
\t$(OPERATOR_SDK) generate kustomize manifests -q
\tcd config/manager && $(KUSTOMIZE) edit set image controller=$(IMG)
\t$(KUSTOMIZE) build config/manifests | $(OPERATOR_SDK) generate bundle $(BUNDLE_GEN_FLAGS)
\t$(OPERATOR_SDK) bundle validate ./bundle

.PHONY: opm
OPM = $(LOCALBIN)/opm
opm: ## Download opm.
ifeq (,$(wildcard $(OPM)))
\tcurl -sSLo $(OPM) https://example.com/operator-registry/releases/v1.55.0/linux-amd64-opm
endif

ifneq ($(origin CATALOG_BASE_IMG), undefined)
FROM_INDEX_OPT := --from-index $(CATALOG_BASE_IMG)
endif

.PHONY: catalog-build
catalog-build: opm ## Build a catalog image.
\t$(OPM) index add --container-tool docker --mode semver --tag $(CATALOG_IMG) --bundles $(BUNDLE_IMGS) $(FROM_INDEX_OPT)
";

/// The files of a project, by path.
type Files<'f> = &'f [(&'f str, &'f str)];

fn project(files: Files<'_>) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    directory
}

fn migrate(directory: &Path, arguments: &[&str]) -> Run {
    run(directory, &[&["migrate-project"], arguments].concat())
}

/// The files of a directory.
fn contents(directory: &Path) -> BTreeMap<String, String> {
    let entries = walkdir::WalkDir::new(directory).into_iter().map(Result::unwrap);
    entries
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| {
            let name = entry.path().strip_prefix(directory).unwrap().display().to_string();
            (name, String::from_utf8_lossy(&fs::read(entry.path()).unwrap()).into_owned())
        })
        .collect()
}

/// Returns what `migrate-project` makes of the lines of a shell script.
fn becomes(lines: &[&str]) -> Vec<String> {
    let script = format!("#!/bin/sh\n{}\nopm validate catalog\n", lines.join("\n"));
    let directory = project(&[
        ("PROJECT", "layout:\n- helm.sdk.operatorframework.io/v1\nprojectName: gizmo\nversion: '3'\n"),
        ("config/manifests/kustomization.yaml", ""),
        ("hack/run.sh", &script),
    ]);
    let run = migrate(directory.path(), &["--write"]);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    let script = fs::read_to_string(directory.path().join("hack/run.sh")).unwrap();
    let script = script.strip_suffix("\nbundle-tool catalog validate catalog\n").unwrap();
    script.lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn report_of_a_scaffolded_project() {
    let directory = project(&[
        ("Makefile", MAKEFILE),
        ("PROJECT", "layout:\n- go.kubebuilder.io/v4\nprojectName: gizmo\nversion: '3'\n"),
    ]);
    let before = contents(directory.path());
    let run = migrate(directory.path(), &[]);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    assert_eq!(contents(directory.path()), before, "nothing is written");
    insta::assert_snapshot!("migrate-project-scaffold", format!("{}---\n{}", run.stdout, run.stderr));
}

#[test]
fn call_becomes_the_native_command_with_its_arguments() {
    for (call, native) in [
        ("operator-sdk bundle validate ./bundle", "bundle-tool validate ./bundle"),
        (
            "if ! operator-sdk bundle validate -b podman \"$B\" --verbose; then",
            "if ! bundle-tool validate \"$B\"; then",
        ),
        (
            "operator-sdk bundle validate ./bundle --select-optional name=a --optional-values=k8s-version=1.30 --select-optional=suite=operatorframework",
            "bundle-tool validate ./bundle --optional-values=k8s-version=1.30 --select-optional=suite=operatorframework",
        ),
        (
            "operator-sdk bundle validate ./bundle --select-optional 'name in (a)'",
            "bundle-tool validate ./bundle --select-optional 'name in (a)'",
        ),
        ("operator-sdk bundle validate b --optional-values k8s-version=None", "bundle-tool validate b"),
        ("operator-sdk -n ns run bundle $IMG", "bundle-tool run bundle -n ns $IMG"),
        (
            "operator-sdk run bundle --timeout=30m --namespace \"$(ns)\" \"$B\" --verbose --index-image=quay.io/operator-framework/opm:v1.26.0",
            "bundle-tool run bundle --timeout=30m --namespace \"$(ns)\" \"$B\"",
        ),
        (
            "operator-sdk run bundle-upgrade x:v2 --use-http --image-pull-policy Always",
            "bundle-tool run bundle-upgrade x:v2 --use-http",
        ),
        (
            "operator-sdk run bundle quay.io/x/y:v1 --skip-tls",
            "bundle-tool run bundle quay.io/x/y:v1 --use-http",
        ),
        ("sudo -E operator-sdk olm uninstall", "sudo -E bundle-tool olm uninstall --force"),
        ("timeout -k 5 60 opm validate c", "timeout -k 5 60 bundle-tool catalog validate c"),
        ("nice -n 5 opm validate c", "nice -n 5 bundle-tool catalog validate c"),
        ("operator-sdk scorecard -w=5m bundle -Lo json", "bundle-tool scorecard -w=5m bundle -Lo json"),
        ("operator-sdk olm uninstall --version 0.28.0", "bundle-tool olm uninstall --force"),
        ("operator-sdk version", "bundle-tool --version"),
        ("operator-sdk completion bash", "bundle-tool completions bash"),
        (
            "operator-sdk generate --verbose bundle -q --overwrite=false --version $V --extra-service-accounts=a,b",
            "bundle-tool generate bundle -q --overwrite=false --version $V --extra-service-accounts=a,b",
        ),
        (
            "operator-sdk generate kustomize manifests --interactive=false -q",
            "bundle-tool generate manifests -q --package=gizmo",
        ),
        ("opm render $IMG -oyaml >> c.yaml", "bundle-tool render $IMG -oyaml --migrate-level none >> c.yaml"),
        ("./bin/opm render a b --migrate", "bundle-tool render a b --migrate"),
        (
            "opm render localhost:5000/x:v1",
            "bundle-tool render localhost:5000/x:v1 --migrate-level none --plain-http",
        ),
        ("opm validate catalog && echo ok", "bundle-tool catalog validate catalog && echo ok"),
        (
            "opm alpha render-template semver -o yaml < t.yaml",
            "bundle-tool catalog template semver -o yaml --migrate-level none --no-validate < t.yaml",
        ),
        ("exec opm serve c --cache-dir=d --pprof-addr :1", "exec bundle-tool serve c --cache-dir=d"),
        ("ls | xargs -I {} operator-sdk bundle validate {}", "ls | xargs -I {} bundle-tool validate {}"),
        ("xargs bundle-tool operator-sdk bundle validate", "xargs bundle-tool operator-sdk bundle validate"),
        (
            "operator-sdk run bundle x 2>err --verbose -n y >> out --skip-tls",
            "bundle-tool run bundle x 2>err -n y >> out --use-http",
        ),
        (
            "A=1 operator-sdk run bundle \\\n  --decompression-image x \\\n  -n y \\\n  img",
            "A=1 bundle-tool run bundle \\\n  -n y \\\n  img",
        ),
    ] {
        assert_eq!(becomes(&[call]).join("\n"), native, "{call}");
    }
}

#[test]
fn call_without_a_native_command_runs_through_the_adapter() {
    for call in [
        "operator-sdk bundle validate ./bundle 2>&1 | grep -v WARNING",
        "operator-sdk bundle validate ./bundle --alpha-select-external ./v",
        "operator-sdk run bundle x --skip-tls-verify",
        "operator-sdk olm install",
        "operator-sdk cleanup gizmo",
        "operator-sdk cleanup gizmo --delete-all=false",
        "operator-sdk bundle validate . > log",
        "opm render \"$@\"",
        "opm render ${M:+--migrate} x",
        "opm index add --bundles $B --tag $C",
        "opm render $IMG --use-http",
        "opm render $OPM_ARGS $IMG",
        "operator-sdk >log bundle validate x",
        "operator-sdk run bundle \"${args[@]}\"",
        "opm init gizmo",
        "opm alpha render-graph --minimum-edge a catalog",
        "opm generate dockerfile catalog",
        "opm migrate a b",
    ] {
        assert_eq!(becomes(&[call]), [format!("bundle-tool {call}")], "{call}");
    }
}

#[test]
fn other_mentions_are_kept() {
    let lines = [
        "bundle-tool validate ./bundle",
        "which operator-sdk",
        "command -v opm",
        "chmod +x ./bin/opm",
        "echo operator-sdk run bundle failed",
        "# operator-sdk bundle validate ./bundle",
        "cat <<EOF",
        "operator-sdk bundle validate ./bundle",
        "EOF",
        "operator-sdk create api --kind Gizmo",
        "opm registry serve",
        "test \"$(opm version | cut -d'\"' -f2)\" = v1",
        "opm fly",
        "X=bin/operator-sdk",
        "sudo docker run quay.io/operator-framework/opm validate /w",
        "ls | xargs -I{} docker run quay.io/operator-framework/opm validate {}",
        "sudo podman run --rm img opm validate c",
        "env A=b kubectl exec pod -- operator-sdk version",
        "sudo rm -f /usr/local/bin/opm",
        "case $1 in opm) true;; operator-sdk) true;; esac",
        "operator-sdk version > v.txt",
    ];
    assert_eq!(becomes(&lines), lines);
}

#[test]
fn definitions_of_flags_are_translated() {
    let makefile = "SDK = operator-sdk\nRUN_FLAGS = --timeout 5m --image-pull-policy Always $(MORE)\nMORE = --skip-tls\nVALIDATE_FLAGS = -b none --verbose\n\
                    r:\n\t$(SDK) run bundle $(RUN_FLAGS) $(IMG)\nv:\n\t@$(SDK) bundle validate $(VALIDATE_FLAGS) ./bundle\n";
    let directory = project(&[("Makefile", makefile)]);
    let run = migrate(directory.path(), &["--write"]);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    assert_eq!(
        contents(directory.path())["Makefile"],
        "BUNDLE_TOOL ?= bundle-tool\n\nSDK = operator-sdk\nRUN_FLAGS = --timeout 5m $(MORE)\nMORE = --use-http\nVALIDATE_FLAGS =\n\
         r:\n\t$(BUNDLE_TOOL) run bundle $(RUN_FLAGS) $(IMG)\nv:\n\t@$(BUNDLE_TOOL) validate $(VALIDATE_FLAGS) ./bundle\n"
    );
}

#[test]
fn flags_in_variables_that_may_be_empty_are_not_assumed() {
    let script = "A=\"\"\nif [ -n \"$M\" ]; then\n  A=\"--migrate-level=all\"\nfi\nopm render $A x\n";
    let directory = project(&[("run.sh", script)]);
    let run = migrate(directory.path(), &["--write"]);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    assert!(run.stdout.contains("a variable may set `--migrate-level`"), "{}", run.stdout);
    assert_eq!(contents(directory.path())["run.sh"], script.replace("opm", "bundle-tool opm"));
}

#[test]
fn variables_that_are_empty_for_others_to_set_may_contain_any_flag() {
    for definition in ["OPM_OPTS ?=", "OPM_OPTS :="] {
        let makefile = format!("{definition}\nc:\n\topm render $(IMG) $(OPM_OPTS) -o yaml > catalog.yaml\n");
        let directory = project(&[("Makefile", &makefile)]);
        let run = migrate(directory.path(), &["--write"]);
        assert_eq!(run.status, Some(0), "{}", run.stderr);
        let written = &contents(directory.path())["Makefile"];
        assert!(written.contains("$(BUNDLE_TOOL) opm render $(IMG) $(OPM_OPTS)"), "{written}");
    }
}

#[test]
fn variables_in_strings_and_tests_are_warnings() {
    let directory = project(&[
        (
            "Makefile",
            "OPERATOR_SDK ?= ./bin/operator-sdk\ncheck:\n\t$(OPERATOR_SDK) bundle validate ./bundle\n\
             \tsh -c 'OUT=$$($(OPERATOR_SDK) bundle validate ./bundle); echo \"$$OUT\"'\n\
             \tfind . -name bundle -exec $(OPERATOR_SDK) bundle validate {} \\;\n\
             \t@$(foreach d,a b,$(OPERATOR_SDK) bundle validate $(d);)\n\trm -f $(OPERATOR_SDK)\n",
        ),
        (
            "hack/x.sh",
            "#!/bin/bash\nOPM=${OPM:-bin/opm}\nif [[ -x \"$OPM\" ]]; then\n  \"$OPM\" validate a\nfi\n\
             [ -f \"$OPM\" ] || exit 1\ntrap '\"$OPM\" validate b' EXIT\n",
        ),
    ]);
    let run = migrate(directory.path(), &[]);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    insta::assert_snapshot!("migrate-project-variables", run.stdout);
}

#[test]
fn metadata_that_a_recipe_changes_does_not_accumulate() {
    for (change, is_native) in [
        ("echo '  a: b' >> bundle/metadata/annotations.yaml", false),
        ("sed -i '1s/^.*$$/ARG BASE\\n\\nFROM $$BASE/' bundle.Dockerfile", false),
        ("@sed -i '/^LABEL a/a\\\nLABEL b=c\\\nLABEL d=e' bundle.Dockerfile", false),
        ("$(SED) -i 's/a/b/' bundle.Dockerfile", false),
        ("@sed -ni '/^LABEL/p' ${BUNDLE_DOCKERFILE}", false),
        ("sed 's/a/b/' bundle.Dockerfile > tmp && mv tmp bundle.Dockerfile", false),
        ("find bundle/metadata -name '*.yaml' -exec sed -i.bak s/a/b/ {} +", false),
        ("perl -pi -e 's/a/b/' bundle/metadata/*.yaml", false),
        ("$(YQ) -i '.annotations.a = \"b\"' bundle/metadata/annotations.yaml", false),
        ("echo LABEL a=b | tee --append bundle.Dockerfile", false),
        ("sed 's/a/b/' bundle.Dockerfile > other.Dockerfile", true),
        ("# sed -i 's/a/b/' bundle.Dockerfile", true),
        ("grep -i label bundle.Dockerfile", true),
        ("yq -i '.metadata.annotations.a = \"b\"' bundle/manifests/x.yaml", true),
        ("sed -i 's/a/b/' README.md", true),
    ] {
        let directory =
            project(&[("Makefile", &format!("b:\n\toperator-sdk generate bundle -q\n\t{change}\n"))]);
        let run = migrate(directory.path(), &["--write"]);
        assert_eq!(run.status, Some(0), "{}", run.stderr);
        let new = &contents(directory.path())["Makefile"];
        let tool = if is_native { "" } else { "operator-sdk " };
        assert!(new.contains(&format!("\t$(BUNDLE_TOOL) {tool}generate bundle -q\n")), "{new}");
    }
}

#[test]
fn rule_that_still_names_the_tool_requires_its_download() {
    let rest = "\nS = bin/operator-sdk\nSDK = A=b $(S)\nRUN = $(SDK) --verbose\noperator-sdk:\n\tcurl -Lo $(S) https://example.com/operator-sdk_linux\n";
    for (recipe, prerequisites) in [
        ("$(S) bundle validate b", "manifests"),
        ("$(S) bundle validate b && S=$(S) hack/run.sh", "manifests operator-sdk"),
        ("$(S) bundle validate b\n\t$(S) create api", "manifests operator-sdk"),
        ("$(S) bundle validate b\n\t$(RUN) create api", "manifests operator-sdk"),
        ("$(S) bundle validate b\n\t./hack/run.sh", "manifests operator-sdk"),
        ("$(S) bundle validate b\n\t$(MAKE) -C sub", "manifests operator-sdk"),
        ("$(S) bundle validate b\n\t$(call check,b)", "manifests operator-sdk"),
    ] {
        let directory =
            project(&[("Makefile", &format!("b: manifests operator-sdk ## text\n\t{recipe}\n{rest}"))]);
        let run = migrate(directory.path(), &["--write"]);
        assert_eq!(run.status, Some(0), "{}", run.stderr);
        let new = &contents(directory.path())["Makefile"];
        assert!(new.contains(&format!("\nb: {prerequisites} ## text\n")), "{new}");
        assert!(run.stdout.contains("`operator-sdk` downloads operator-sdk, which "), "{}", run.stdout);
    }
}

#[test]
fn flags_that_several_commands_need_are_kept() {
    let makefile = "SDK = operator-sdk\nFLAGS = --timeout 5m --skip-tls\n\
                    r:\n\t$(SDK) run bundle $(FLAGS) x\n\topm alpha bundle unpack $(FLAGS) x\n";
    let directory = project(&[("Makefile", makefile)]);
    let run = migrate(directory.path(), &["--write"]);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    let new = &contents(directory.path())["Makefile"];
    assert!(new.contains("FLAGS = --timeout 5m --skip-tls\n"), "{new}");
    assert!(new.contains("\t$(BUNDLE_TOOL) operator-sdk run bundle $(FLAGS) x\n"), "{new}");
}

/// Files of each kind.
const KINDS: Files<'static> = &[
    (
        ".github/workflows/ci.yaml",
        "on: push\njobs:\n  a:\n    steps:\n    - run: operator-sdk bundle validate ./bundle\n    - run: |\n        set -e\n        opm validate \\\n          catalog\n    - run: >-\n        operator-sdk scorecard\n        ./bundle\n    - run: \"opm validate \\\"c\\\"\"\n    - run: curl -Lo opm https://example.com/linux-amd64-opm\n",
    ),
    (
        ".gitlab-ci.yml",
        "validate:\n  script:\n  - opm validate catalog\n  - 'operator-sdk bundle validate ./bundle'\n",
    ),
    (
        ".tekton/task.yaml",
        "apiVersion: v1\nkind: ConfigMap\n---\napiVersion: tekton.dev/v1\nkind: Task\nspec:\n  steps:\n  - name: a\n    script: |\n      #!/bin/sh\n      operator-sdk run bundle --namespace \"$(params.namespace)\" \"$BUNDLE\"\n  - name: b\n    command: [opm]\n    args: [render, quay.io/x/y:v1]\n  - name: c\n    command: [/bin/sh, -c]\n    args:\n    - opm validate catalog\n",
    ),
    (
        "bundle.Dockerfile",
        "FROM quay.io/operator-framework/opm:latest AS builder\nRUN opm validate /configs\nENTRYPOINT [\"/bin/opm\"]\nFROM fedora\nCOPY --from=quay.io/operator-framework/opm:v1 /bin/opm /bin/opm\nRUN --mount=type=cache,target=/x \\\n    # comment\n    opm validate /configs\n",
    ),
    ("hack/lib.sh", "OPM=\"$(command -v opm)\"\n\"${OPM}\" validate catalog\n"),
    ("ci/run", "#!/usr/bin/env bash\nif ! \"${OPERATOR_SDK}\" bundle validate ./bundle; then exit 1; fi\n"),
    (
        "make/sdk.mk",
        "OPERATOR_SDK ?= ./bin/operator-sdk\nifneq ($(shell $(OPERATOR_SDK) version | cut -c1),$(V))\nX = 1\nendif\nY := $(shell $(OPERATOR_SDK) bundle validate x --list-optional)\n",
    ),
    ("vendor/x/Makefile", "a:\n\topm validate catalog\n"),
    ("README.md", "operator-sdk bundle validate ./bundle\n"),
];

#[test]
fn each_kind_of_file_is_migrated() {
    let directory = project(KINDS);
    let run = migrate(directory.path(), &[]);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    insta::assert_snapshot!("migrate-project-kinds", format!("{}---\n{}", run.stdout, run.stderr));
}

#[test]
fn json_and_diff_have_the_same_changes() {
    let directory = project(KINDS);
    let json = migrate(directory.path(), &["--output", "json"]);
    assert_eq!(json.status, Some(0), "{}", json.stderr);
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    let diff = migrate(directory.path(), &["-o", "diff"]).stdout;
    assert_eq!(json["diff"], diff.as_str());
    assert_eq!(json["version"], 1);
    let first = &json["calls"][0];
    assert_eq!((&first["file"], &first["line"]), (&".github/workflows/ci.yaml".into(), &5.into()));
    assert_eq!((&first["tool"], &first["result"]), (&"operator-sdk".into(), &"native".into()));
    assert_eq!(first["replacement"], "bundle-tool validate ./bundle");

    // git makes the same changes from the diff as `--write`.
    let other = project(KINDS);
    git(other.path(), &["init", "-q"]);
    fs::write(other.path().join("p"), &diff).unwrap();
    git(other.path(), &["apply", "p"]);
    fs::remove_file(other.path().join("p")).unwrap();
    fs::remove_dir_all(other.path().join(".git")).unwrap();
    assert_eq!(migrate(directory.path(), &["--write"]).status, Some(0));
    assert_eq!(contents(directory.path()), contents(other.path()));
}

#[test]
fn second_run_changes_nothing() {
    let directory = project(&[("Makefile", MAKEFILE)]);
    assert_eq!(migrate(directory.path(), &["--write"]).status, Some(0));
    let before = contents(directory.path());
    let again = migrate(directory.path(), &["--write"]);
    assert_eq!(again.status, Some(2), "{}", again.stdout);
    assert!(again.stderr.contains("no calls to operator-sdk or opm found in ."), "{}", again.stderr);
    assert_eq!(contents(directory.path()), before);
}

#[test]
fn step_of_another_shell_or_with_unclear_lines_is_kept() {
    for (step, is_changed) in [
        ("shell: bash\n      run: |\n        opm validate c", true),
        ("shell: pwsh\n      run: |\n        opm validate c `\n          -o yaml\n    - run: echo x", false),
        ("run: |\n        opm validate `c\n    - run: echo x", false),
        ("run: |\n        #!/usr/bin/python\n        opm validate c", false),
        ("run: >\n        opm validate a\n\n        opm validate b", false),
        ("run: >\n        opm validate\n        a", true),
        ("run: &a opm validate c", false),
    ] {
        let workflow = format!("on: push\njobs:\n  a:\n    steps:\n    - {step}\n");
        let directory = project(&[(".github/workflows/a.yaml", &workflow)]);
        let run = migrate(directory.path(), &["--write"]);
        assert_eq!(run.status, Some(0), "{step}: {}", run.stderr);
        let new = &contents(directory.path())[".github/workflows/a.yaml"];
        assert_eq!(*new != workflow, is_changed, "{new}");
        assert_eq!(run.stdout.contains("mentions opm, and is kept: "), !is_changed, "{}", run.stdout);
    }
}

#[test]
fn each_makefile_defines_the_program_that_it_calls() {
    let own = "BUNDLE_TOOL ?= bundle-tool\n\n";
    let directory = project(&[
        ("Makefile", "#!/usr/bin/make -f\na:\n\topm validate c\n"),
        ("sub/Makefile", "BUNDLE_TOOL = bin/bundle-tool\na:\n\topm validate c\n"),
    ]);
    assert_eq!(migrate(directory.path(), &["--write"]).status, Some(0));
    let call = "a:\n\t$(BUNDLE_TOOL) catalog validate c\n";
    let files = contents(directory.path());
    assert_eq!(files["Makefile"], format!("#!/usr/bin/make -f\n{own}{call}"));
    assert_eq!(files["sub/Makefile"], format!("BUNDLE_TOOL = bin/bundle-tool\n{call}"));

    // The name has another meaning in the project.
    let directory =
        project(&[("Makefile", "a:\n\topm validate c\n"), ("x.sh", "BUNDLE_TOOL=hack/x\nopm validate c\n")]);
    assert_eq!(migrate(directory.path(), &["--write"]).status, Some(0));
    assert_eq!(contents(directory.path())["Makefile"], "a:\n\tbundle-tool catalog validate c\n");
}

#[test]
fn flags_that_other_programs_use_are_kept() {
    let makefile = "G ?= --skip-tls\nd:\n\toperator-sdk run bundle x $(G)\n\tcurl $(G) y\n";
    let directory = project(&[("Makefile", makefile)]);
    assert_eq!(migrate(directory.path(), &["--write"]).status, Some(0));
    let new = &contents(directory.path())["Makefile"];
    assert!(new.contains("G ?= --skip-tls\n"), "{new}");
    assert!(new.contains("\t$(BUNDLE_TOOL) operator-sdk run bundle x $(G)\n"), "{new}");
}

#[test]
fn changes_are_written_if_nobody_reads_the_report() {
    let directory = project(&[("a.sh", "opm validate c\n")]);
    let mut child = Command::new(env!("CARGO_BIN_EXE_bundle-tool"))
        .args(["migrate-project", "--write"])
        .current_dir(directory.path())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
    assert_eq!(contents(directory.path())["a.sh"], "bundle-tool catalog validate c\n");
}

#[test]
fn unresolved_variable_is_a_warning() {
    let makefile =
        "OPM := $(call tool,opm)\nv:\n\t$(OPM) validate catalog\n\t$(OPERATOR_SDK) bundle validate b\n";
    let directory = project(&[("Makefile", makefile)]);
    let run = migrate(directory.path(), &["--write"]);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    for line in [
        "Makefile:3: warning: cannot tell whether `OPM` is opm",
        "Makefile:4: warning: cannot tell whether `OPERATOR_SDK`",
    ] {
        assert!(run.stdout.contains(line), "{}", run.stdout);
    }
    assert_eq!(contents(directory.path())["Makefile"], makefile);
}

#[test]
fn bad_input_is_one_error() {
    let empty = project(&[("Makefile", "all:\n\techo\n")]);
    let fails = |directory: &Path, arguments: &[&str], message: &str| {
        let run = migrate(directory, arguments);
        assert_eq!(run.status, Some(2), "{}", run.stdout);
        assert!(run.stderr.starts_with("error: ") && run.stderr.lines().count() == 1, "{}", run.stderr);
        assert!(run.stderr.contains(message), "{}", run.stderr);
        assert_eq!(run.stdout, "");
    };
    fails(empty.path(), &[], "no calls to operator-sdk or opm found in .");
    fails(empty.path(), &["missing"], "missing is not a directory");
    fails(empty.path(), &["Makefile"], "Makefile is not a directory");
    fs::write(empty.path().join("Makefile"), format!("a:\n{}", "\topm validate c\n".repeat(5001))).unwrap();
    fails(empty.path(), &["--write"], ". contains more than 5000 calls to operator-sdk and opm");
    let project = project(&[("Makefile", MAKEFILE), ("PROJECT", "a: [")]);
    fails(project.path(), &["--write"], "./PROJECT:");
}

#[test]
fn links_out_of_the_directory_are_not_followed() {
    let outside = project(&[("Makefile", "a:\n\topm validate catalog\n")]);
    let directory = project(&[("real.mk", "b:\n\topm validate catalog\n")]);
    symlink(outside.path().join("Makefile"), directory.path().join("Makefile")).unwrap();
    symlink("real.mk", directory.path().join("link.mk")).unwrap();
    let run = migrate(directory.path(), &["--write"]);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    assert!(
        run.stdout.contains("Makefile:1: warning: not read: the symbolic link points outside the directory"),
        "{}",
        run.stdout
    );
    assert_eq!(contents(outside.path())["Makefile"], "a:\n\topm validate catalog\n");
    assert!(
        contents(directory.path())["real.mk"].ends_with("b:\n\t$(BUNDLE_TOOL) catalog validate catalog\n")
    );
    assert!(fs::symlink_metadata(directory.path().join("link.mk")).unwrap().is_symlink());
}

#[test]
fn large_files_and_deep_nesting_end() {
    let deep = format!("a:\n\topm validate {}\n", "$(".repeat(100_000));
    let cycle = "A = -a $(B)\nB = -b $(A) $(A) $(A) $(A) $(A) $(A)\nc:\n\topm validate $(A)\n";
    let large = format!("a:\n\topm validate c\n#{}\n", "x".repeat(1 << 20));
    let directory = project(&[("deep.mk", &deep), ("cycle.mk", cycle), ("large.mk", &large)]);
    let run = migrate(directory.path(), &[]);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    assert!(
        run.stdout.contains("large.mk:1: warning: not read: it is larger than 1048576 bytes"),
        "{}",
        run.stdout
    );
}

#[test]
fn scripts_in_images_of_the_tools_are_kept() {
    let directory = project(&[
        (
            ".github/workflows/ci.yaml",
            "jobs:\n  a:\n    container: quay.io/operator-framework/opm:latest\n    steps:\n    - run: opm validate a\n  b:\n    \
             container: {image: 'quay.io/operator-framework/operator-sdk:v1'}\n    steps:\n    - run: operator-sdk version\n  c:\n    \
             container: alpine\n    steps:\n    - run: opm validate c\n",
        ),
        (
            ".gitlab-ci.yml",
            "image: {name: quay.io/operator-framework/opm}\nd:\n  script:\n  - opm validate d\ne:\n  image: alpine\n  script:\n  - opm validate e\n",
        ),
        (
            "Dockerfile",
            "FROM quay.io/operator-framework/opm AS tool\nRUN true\nFROM tool AS Next\nRUN opm validate f\nFROM alpine AS opm\nRUN opm validate g\n\
             COPY --from=next /bin/opm /bin/opm\nCOPY --from=opm /x /x\nRUN <<EOF\nopm validate h\nEOF\nCOPY <<-\"E\" /x\nopm validate i\n\tE\n\
             RUN bash -e <<X\nopm validate j\nX\nRUN cat <<X\nopm validate k\nX\n",
        ),
    ]);
    let run = migrate(directory.path(), &["--output", "json"]);
    let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let results: BTreeMap<&str, &str> = report["calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| {
            let name = call["call"].as_str().unwrap().trim_end().rsplit(' ').next().unwrap();
            (name, call["result"].as_str().unwrap())
        })
        .collect();
    let expected = [
        ("a", "kept"),
        ("c", "native"),
        ("d", "kept"),
        ("e", "native"),
        ("f", "kept"),
        ("g", "native"),
        ("h", "native"),
        ("j", "native"),
        ("version", "kept"),
    ];
    assert_eq!(results, expected.into(), "{}", run.stdout);
    for reason in ["bundle-tool; use an image that contains it", "push images without a Dockerfile"] {
        assert!(run.stdout.contains(reason), "{}", run.stdout);
    }
    let notes: Vec<&serde_json::Value> = report["notes"].as_array().unwrap().iter().collect();
    let images = notes.iter().filter(|note| note["message"].as_str().unwrap().contains("uses the image"));
    assert_eq!(images.map(|note| note["line"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 7]);
}

#[test]
fn lines_that_mention_a_tool_and_are_not_understood_are_warnings() {
    let directory = project(&[
        (
            "hack/run.sh",
            "#!/bin/sh\nif ! command -v operator-sdk >/dev/null; then exit 1; fi\nbash -c 'operator-sdk bundle validate bundle'\n\
             eval \"opm validate catalog\"\ndocker run --rm -v .:/x image operator-sdk bundle validate /x\n# opm is a comment\n\
             echo \"install opm first\"\nrm -f bin/opm\nx=$(which opm)\nopm validate catalog\ncurl -Lo opm https://example.com/opm\n",
        ),
        ("latin.sh", ""),
    ]);
    fs::write(directory.path().join("latin.sh"), b"opm validate \xe9\n").unwrap();
    let run = migrate(directory.path(), &["--output", "json"]);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let warnings: Vec<String> = report["notes"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|note| note["severity"] == "warning")
        .map(|note| {
            format!(
                "{}:{}: {}",
                note["file"].as_str().unwrap(),
                note["line"],
                note["message"].as_str().unwrap()
            )
        })
        .collect();
    insta::assert_snapshot!("migrate-project-misunderstood", warnings.join("\n"));
    let quiet = migrate(directory.path(), &["--quiet"]);
    assert!(
        !quiet.stdout.contains("becomes:") && quiet.stderr.is_empty(),
        "{}{}",
        quiet.stdout,
        quiet.stderr
    );
    assert!(
        quiet.stdout.contains("latin.sh:1: warning: not read: the file is not UTF-8"),
        "{}",
        quiet.stdout
    );
}

#[test]
fn diff_is_applied_by_git_whatever_is_in_it() {
    let script = "#!/bin/sh\nprintf '\u{1b}[31m\u{202e}\r'\r\nopm validate catalog\n";
    let names = ["with space.sh", "with\ttab.sh", "\"quoted\"\\.sh", "\u{e9}.sh"];
    let directory = project(&names.map(|name| (name, script)));
    git(directory.path(), &["init", "--quiet"]);
    let diff = migrate(directory.path(), &["--output", "diff"]).stdout;
    fs::write(directory.path().join("all.patch"), diff).unwrap();
    git(directory.path(), &["apply", "all.patch"]);
    for name in names {
        assert_eq!(
            contents(directory.path())[name],
            script.replace("opm validate", "bundle-tool catalog validate"),
            "{name}"
        );
    }
}

/// A Deployment and its CRD, as kustomize prints them.
const MANIFESTS: &str = "\
apiVersion: v1
kind: ServiceAccount
metadata: {name: gizmo-controller, namespace: gizmo-system}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: gizmo-controller, namespace: gizmo-system}
spec:
  selector: {matchLabels: {app: gizmo}}
  template:
    metadata: {labels: {app: gizmo}}
    spec:
      serviceAccountName: gizmo-controller
      containers: [{name: manager, image: 'quay.io/example/gizmo:v0.0.1'}]
---
";

#[test]
fn bundle_of_a_migrated_scaffold_is_generated() {
    for layout in
        ["go.kubebuilder.io/v4", "helm.sdk.operatorframework.io/v1", "ansible.sdk.operatorframework.io/v1"]
    {
        let file = format!("domain: example.com\nlayout:\n- {layout}\nprojectName: gizmo\nversion: '3'\n");
        let directory = project(&[
            ("Makefile", MAKEFILE),
            ("PROJECT", &file),
            ("config/manifests/kustomization.yaml", "resources: []\n"),
            ("config/manager/kustomization.yaml", "resources: []\n"),
            (
                "bin/kustomize",
                "#!/bin/sh\nif test \"$1\" = build; then cat \"$(dirname \"$0\")/../manifests.yaml\" ../../config/manifests/bases/*.yaml config/manifests/bases/*.yaml 2>/dev/null; fi\nexit 0\n",
            ),
            ("manifests.yaml", MANIFESTS),
        ]);
        let kustomize = directory.path().join("bin/kustomize");
        fs::set_permissions(&kustomize, fs::Permissions::from_mode(0o755)).unwrap();
        let run = migrate(directory.path(), &["--write"]);
        assert_eq!(run.status, Some(0), "{}", run.stderr);
        let make = Command::new("make")
            .current_dir(directory.path())
            .arg("bundle")
            .arg(format!("BUNDLE_TOOL={}", env!("CARGO_BIN_EXE_bundle-tool")))
            .arg("CHANNELS=stable")
            .env("PATH", "/usr/bin:/bin")
            .output();
        let Ok(output) = make else {
            return test_support::skip("make is not installed");
        };
        let text =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{layout}: {text}");
        assert!(!text.contains("curl"), "{text}");
        let files = contents(directory.path());
        assert!(files["bundle/metadata/annotations.yaml"].contains("channels.v1: stable"), "{files:?}");
        assert!(files["bundle/manifests/gizmo.clusterserviceversion.yaml"].contains("name: gizmo.v0.0.1"));
    }
}
