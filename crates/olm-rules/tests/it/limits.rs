//! The limits of validation: what long lists, large schemas, expensive rules and deep documents may cost, and that no
//! limit hides an error.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use olm_model::read;
use olm_model::report::{Finding, Severity, Suite};
use olm_rules::{Level, MAX_FINDINGS, Selection};
use serde_json::{Value, json};

const CSV: &str = "manifests/gizmo-operator.clusterserviceversion.yaml";
const CRD: &str = "manifests/gizmos.gadgets.example.com.crd.yaml";
const ANNOTATIONS: &str = "metadata/annotations.yaml";

type Files = BTreeMap<String, Vec<u8>>;

fn valid_bundle() -> Files {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/bundle");
    let read = |path: &str| (path.to_owned(), fs::read(root.join(path)).unwrap());
    [CSV, CRD, ANNOTATIONS].into_iter().map(read).collect()
}

fn edited(path: &str, edit: impl FnOnce(&mut Value)) -> Files {
    let mut files = valid_bundle();
    let parsed = kube_yaml::parse(&files[path]);
    let mut document = parsed.documents[0].root().to_json();
    edit(&mut document);
    files.insert(path.to_owned(), serde_json::to_vec(&document).unwrap());
    files
}

fn csv(edit: impl FnOnce(&mut Value)) -> Files {
    edited(CSV, edit)
}

fn crd(edit: impl FnOnce(&mut Value)) -> Files {
    edited(CRD, edit)
}

fn schema(spec: Value) -> Files {
    crd(|crd| {
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] = spec;
    })
}

fn object(name: &str, object: &Value) -> Files {
    let mut files = valid_bundle();
    files.insert(format!("manifests/{name}.yaml"), serde_json::to_vec(object).unwrap());
    files
}

fn findings(files: &Files, allowed: &[&str]) -> Vec<Finding> {
    let selection = Selection {
        // Those after it are not for every bundle, and the valid bundle does not pass them.
        suites: Suite::ALL.into_iter().filter(|suite| *suite <= Suite::Olmv1).collect(),
        levels: allowed.iter().map(|id| ((*id).to_owned(), Level::Allow)).collect(),
        ..Selection::default()
    };
    let report = olm_rules::validate(&read::bundle::files("limits", files), &selection);
    report.findings.into_iter().filter(|finding| finding.ignored.is_none()).collect()
}

fn errors(files: &Files) -> Vec<Finding> {
    let all = findings(files, &[]).into_iter();
    all.filter(|finding| finding.severity == Severity::Error).collect()
}

fn list(n: usize, item: impl Fn(usize) -> Value) -> Value {
    Value::Array((0..n).map(item).collect())
}

fn map(n: usize, value: impl Fn(usize) -> Value) -> Value {
    Value::Object((0..n).map(|i| (format!("k{i}"), value(i))).collect())
}

const MANY_WARNINGS: usize = MAX_FINDINGS + 1;

/// A schema with more warnings than are kept, and the property `z` behind them.
fn warnings_then(z: Value) -> Files {
    let mut properties = map(MANY_WARNINGS, |_| json!({"type": "string", "x-foo": 1}));
    properties["z"] = z;
    schema(json!({"type": "object", "properties": properties}))
}

#[test]
fn an_error_behind_many_warnings_is_found() {
    let errors = errors(&warnings_then(json!({})));
    assert_eq!(errors.iter().map(|finding| finding.rule).collect::<Vec<_>>(), ["schema-type-missing"]);
}

#[test]
fn findings_beyond_the_limit_of_a_rule_are_counted() {
    let files = schema(json!({"type": "object", "properties": map(MAX_FINDINGS + 7, |_| json!({}))}));
    let found = errors(&files);
    assert_eq!(found.len(), MAX_FINDINGS + 1);
    assert!(found.iter().any(|finding| finding.message == "7 more findings of this rule are not listed"));
}

