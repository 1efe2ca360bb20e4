//! Bundles that are generated, and what their Dockerfiles add to their images.

use super::*;

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
    // The time of the base is not the time of the bundle.
    let line = format!(
        "operator-sdk generate kustomize manifests -q && \
         sed -i 's/^  annotations:$/&\\n    createdAt: 2020-01-01/' config/manifests/bases/*.yaml && {line}"
    );
    let third = sandbox.run("again", &line);
    assert_eq!(third.status, Some(0), "{}", third.stderr);
    let base = third.directory.join("config/manifests/bases/gitops-operator.clusterserviceversion.yaml");
    assert!(read(&base).contains("createdAt: 2020-01-01"), "{}", read(&base));
    assert!(!read(&csv).contains("2020-01-01"), "{}", read(&csv));
}

/// Objects of all kinds that a bundle has, in an order in which no bundle lists them.
const MIXED: &str = "\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules: []
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: system}
---
apiVersion: scorecard.operatorframework.io/v1alpha3
kind: Configuration
metadata: {name: config}
stages: []
---
apiVersion: v1
kind: Service
metadata: {name: metrics, namespace: system}
spec: {ports: [{port: 8443}]}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: lakes.example.com}
spec:
  group: example.com
  names: {kind: Lake, plural: lakes}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
---
";

/// Writes [`MIXED`] and a Deployment beside the files of the project.
fn mixed(root: &Path) {
    fs::remove_dir_all(root.join("bundle")).unwrap();
    let deployment = fs::read_to_string(root.join("km.yaml")).unwrap();
    write(&root.join("mixed.yaml"), &format!("{MIXED}{deployment}"));
}

#[test]
fn printed_manifests_are_in_the_order_of_operator_sdk() {
    let sandbox = Sandbox::new();
    let root = sandbox.run("printed", "true").directory;
    mixed(&root);
    let line = "cat mixed.yaml | operator-sdk generate bundle --stdout --version 0.0.1";
    let run = sandbox.run("printed", line);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    let kinds: Vec<&str> = run.stdout.lines().filter_map(|line| line.strip_prefix("kind: ")).collect();
    assert_eq!(
        kinds,
        ["ClusterServiceVersion", "CustomResourceDefinition", "Service", "ConfigMap", "ClusterRole"]
    );
    assert!(run.stdout.starts_with("\n---\napiVersion: "), "{}", run.stdout);
    assert!(!run.stdout.ends_with('\n') && !run.stdout.contains("\n\n\n"), "{}", run.stdout);
    // The metadata are files all the same, and the tests are beside the bundle, which has no tests therefore.
    let facts = [
        "!level=info msg=\"Creating bundle.Dockerfile\"",
        "!level=info msg=\"Creating bundle/metadata/annotations.yaml\"",
        "!level=info msg=\"Bundle metadata generated successfully\"",
        "+bundle.Dockerfile LABEL operators.operatorframework.io.bundle.package.v1=gitops-operator",
        "+bundle/metadata/annotations.yaml bundle.package.v1: gitops-operator",
        "+tests/scorecard/config.yaml Configuration",
    ];
    assert_eq!(check("printed", &run, 0, &facts), Vec::<String>::new());
    let annotations = fs::read_to_string(root.join("bundle/metadata/annotations.yaml")).unwrap();
    assert!(!annotations.contains("test.config"), "{annotations}");
    assert!(!root.join("bundle/manifests").exists());
    let run = sandbox.run(
        "printed",
        "rm -r bundle bundle.Dockerfile; cat mixed.yaml | operator-sdk generate bundle --stdout --manifests",
    );
    assert_eq!((run.status, run.stderr.contains("Creating")), (Some(0), false), "{}", run.stderr);
    assert!(!root.join("bundle").exists() && !root.join("bundle.Dockerfile").exists());
}

