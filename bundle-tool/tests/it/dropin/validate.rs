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
