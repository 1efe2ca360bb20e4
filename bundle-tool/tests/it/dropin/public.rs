//! Command lines of public Makefiles, scripts, workflows and Tekton tasks, with values for their variables. The exit status is that of
//! operator-sdk 1.42.3 and opm 1.73.0, except for `SQLite` indexes and clusters, which the sandbox does not have.

use super::*;
use lines::NO_OLM;

/// A line, its exit status, and facts, as in [`Expected`].
type Line = (&'static str, i32, &'static [&'static str]);

#[rustfmt::skip]
const LINES: &[Line] = &[
    ("operator-sdk generate bundle --package minio-directpv --version 4.0.0 --deploy-dir deploy --manifests --metadata --output-dir bundles/redhat/4.0.0 --channels stable --overwrite", 0, &["+bundles/redhat/4.0.0/manifests/minio-directpv.clusterserviceversion.yaml name: minio-directpv.v4.0.0", "+bundles/redhat/4.0.0/metadata/annotations.yaml channels.v1: stable"]),
    ("operator-sdk generate bundle --input-dir=deploy --kustomize-dir=config/olm --version=0.45.0 --package=strimzi-cluster-operator --output-dir=./", 0, &["+manifests/strimzi-cluster-operator.clusterserviceversion.yaml", "+metadata/annotations.yaml"]),
    ("cat km.yaml | operator-sdk generate bundle --package kubearchive-installer --version 0.0.1", 0, &[">Generating bundle version 0.0.1", "+bundle.Dockerfile COPY bundle/manifests /manifests/"]),
    ("cat km.yaml | operator-sdk generate bundle --plugins=go.kubebuilder.io/v4 --use-image-digests", 0, &[">pinning image versions to digests"]),
    ("cat km.yaml | operator-sdk generate bundle --verbose --overwrite --manifests --metadata --package cloudnative-pg --channels stable-v1 --use-image-digests --default-channel stable-v1 --version 1.27.0", 0, &["+bundle/manifests/cloudnative-pg.clusterserviceversion.yaml @sha256:", "+bundle/metadata/annotations.yaml channel.default.v1: stable-v1"]),
    ("cat km.yaml | operator-sdk generate bundle --channels alpha,beta -q --overwrite --version 0.1.0", 0, &["+bundle/metadata/annotations.yaml channels.v1: alpha,beta"]),
    ("operator-sdk generate bundle --manifests --deploy-dir config/ --crds-dir config/crd/bases/ --output-dir olm-catalog/cluster-manager/ --version 0.16.0", 0, &["+olm-catalog/cluster-manager/manifests/gadgets.example.com_gizmos.yaml"]),
    ("cat km.yaml | operator-sdk generate bundle --version 1.0.0 --channels stable", 0, &[">Bundle manifests generated successfully in bundle"]),
    ("cat km.yaml | operator-sdk generate bundle --kustomize-dir config/manifests/rhdh -q --overwrite --version 0.8.0 --channels=fast,fast-1.8 --default-channel=fast", 0, &["+bundle/metadata/annotations.yaml channels.v1: fast,fast-1.8"]),
    ("cat km.yaml | operator-sdk generate bundle --overwrite --version 1.7.0 --extra-service-accounts dynatrace-oneagent --extra-service-accounts dynatrace-csi --channels=alpha", 0, &["+bundle/metadata/annotations.yaml channels.v1: alpha"]),
    ("operator-sdk generate kustomize manifests --package chirpstack-operator -q", 0, &["+config/manifests/bases/chirpstack-operator.clusterserviceversion.yaml"]),
    ("operator-sdk generate kustomize manifests -q --plugins=go.kubebuilder.io/v4", 0, &["+config/manifests/bases/gitops-operator.clusterserviceversion.yaml"]),
    ("operator-sdk generate kustomize manifests --package=storageosoperator --apis-dir=api/v1 -q", 0, &["+config/manifests/bases/storageosoperator.clusterserviceversion.yaml"]),
    ("operator-sdk generate kustomize manifests --interactive=false", 0, &[">Kustomize files generated successfully"]),
    ("operator-sdk bundle validate -b docker ./bundle", 0, &[PASSED]),
    ("operator-sdk bundle validate --verbose bundle", 0, &[PASSED]),
    ("operator-sdk bundle validate --select-optional suite=operatorframework --optional-values k8s-version=1.30 ./bundle", 0, &[PASSED]),
    ("cd bundle && operator-sdk bundle validate .", 0, &[PASSED]),
    ("mkdir -p _cache && cp -r bundle _cache/ && operator-sdk bundle validate _cache/bundle", 0, &[PASSED]),
    ("operator-sdk bundle validate bundle/ --select-optional name=multiarch", 0, &[PASSED]),
    ("operator-sdk bundle validate ./bundle --select-optional name=good-practices || exit 3", 0, &[PASSED]),
    ("operator-sdk bundle validate ./bundle ./bundle", 1, &["!an image tag or directory is a required argument"]),
    ("operator-sdk scorecard bundle --wait-time 120s", 1, &[">State: fail"]),
    ("operator-sdk scorecard ./bundle --wait-time 5m --service-account=lbconfig-operator-controller-manager", 1, &[">State: fail"]),
    ("operator-sdk scorecard --kubeconfig=$KUBECONFIG -o text ./bundle", 1, &[">State: fail"]),
    ("operator-sdk scorecard --verbose", 1, &["!Usage:"]),
    ("operator-sdk scorecard --cr-manifest deploy/cr.yaml --csv-path csv.yaml", 1, &["!unknown flag: --cr-manifest"]),
    ("operator-sdk scorecard bundle --list -o json", 0, &[r#">"image""#]),
    ("operator-sdk olm install latest", 1, &["!the manifests lack CRD"]),
    ("operator-sdk olm status > /dev/null", 1, &[]),
    ("operator-sdk olm uninstall --timeout 4m", 1, &["!OLM is not installed"]),
    ("operator-sdk run bundle --timeout=1m -n nvidia-gpu-operator --install-mode OwnNamespace quay.io/x/y:v1", 1, &[NO_OLM]),
    ("operator-sdk run bundle --install-mode AllNamespaces -n operator-utils quay.io/x/y:v1", 1, &[NO_OLM]),
    ("operator-sdk run bundle --timeout=10m --namespace ns quay.io/x/y:v1 --kubeconfig $KUBECONFIG --verbose", 1, &[NO_OLM]),
    ("operator-sdk run bundle --timeout 3m quay.io/x/y:v1 --index-image=quay.io/operator-framework/opm:v1.23.0", 1, &[NO_OLM]),
    ("operator-sdk run bundle --install-mode SingleNamespace=gitops quay.io/x/y:v1", 1, &[NO_OLM]),
    ("operator-sdk run bundle --timeout 3m", 1, &["!accepts 1 arg(s), received 0"]),
    ("operator-sdk run bundle-upgrade quay.io/x/y:v2 --timeout 5m --namespace netobserv", 1, &[NO_OLM]),
    ("operator-sdk cleanup -n dpf-operator-system dpf-operator", 0, &[r#"!package \"dpf-operator\" not found"#]),
    ("operator-sdk cleanup koku-metrics-operator --delete-crds --delete-all --namespace=koku-metrics-operator", 0, &["!level=warning"]),
    ("operator-sdk cleanup packagemanifests --operator-version 0.0.1", 1, &["!unknown flag: --operator-version"]),
    ("operator-sdk version | grep v1.42.3 > /dev/null 2>&1", 0, &[]),
    (r#"operator-sdk version | grep -o 'operator-sdk version: "[^"]*'"#, 0, &[r#">operator-sdk version: "v1.42.3"#]),
    ("operator-sdk generate bundle --help | grep -c -- --use-image-digests", 0, &[">1"]),
    (r#"opm index add --skip-tls --bundles="localhost:5107/gitops-operator-bundle:v1" --tag "localhost:5107/made-index:latest""#, 0, &["!Flag --skip-tls has been deprecated"]),
    (r#"opm index add --build-tool docker --bundles "localhost:5107/x/y:v1" --tag "localhost:5107/obo-catalog:v1""#, 0, &["+tool.log docker load"]),
    ("opm index add --bundles localhost:5107/x/y:v1 --tag localhost:5107/idx:v1 -u podman", 0, &["+tool.log podman load"]),
    ("opm index add --bundles localhost:5107/x/y:v1 --mode=semver --generate -f localhost:5107/cat:v1", 0, &["+index/gizmo-operator/catalog.yaml", "+index.Dockerfile"]),
    ("opm index add -c podman --mode replaces -b localhost:5107/x/y:v1,localhost:5107/x/y:v2 -t localhost:5107/c:v2", 0, &["+tool.log podman load"]),
    ("opm index add --permissive --from-index localhost:5107/cat:v1 --bundles localhost:5107/x/y:v1 --tag localhost:5107/c:v3 --generate --out-dockerfile idx.Dockerfile", 0, &["+idx.Dockerfile"]),
    ("opm index prune --from-index registry.redhat.io/redhat/redhat-operator-index:v4.8 --packages a,b --tag localhost:5107/olm-index:v4.8", 0, &["+tool.log podman load"]),
    (r#"opm index rm -o "a" -c "docker" --tag "localhost:5107/testcatalog:latest" --from-index "localhost:5107/cat:v1" --debug"#, 0, &["+tool.log docker load"]),
    ("opm index rm -o etcd --from-index localhost:5107/cat:v1 --tag localhost:5107/cat:v3 -p none", 0, &["+tool.log podman load"]),
    ("opm index prune-stranded -f localhost:5107/cat:v1 -c docker --tag localhost:5107/cat:v4", 1, &["!not supported"]),
    ("opm alpha bundle generate -d manifests -u 1.2.0 --channels stable --package gizmo-operator", 0, &["+1.2.0/metadata/annotations.yaml package.v1: gizmo-operator", "+bundle.Dockerfile"]),
    ("opm alpha bundle generate --directory bundle/manifests --package advanced-cluster-management --channels latest --default latest", 0, &["+bundle/metadata/annotations.yaml"]),
    ("opm alpha bundle build -d manifests --tag docker.io/x/che:latest --package che --channels stable,nightly --default stable", 0, &["!Building bundle image"]),
    ("opm alpha bundle build -t localhost:5107/olm-prometheus:0.22.2 -p prometheus -c preview -e preview -d manifests/ -b docker", 0, &["+tool.log docker load"]),
    ("opm alpha bundle unpack localhost:5107/x/y:v1", 0, &["+metadata/annotations.yaml", "+manifests/gizmo-operator.clusterserviceversion.yaml"]),
    ("opm generate dockerfile catalog/ -i registry.redhat.io/openshift4/ose-operator-registry:latest", 0, &["+catalog.Dockerfile FROM registry.redhat.io/openshift4/ose-operator-registry:latest"]),
    ("mkdir -p olm && cp -r catalog olm/ && opm generate dockerfile olm/catalog", 0, &["+olm/catalog.Dockerfile ADD catalog /configs"]),
    (r#"opm render quay.io/x/y:v1 -o json | grep -c '"schema": "olm.bundle"'"#, 0, &[">1"]),
    ("opm render bundle -o xml", 1, &[r#"!invalid --output value \"xml\""#]),
    ("cat semver.yaml | opm alpha render-template semver -o yaml -", 0, &[">name: stable-v1"]),
    ("opm alpha render-template semver semver.yaml --migrate-level=bundle-object-to-csv-metadata", 0, &[r#">"olm.csv.metadata""#]),
    (r#"opm alpha render-template basic --migrate-level="none" "basic.yaml" -oyaml"#, 0, &[">schema: olm.bundle"]),
    ("opm alpha render-template composite -f catalogs.yaml -c contributions.yaml", 1, &["!unknown shorthand flag: 'f'"]),
    ("opm alpha convert-template basic catalog/index.yaml -o yaml", 0, &[">schema: olm.template.basic"]),
    ("opm migrate localhost:5107/cat:v1 ./catalog-migrate", 0, &["+catalog-migrate/etcd/catalog.json"]),
    ("opm alpha list bundles localhost:5107/cat:v1 a | grep -F 1.1.0", 0, &[">a.v1.1.0"]),
    ("opm alpha list packages localhost:5107/cat:v1 | awk 'NR>=2 {print $1}'", 0, &[">a\nb\netcd"]),
    ("opm alpha list bundles catalog no-such-package", 1, &[r#"!package \"no-such-package\" not found"#]),
    ("opm alpha render-graph localhost:5107/cat:v1 -p a", 0, &[">graph LR"]),
    ("opm alpha render-graph catalog --minimum-edge lightspeed-operator.v1.1.0", 0, &[">graph LR"]),
    ("opm init sample-operator -c alpha -o yaml", 0, &[">defaultChannel: alpha"]),
    ("opm serve catalog --port 50999 --cache-dir=c --cache-only", 0, &["+c/catalog.index"]),
    ("opm validate no-catalog", 1, &[]),
    (r#"opm version | sed 's/.*OpmVersion:"\([^"]*\)".*/\1/'"#, 0, &[">v1.73.0"]),
    ("opm registry serve -d index.db", 1, &["!not supported"]),
    ("opm index export -i localhost:5107/cat:v1 -p a -c none", 1, &["!not supported"]),
];

#[test]
fn more_public_command_lines_work() {
    let sandbox = Sandbox::new();
    let problems: Vec<String> = LINES
        .par_iter()
        .enumerate()
        .flat_map(|(index, (line, status, facts))| {
            let run = sandbox.run(&format!("public-{index}"), line);
            check(line, &run, *status, facts)
        })
        .collect();
    assert!(problems.is_empty(), "{} of {}:\n{}", problems.len(), LINES.len(), problems.join("\n"));
}