#[test]
fn ignoring_a_rule_does_not_change_what_others_report() {
    // An error of one rule keeps the CEL rules of the schema from being validated at all.
    let spec = json!({
        "type": "object",
        "properties": {"a": {"type": "string", "pattern": "("}},
        "x-kubernetes-validations": [{"rule": "self.b == 1"}],
    });
    let files = schema(spec);
    let all = findings(&files, &[]);
    let without = findings(&files, &["schema-pattern-invalid"]);
    let expected: Vec<_> =
        all.iter().filter(|finding| finding.rule != "schema-pattern-invalid").cloned().collect();
    assert_ne!(all, without);
    assert_eq!(without, expected);
}

#[test]
fn deep_schemas_fit_into_the_stack_of_any_thread() {
    let mut items = json!({"type": "string"});
    for _ in 0..980 {
        items = json!({"type": "array", "items": items});
    }
    let files = crd(|crd| {
        let versions = crd["spec"]["versions"].as_array_mut().unwrap();
        // Close to the root, so that the depth is within what can be read.
        versions[0]["schema"]["openAPIV3Schema"] = items.clone();
        let mut second = versions[0].clone();
        second["name"] = json!("v2");
        second["storage"] = json!(false);
        versions.push(second);
    });
    let run = move || findings(&files, &[]);
    let found = std::thread::Builder::new().stack_size(2 << 20).spawn(run).unwrap().join().unwrap();
    assert!(found.iter().any(|finding| finding.rule == "schema-root-type"), "{found:?}");
}

#[test]
fn messages_and_paths_do_not_hold_whole_values() {
    let long = "Ä".repeat(1_000_000);
    let long_kind = long.clone();
    let files = csv(move |csv| {
        csv["spec"]["webhookdefinitions"][0]["type"] = json!(long_kind);
        csv["spec"][long] = json!(1);
    });
    let found = findings(&files, &[]);
    assert!(!found.is_empty());
    for finding in found {
        assert!(finding.message.len() < 1000, "{}", finding.rule);
        assert!(finding.path.is_none_or(|path| path.len() < 3000), "{}", finding.rule);
    }
}

/// A default that costs more than the API server allows for one rule.
#[test]
fn rules_that_cost_more_than_the_api_server_allows_are_errors() {
    let spec = json!({
        "type": "object",
        "default": {"l": list(120, |i| json!(i))},
        "properties": {"l": {"type": "array", "maxItems": 120, "items": {"type": "integer"}}},
        "x-kubernetes-validations": [
            {"rule": "[1, 2].all(a, self.l.all(b, self.l.all(c, [1, 2, 3, 4, 5].all(d, a + b + c + d >= 0))))"}
        ],
    });
    let found = errors(&schema(spec));
    assert!(
        found
            .iter()
            .any(|finding| finding.rule == "schema-default-breaks-rule"
                && finding.message.contains("cost limit")),
        "{found:?}"
    );
}

#[test]
fn a_rule_cannot_make_values_of_any_size() {
    let spec = json!({
        "type": "object",
        "default": {"a": "a".repeat(100_000), "l": list(20_000, |_| json!("x"))},
        "properties": {
            "a": {"type": "string"},
            "l": {"type": "array", "items": {"type": "string"}},
        },
        "x-kubernetes-validations": [
            {"rule": "self.a.replace('a', self.a).size() > 0"},
            {"rule": "self.l.join(self.a).size() > 0"},
        ],
    });
    // The texts are not made: their cost exceeds the limit first.
    let found = findings(&schema(spec), &[]);
    let mut broken = found.iter().filter(|finding| finding.rule == "schema-default-breaks-rule");
    assert!(broken.all(|finding| finding.message.contains("cost")), "{found:?}");
    assert!(found.iter().any(|finding| finding.rule == "schema-rules-too-expensive"), "{found:?}");
}

const DEPLOYMENTS: &str = "/spec/install/spec/deployments";
const POD: &str = "/spec/install/spec/deployments/0/spec/template/spec";
const CONTAINER: &str = "/spec/install/spec/deployments/0/spec/template/spec/containers/0";

fn set(document: &mut Value, pointer: &str, field: &str, value: Value) {
    document.pointer_mut(pointer).unwrap()[field] = value;
}

