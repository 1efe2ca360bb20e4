//! `operator-sdk bundle validate`.

use super::*;

#[test]
fn permissions_for_resources_with_removed_versions_are_warnings() {
    let sandbox = Sandbox::new();
    let line = "rm -r bundle; cat km.yaml | sed \"s/\\[''\\], resources: \\[configmaps\\]/[policy], resources: [poddisruptionbudgets]/\" | \
                operator-sdk generate bundle -q --version 0.0.1 && \
                operator-sdk bundle validate ./bundle -o json-alpha1 --select-optional name=alpha-deprecated-apis";
    let run = sandbox.run("removed", line);
    let warning = "this bundle is using APIs which were deprecated and removed in v1.25. More info: \
                   https://kubernetes.io/docs/reference/using-api/deprecation-guide/#v1-25. Migrate the API(s) for \
                   poddisruptionbudgets: ([\\\"ClusterServiceVersion.Spec.InstallStrategy.StrategySpec.Permissions[0].Rules[0]\\\"])\"";
    let warning = format!(">            \"type\": \"warning\",\n            \"message\": \"{warning}");
    assert_eq!(
        check("removed", &run, 0, &[&warning, ">    \"passed\": true,", PASSED]),
        Vec::<String>::new()
    );
    let run = sandbox.run("removed", "operator-sdk bundle validate ./bundle -o json-alpha1");
    assert_eq!((run.status, run.stdout.contains("deprecated and removed")), (Some(0), false));
}

#[test]
fn bundles_beside_other_directories_are_validated() {
    let sandbox = Sandbox::new();
    let line = "mkdir -p bundle/community/manifests && cp km.yaml bundle/community/ && operator-sdk bundle validate ./bundle";
    assert_eq!(check("beside", &sandbox.run("beside", line), 0, &[PASSED]), Vec::<String>::new());
}

#[test]
fn findings_that_operator_sdk_does_not_have_are_on_standard_error() {
    let sandbox = Sandbox::new();
    let line = "sed -i 's/^spec:/spec:\\n  unknownField: x/' bundle/manifests/*clusterserviceversion.yaml && \
                operator-sdk bundle validate ./bundle";
    let run = sandbox.run("more", line);
    assert_eq!(run.status, Some(0), "{}{}", run.stdout, run.stderr);
    assert!(run.stderr.contains("[csv-unknown-field]"), "{}", run.stderr);
    assert!(!run.stdout.contains("[csv-unknown-field]"), "{}", run.stdout);
    let run = sandbox.run("more", "operator-sdk bundle validate ./bundle -o json-alpha1");
    assert!(!run.stdout.contains("[csv-unknown-field]"), "{}", run.stdout);
}

#[test]
fn definitions_of_v1beta1_that_keep_unknown_fields_are_errors() {
    let sandbox = Sandbox::new();
    let line = "sed -i 's|apiextensions.k8s.io/v1|apiextensions.k8s.io/v1beta1|' bundle/manifests/*crd.yaml && \
                operator-sdk bundle validate ./bundle";
    let run = sandbox.run("kept", line);
    assert_eq!(run.status, Some(1), "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("spec.preserveUnknownFields: Invalid value: true"), "{}", run.stdout);
    let line = "sed -i 's|^spec:|spec:\\n  preserveUnknownFields: false|' bundle/manifests/*crd.yaml && \
                operator-sdk bundle validate ./bundle";
    let run = sandbox.run("kept", line);
    assert!(!run.stdout.contains("preserveUnknownFields"), "{}", run.stdout);
}
