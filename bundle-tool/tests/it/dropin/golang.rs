//! `operator-sdk generate kustomize manifests`.

use super::*;

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
    // Not part of the build, and the first of the files of its package.
    write(&root.join("api/v1/aaa.go"), "//go:build ignore\n\npackage main\n\nfunc main() { template {{ }}\n");
    write(&root.join("api/v1/bbb_plan9.go"), "package other\n");
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