#[test]
fn output_of_generate_bundle_is_that_of_operator_sdk() {
    let sandbox = Sandbox::new();
    let root = sandbox.run("output", "true").directory;
    mixed(&root);
    write(&root.join("bundle/community/README.md"), "kept\n");
    let run = sandbox.run("output", "cat mixed.yaml | operator-sdk generate bundle --version 0.0.1");
    assert_eq!(
        run.stdout,
        "Generating bundle version 0.0.1\nGenerating bundle manifests\n\
         Building a ClusterServiceVersion without an existing base\n\
         Bundle manifests generated successfully in bundle\nGenerating bundle metadata\n"
    );
    let facts = [
        "+bundle/community/README.md kept",
        "+bundle/metadata/annotations.yaml test.config.v1: tests/scorecard/",
        "!warning: no base ClusterServiceVersion found, so the CSV has placeholders",
        "+bundle/manifests/gitops-operator.clusterserviceversion.yaml email: your@email.com",
    ];
    assert_eq!(check("output", &run, 0, &facts), Vec::<String>::new());
    let quiet = sandbox.run("output", "cat mixed.yaml | operator-sdk generate bundle -q --overwrite=false");
    assert_eq!((quiet.status, &*quiet.stdout, &*quiet.stderr), (Some(0), "", ""));
    // Tests of an input directory are looked for in that directory.
    let line = "mkdir in; mv mixed.yaml in/; operator-sdk generate bundle -q --input-dir in --output-dir out";
    let run = sandbox.run("output", line);
    assert_eq!(check("output", &run, 0, &["+out/tests/scorecard/config.yaml"]), Vec::<String>::new());
    let annotations = fs::read_to_string(root.join("out/metadata/annotations.yaml")).unwrap();
    assert!(!annotations.contains("test.config"), "{annotations}");
}

#[test]
fn bundles_that_only_the_native_command_rejects_are_generated() {
    let sandbox = Sandbox::new();
    let base = "config/manifests/bases/gitops-operator.clusterserviceversion.yaml";
    let csv = "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\n\
               metadata: {name: gitops-operator.v0.0.0}\nspec: {replaces: gitops-operator.v0.0.1}\n";
    for (name, prepare, facts, native) in [
        (
            "replaces-itself",
            format!(
                "mkdir -p $(dirname {base}); printf '{}' > {base}; cat km.yaml > in",
                csv.replace('\n', "\\n")
            ),
            "+bundle/manifests/gitops-operator.clusterserviceversion.yaml replaces: gitops-operator.v0.0.1",
            "contains gitops-operator.v0.0.1 itself",
        ),
        (
            "no-deployment",
            "sed '/^kind: Deployment/,$d' km.yaml | sed '/apps.v1/d' > in".to_owned(),
            "+bundle/manifests/gitops-operator.clusterserviceversion.yaml deployments: []",
            "no Deployment found",
        ),
        (
            "default-channel",
            "cat km.yaml > in".to_owned(),
            "+bundle/metadata/annotations.yaml channel.default.v1: beta",
            "the default channel `beta` is not one of the channels",
        ),
    ] {
        let flags = "--version 0.0.1 --channels=stable --default-channel=beta";
        let flags = if name == "default-channel" { flags } else { "--version 0.0.1" };
        let line = format!("rm -r bundle; {prepare}; cat in | operator-sdk generate bundle -q {flags}");
        assert_eq!(check(name, &sandbox.run(name, &line), 0, &[facts]), Vec::<String>::new());
        let run = sandbox.run(name, &format!("cat in | bundle-tool generate bundle {flags}"));
        assert_eq!(run.status, Some(2), "{name}: {}", run.stderr);
        assert!(run.stderr.contains(native), "{name}: {}", run.stderr);
    }
    let run = sandbox.run(
        "alpha",
        "sed -i \"s/'3'/3-alpha/\" PROJECT; cat km.yaml | operator-sdk generate bundle -q --version 0.0.1",
    );
    let facts = ["!PROJECT:5:10: version \\\"3-alpha\\\" of the file is not supported: expected \\\"3\\\""];
    assert_eq!(check("alpha", &run, 1, &facts), Vec::<String>::new());
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
