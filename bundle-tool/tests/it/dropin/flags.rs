//! How flags, arguments and variables are read, and what wrong ones are answered with.

use super::*;

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
        ("opm completion bash --no-descriptions", 0, &[">opm"]),
        ("opm completion", 0, &[">Usage:\n  opm completion [SHELL] [flags]"]),
        ("operator-sdk completion", 0, &[">Usage:\n  operator-sdk completion [SHELL] [flags]"]),
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
        (
            "opm alpha bundle extract -m bundle/manifests -c x -n olm -z",
            1,
            &[
                "!`opm alpha bundle extract` is the job with which OLM unpacks a bundle",
                "!`bundle-tool run bundle IMAGE`",
            ],
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
    check_lines(&sandbox, "cobra", cases);
}