type Family = (&'static str, fn(usize) -> Files);

/// Bundles with `n` of something.
const FAMILIES: &[Family] = &[
    ("owned CRDs", |n| {
        let owned = list(
            n,
            |i| json!({"name": format!("gizmos{i}.gadgets.example.com"), "kind": format!("Gizmo{i}"), "version": "v1"}),
        );
        csv(|csv| {
            csv["spec"]["customresourcedefinitions"] = json!({"owned": owned.clone(), "required": owned});
        })
    }),
    ("owned versions of one CRD", |n| {
        let owned = list(
            n,
            |i| json!({"name": "gizmos.gadgets.example.com", "kind": "Gizmo", "version": format!("v{i}")}),
        );
        let mut files = csv(|csv| csv["spec"]["customresourcedefinitions"]["owned"] = owned);
        let crds = crd(|crd| {
            crd["spec"]["versions"] =
                list(n, |i| json!({"name": format!("v{i}"), "served": i % 2 == 0, "storage": i == 0}));
        });
        files.insert(CRD.to_owned(), crds[CRD].clone());
        files
    }),
    ("versions with one schema", |n| {
        crd(|crd| {
            let version = crd["spec"]["versions"][0].clone();
            crd["spec"]["versions"] = list(n / 16, |i| {
                let mut version = version.clone();
                version["name"] = json!(format!("v{i}"));
                version["storage"] = json!(i == 0);
                version["subresources"] = json!({});
                version
            });
        })
    }),
    ("volumes, mounts and devices", |n| {
        csv(|csv| {
            let named = |prefix: &'static str| move |i: usize| json!({"name": format!("{prefix}{i}"), "emptyDir": {}});
            set(csv, POD, "volumes", list(n, named("v")));
            let mounts = list(n, |i| json!({"name": format!("v{i}"), "mountPath": format!("/m{i}")}));
            set(csv, CONTAINER, "volumeMounts", mounts);
            let devices = list(n, |i| json!({"name": format!("v{i}"), "devicePath": format!("/d{i}")}));
            set(csv, CONTAINER, "volumeDevices", devices);
        })
    }),
    ("deployments with webhooks and service accounts", |n| {
        csv(|csv| {
            let mut deployment = csv.pointer(DEPLOYMENTS).unwrap()[0].clone();
            let webhook = csv["spec"]["webhookdefinitions"][0].clone();
            let n = n / 8;
            csv["spec"]["webhookdefinitions"] = list(n, |i| {
                let mut webhook = webhook.clone();
                webhook["generateName"] = json!(format!("w{i}.example.com"));
                webhook["deploymentName"] = json!(format!("d{i}"));
                webhook
            });
            csv["spec"]["apiservicedefinitions"]["owned"] = list(
                n,
                |i| json!({"name": "a", "group": format!("g{i}"), "version": "v1", "kind": "K", "deploymentName": format!("d{i}")}),
            );
            deployment["spec"]["template"]["spec"]["serviceAccountName"] = json!("x");
            csv["spec"]["install"]["spec"]["deployments"] = list(n, |i| {
                let mut deployment = deployment.clone();
                deployment["name"] = json!(format!("d{i}"));
                deployment
            });
        })
    }),
    ("annotations of the CSV beside deployments", |n| {
        csv(|csv| {
            let deployment = csv.pointer(DEPLOYMENTS).unwrap()[0].clone();
            csv["spec"]["install"]["spec"]["deployments"] = list(n / 8, |i| {
                let mut deployment = deployment.clone();
                deployment["name"] = json!(format!("d{i}"));
                deployment
            });
            for i in 0..n {
                csv["metadata"]["annotations"][format!("a{i}")] = json!("x");
            }
        })
    }),
    ("unknown fields", |n| {
        csv(|csv| {
            for i in 0..n {
                csv["spec"][format!("field{i}")] = json!(1);
            }
        })
    }),
    ("environment variables and ports", |n| {
        csv(|csv| {
            set(csv, CONTAINER, "env", list(n, |i| json!({"name": format!("E{i}"), "value": "x"})));
            set(csv, CONTAINER, "ports", list(n, |i| json!({"name": format!("p{i}"), "containerPort": i})));
        })
    }),
    ("spread constraints", |n| {
        csv(|csv| {
            let constraints = list(n, |i| {
                json!({"maxSkew": 1, "topologyKey": format!("k{i}"), "whenUnsatisfiable": "DoNotSchedule",
                    "labelSelector": {}, "matchLabelKeys": [format!("l{i}")]})
            });
            set(csv, POD, "topologySpreadConstraints", constraints);
        })
    }),
    ("label keys of one constraint", |n| {
        csv(|csv| {
            let keys = list(n, |i| json!(format!("l{i}")));
            let expressions = list(n, |i| json!({"key": format!("l{i}"), "operator": "Exists"}));
            let constraint = json!([{"maxSkew": 1, "topologyKey": "k", "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchExpressions": expressions}, "matchLabelKeys": keys}]);
            set(csv, POD, "topologySpreadConstraints", constraint);
        })
    }),
    ("resource claims", |n| {
        csv(|csv| {
            let claims = list(n, |i| json!({"name": "claim", "request": format!("r{i}")}));
            set(csv, CONTAINER, "resources", json!({"claims": claims}));
            set(csv, POD, "resourceClaims", list(n, |i| json!({"name": format!("c{i}")})));
        })
    }),
    ("owners and finalizers", |n| {
        let owners = list(
            n,
            |i| json!({"apiVersion": "v1", "kind": "K", "name": "o", "uid": format!("u{i}"), "controller": i == 0}),
        );
        let finalizers = list(n, |i| json!(format!("example.com/f{i}")));
        let metadata = json!({"name": "a", "ownerReferences": owners, "finalizers": finalizers});
        object("map", &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}))
    }),
    ("ports of a Service", |n| {
        let ports = list(n, |i| json!({"name": format!("p{i}"), "port": i, "targetPort": format!("t{i}")}));
        object(
            "service",
            &json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"ports": ports}}),
        )
    }),
    ("rules and subjects of RBAC", |n| {
        let rules =
            list(n, |i| json!({"apiGroups": [format!("g{i}")], "resources": ["x"], "verbs": ["get"]}));
        object(
            "role",
            &json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "a"}, "rules": rules}),
        )
    }),
    ("permissions, skips, install modes, links and images", |n| {
        csv(|csv| {
            csv["spec"]["skips"] = list(n, |i| json!(format!("gizmo-operator.v0.0.{i}")));
            csv["spec"]["installModes"] = list(n, |_| json!({"type": "OwnNamespace", "supported": true}));
            csv["spec"]["links"] =
                list(n, |i| json!({"name": "a", "url": format!("https://{i}.example.com")}));
            csv["spec"]["relatedImages"] =
                list(n, |i| json!({"name": "a", "image": format!("quay.io/a/b:{i}")}));
            csv["spec"]["nativeAPIs"] =
                list(n, |i| json!({"group": "g", "version": "v1", "kind": format!("K{i}")}));
            let permissions = list(n, |i| json!({"serviceAccountName": format!("sa{i}"), "rules": []}));
            csv["spec"]["install"]["spec"]["clusterPermissions"] = permissions;
        })
    }),
    ("properties and required", |n| {
        let required = list(n, |i| json!(format!("k{i}")));
        let properties = map(n, |_| json!({"type": "string"}));
        let rules = json!([{"rule": "has(self.k0)"}]);
        schema(
            json!({"type": "object", "required": required, "properties": properties, "x-kubernetes-validations": rules}),
        )
    }),
    ("a default with all its properties", |n| {
        let properties = map(n, |_| json!({"type": "string"}));
        schema(json!({"type": "object", "properties": properties, "default": map(n, |_| json!("x"))}))
    }),
    ("alternatives that name properties", |n| {
        let alternatives = list(n, |i| json!({"properties": {format!("k{i}"): {"minLength": 1}}}));
        let properties = map(n, |_| json!({"type": "string"}));
        schema(json!({"type": "object", "properties": properties, "anyOf": alternatives}))
    }),
    ("validation rules", |n| {
        let rules = list(n / 8, |i| json!({"rule": format!("self.a != 'x{i}'"), "message": "m"}));
        let properties = json!({"a": {"type": "string", "maxLength": 5}});
        schema(json!({"type": "object", "properties": properties, "x-kubernetes-validations": rules}))
    }),
    ("keys of a list map", |n| {
        let keys = list(n, |i| json!(format!("k{i}")));
        let items =
            json!({"type": "object", "required": keys, "properties": map(n, |_| json!({"type": "string"}))});
        schema(
            json!({"type": "array", "items": items, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys}),
        )
    }),
    ("an enumeration with a default", |n| {
        schema(json!({"type": "string", "default": "zz", "enum": list(n, |i| json!(format!("e{i}")))}))
    }),
    ("printer columns, names and selectable fields", |n| {
        crd(|crd| {
            let columns =
                list(n, |i| json!({"name": format!("c{i}"), "type": "string", "jsonPath": ".spec.a"}));
            crd["spec"]["versions"][0]["additionalPrinterColumns"] = columns;
            crd["spec"]["versions"][0]["selectableFields"] =
                list(n, |i| json!({"jsonPath": format!(".spec.k{i}")}));
            crd["spec"]["names"]["shortNames"] = list(n, |i| json!(format!("s{i}")));
        })
    }),
    ("examples", |n| {
        csv(|csv| {
            let examples = list(
                n,
                |i| json!({"apiVersion": "gadgets.example.com/v1", "kind": format!("Gizmo{i}"), "metadata": {"name": "x"}}),
            );
            csv["metadata"]["annotations"]["alm-examples"] = json!(examples.to_string());
        })
    }),
    ("descriptors", |n| {
        csv(|csv| {
            let descriptors = list(n, |i| json!({"path": format!("a{i}"), "displayName": "x", "unknown": 1}));
            csv["spec"]["customresourcedefinitions"]["owned"][0]["specDescriptors"] = descriptors;
        })
    }),
    ("dependencies and properties", |n| {
        let mut files = valid_bundle();
        let entries = list(
            n,
            |i| json!({"type": "olm.package", "value": {"packageName": format!("p{i}"), "version": "1.0.0"}}),
        );
        for (file, key) in [("dependencies", "dependencies"), ("properties", "properties")] {
            let text = serde_json::to_vec(&json!({key: entries})).unwrap();
            files.insert(format!("metadata/{file}.yaml"), text);
        }
        files
    }),
    ("rules of webhooks", |n| {
        csv(|csv| {
            let resources = list(n, |i| json!(format!("r{i}/s{i}")));
            let rule = json!({"apiGroups": ["g"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": resources});
            csv["spec"]["webhookdefinitions"][0]["rules"] = json!([rule]);
        })
    }),
];

/// Four times as much of anything takes about four times as long, not sixteen times. What takes less than half a second is
/// fast enough in any case, so that a busy machine fails nothing.
#[test]
fn long_lists_take_time_in_proportion_to_their_length() {
    const FEW: usize = 1_000;
    // The fastest of many runs is the one that was disturbed least.
    const ROUNDS: usize = 20;
    const FAST: Duration = Duration::from_millis(500);
    let time = |files: &Files| {
        let started = Instant::now();
        findings(files, &[]);
        started.elapsed()
    };
    let mut slow = Vec::new();
    for (name, family) in FAMILIES {
        let (few, many) = (family(FEW), family(4 * FEW));
        let mut fastest = (Duration::MAX, Duration::MAX);
        let in_proportion = (0..ROUNDS).any(|_| {
            fastest = (fastest.0.min(time(&few)), fastest.1.min(time(&many)));
            fastest.1 < FAST || fastest.1 < 9 * fastest.0
        });
        if !in_proportion {
            slow.push(*name);
        }
    }
    assert_eq!(slow, [""; 0], "take more than their length");
}

/// A list of `{}` takes three bytes an element, and kilobytes when each is decoded.
#[test]
fn decoded_objects_have_a_limit() {
    let bundle = csv(|csv| csv["spec"]["install"]["spec"]["deployments"] = vec![json!({}); 50_000].into());
    let found = findings(&bundle, &[]);
    let finding = found.iter().find(|finding| finding.rule == "csv-undecodable").unwrap();
    assert_eq!(finding.message, "too many elements: the object exceeds 64 MiB in memory");
    let path = finding.path.as_deref().unwrap();
    assert!(path.starts_with("spec.install.spec.deployments["), "{path}");
}
