//! What a bundle cannot contain is never dropped without a warning.
use kube_yaml::parse;
use olm_generate::{Document, Error, Generated, Options, Severity};
use serde_json::{Value as Json, json};

const BASE: &str = "apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: pond.v0.0.0}
spec: {description: A pond., icon: [{base64data: eA==, mediatype: image/png}], install: {strategy: deployment}}
";
const DEPLOYMENT: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: pond, namespace: ponds}
spec:
  selector: {matchLabels: {app: pond}}
  template:
    metadata: {labels: {app: pond}}
    spec:
      serviceAccountName: digger
      containers: [{name: manager, image: 'quay.io/example/pond:v1'}]
";
const ACCOUNT: &str = "{apiVersion: v1, kind: ServiceAccount, metadata: {name: digger, namespace: ponds}}";

fn role(kind: &str, name: &str, namespace: &str) -> String {
    format!(
        "{{apiVersion: rbac.authorization.k8s.io/v1, kind: {kind}, metadata: {{name: {name}{namespace}}}, rules: [{{apiGroups: [''], resources: [pods], verbs: [get]}}]}}"
    )
}

fn binding(kind: &str, namespace: &str, role: &str, subject: &str) -> String {
    format!(
        "{{apiVersion: rbac.authorization.k8s.io/v1, kind: {kind}, metadata: {{name: b{namespace}}}, roleRef: {{apiGroup: rbac.authorization.k8s.io, {role}}}, subjects: [{subject}]}}"
    )
}

fn documents(texts: &[&str]) -> Vec<Document> {
    let text = texts.join("\n---\n");
    let parsed = parse(text.as_bytes());
    assert_eq!(parsed.error, None, "{text}");
    parsed.documents.into_iter().map(|tree| Document { file: "all.yaml".into(), tree }).collect()
}

fn made(texts: &[&str]) -> Result<Generated, Error> {
    made_from(documents(texts))
}

fn made_from(documents: Vec<Document>) -> Result<Generated, Error> {
    let options = Options {
        package: Some("pond".into()),
        version: Some("1.0.0".parse().unwrap()),
        ..Options::default()
    };
    crate::generate(documents, &options)
}

/// Returns the warnings of a bundle, and its CSV.
fn warnings(documents: &[&str]) -> (Vec<String>, Json, Generated) {
    let generated = made(&[&[BASE], documents].concat()).unwrap();
    let notes = generated.report.notes.iter();
    let warnings = notes.filter(|note| note.severity == Severity::Warning).map(|note| note.message.clone());
    let csv = parse(&generated.files[&generated.manifests[0]]).documents[0].root().to_json();
    (warnings.collect(), csv, generated)
}

#[test]
fn service_account_without_rules_is_created_by_olm_all_the_same() {
    let admin = binding(
        "ClusterRoleBinding",
        "",
        "kind: ClusterRole, name: cluster-admin",
        "{kind: ServiceAccount, name: digger, namespace: ponds}",
    );
    let group = binding(
        "ClusterRoleBinding",
        "",
        "kind: ClusterRole, name: r",
        "{kind: Group, name: 'system:serviceaccounts:ponds'}",
    );
    let user = binding(
        "ClusterRoleBinding",
        "",
        "kind: ClusterRole, name: r",
        "{kind: User, name: 'system:serviceaccount:ponds:digger'}",
    );
    for (binding, part) in [
        (admin, "binds service account `digger` to ClusterRole `cluster-admin`, which is not in the input"),
        (group, "binds group `system:serviceaccounts:ponds`"),
        (user, "binds user `system:serviceaccount:ponds:digger`"),
    ] {
        let (warnings, csv, generated) =
            warnings(&[DEPLOYMENT, ACCOUNT, &role("ClusterRole", "r", ""), &binding]);
        assert!(matches!(&warnings[..], [one] if one.contains(part)), "{warnings:?}");
        assert_eq!(csv["spec"]["install"]["spec"]["clusterPermissions"], Json::Null);
        // operator-sdk rejects the object beside a Deployment that uses it.
        assert_eq!(
            csv["spec"]["install"]["spec"]["permissions"],
            json!([{"serviceAccountName": "digger", "rules": []}])
        );
        assert!(!generated.files.contains_key("manifests/digger_v1_serviceaccount.yaml"));
    }
    let bound = binding(
        "ClusterRoleBinding",
        "",
        "kind: ClusterRole, name: r",
        "{kind: ServiceAccount, name: digger, namespace: ponds}",
    );
    let (warnings, _, generated) = warnings(&[DEPLOYMENT, ACCOUNT, &role("ClusterRole", "r", ""), &bound]);
    assert_eq!(warnings, [""; 0]);
    assert!(!generated.files.contains_key("manifests/digger_v1_serviceaccount.yaml"));
}

#[test]
fn fields_of_a_service_account_that_olm_creates_are_reported() {
    let account = ACCOUNT.replace("namespace: ponds}", "annotations: {a: b}}, imagePullSecrets: [{name: s}]");
    let (found, ..) = warnings(&[DEPLOYMENT, &account]);
    assert!(
        matches!(&found[..], [one, two] if one.contains("annotations were omitted") && two.contains("imagePullSecrets")),
        "{found:?}"
    );
}

#[test]
fn missing_service_account_is_reported() {
    let (warnings, ..) = warnings(&[DEPLOYMENT]);
    assert!(
        matches!(&warnings[..], [one] if one.contains("service account `digger`, which is not in the input")),
        "{warnings:?}"
    );
}

#[test]
fn other_namespaces_are_reported() {
    let subject = |namespace: &str| format!("{{kind: ServiceAccount, name: digger, namespace: {namespace}}}");
    let role = role("Role", "r", ", namespace: kube-system");
    let bound = binding("RoleBinding", ", namespace: kube-system", "kind: Role, name: r", &subject("ponds"));
    let (found, ..) = warnings(&[DEPLOYMENT, ACCOUNT, &role, &bound]);
    assert!(matches!(&found[..], [one] if one.contains("is in namespace `kube-system`")), "{found:?}");
    let bound = binding("RoleBinding", ", namespace: ponds", "kind: Role, name: r", &subject("lakes"));
    let (found, ..) = warnings(&[DEPLOYMENT, ACCOUNT, &role, &bound]);
    assert!(
        matches!(&found[..], [one] if one.contains("of namespace `lakes`, where no Deployment runs as it")),
        "{found:?}"
    );
    let map = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: kube-public}}";
    let (found, ..) = warnings(&[DEPLOYMENT, ACCOUNT, map]);
    assert!(
        matches!(&found[..], [one] if one.contains("ConfigMap c is in namespace `kube-public`")),
        "{found:?}"
    );
}

#[test]
fn permissions_and_deployments_of_the_base_are_not_lost_silently() {
    let base = BASE.replace(
        "{strategy: deployment}",
        "{strategy: deployment, spec: {deployments: [{name: old, spec: {}}], clusterPermissions: [{serviceAccountName: node, rules: [{apiGroups: [''], resources: [nodes], verbs: [get]}]}]}}",
    );
    let generated = made(&[&base, DEPLOYMENT, ACCOUNT]).unwrap();
    let notes: Vec<&str> = generated.report.notes.iter().map(|note| note.message.as_str()).collect();
    assert!(
        notes.iter().any(|note| note.contains("Deployment `old`, which is not in the input")),
        "{notes:?}"
    );
    assert!(
        notes.iter().any(|note| note.contains("clusterPermissions of service account `node`")),
        "{notes:?}"
    );
}

fn serving(path: &str) -> Vec<String> {
    let deployment = DEPLOYMENT.replace(
        "containers: [{name: manager,",
        &format!("volumes: [{{name: cert, secret: {{secretName: s}}}}]\n      containers: [{{name: manager, volumeMounts: [{{name: cert, mountPath: {path}}}],"),
    );
    [
        deployment.as_str(),
        ACCOUNT,
        "{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: c}, spec: {secretName: s, issuerRef: {name: i}}}",
        "{apiVersion: cert-manager.io/v1, kind: Issuer, metadata: {name: i}, spec: {selfSigned: {}}}",
        "{apiVersion: v1, kind: Service, metadata: {name: hook}, spec: {ports: [{port: 443, targetPort: 9443}], selector: {app: pond}}}",
    ]
    .map(str::to_owned)
    .to_vec()
}

const WEBHOOK: &str = "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: v}, webhooks: [{name: v.pond.io, admissionReviewVersions: [v1], sideEffects: None, clientConfig: {service: {name: hook, namespace: ponds, path: /v}}, rules: [{apiGroups: [a], apiVersions: [v1], operations: [CREATE], resources: [ponds]}]}]}";

#[test]
fn volume_that_olm_mounts_itself_is_removed() {
    let documents = serving("/tmp/k8s-webhook-server/serving-certs");
    let mut documents: Vec<&str> = documents.iter().map(String::as_str).collect();
    documents.push(WEBHOOK);
    let (found, csv, _) = warnings(&documents);
    assert_eq!(found, [""; 0]);
    let pod = &csv["spec"]["install"]["spec"]["deployments"][0]["spec"]["template"]["spec"];
    assert_eq!((&pod["volumes"], &pod["containers"][0]["volumeMounts"]), (&json!(null), &json!(null)));
}

#[test]
fn webhook_whose_service_selects_several_deployments_is_reported() {
    let documents = serving("/other");
    let second = DEPLOYMENT.replace("name: pond,", "name: second,");
    let third = second.replace("name: second,", "name: third,").replace("{app: pond}", "{app: other}");
    let mut documents: Vec<&str> =
        documents.iter().map(String::as_str).filter(|text| !text.contains("cert-manager")).collect();
    documents.extend([third.as_str(), WEBHOOK]);
    let (found, ..) = warnings(&documents);
    assert!(!found.iter().any(|warning| warning.contains("selects the pods")), "{found:?}");
    documents.push(&second);
    let (found, csv, _) = warnings(&documents);
    let warning = "webhook v.pond.io: Service `hook` selects the pods of Deployments `pond` and `second`, but the CSV names only `pond`";
    assert!(found.iter().any(|other| other.starts_with(warning)), "{found:?}");
    assert_eq!(csv["spec"]["webhookdefinitions"][0]["deploymentName"], "pond");
}

#[test]
fn volume_of_a_certificate_elsewhere_is_reported() {
    for (path, webhook, part) in [
        ("/certs", Some(WEBHOOK), "read it from there, and remove the volume"),
        // OLM mounts nothing where no webhook is answered.
        ("/tmp/k8s-webhook-server/serving-certs", None, "remove the volume, or make it optional"),
    ] {
        let documents = serving(path);
        let mut documents: Vec<&str> = documents.iter().map(String::as_str).collect();
        documents.extend(webhook);
        let (found, csv, _) = warnings(&documents);
        assert!(
            found.iter().any(|one| one.contains("volume `cert` is of Secret `s`") && one.contains(part)),
            "{found:?}"
        );
        assert!(found.iter().any(|one| one.contains("Certificate c was omitted")), "{found:?}");
        let pod = &csv["spec"]["install"]["spec"]["deployments"][0]["spec"]["template"]["spec"];
        assert_eq!(pod["volumes"][0]["name"], "cert");
    }
}

#[test]
fn other_workload_is_named_where_there_is_no_deployment() {
    let workload = DEPLOYMENT.replace("kind: Deployment", "kind: StatefulSet");
    let error = made(&[BASE, &workload]).unwrap_err().to_string();
    assert!(error.starts_with("all.yaml:") && error.contains("StatefulSet pond"), "{error}");
    let old = DEPLOYMENT.replace("apps/v1", "extensions/v1beta1");
    let error = made(&[BASE, &old]).unwrap_err().to_string();
    assert!(error.contains("(apiVersion `extensions/v1beta1`)"), "{error}");
}

#[test]
fn two_packages_are_rejected() {
    let other = BASE.replace("pond.v0.0.0", "lake.v1.0.0");
    let error = made(&[BASE, &other, DEPLOYMENT]).unwrap_err().to_string();
    assert!(error.contains("several packages (lake, pond)"), "{error}");
}

#[test]
fn missing_base_is_reported_and_not_invented() {
    let generated = made(&[DEPLOYMENT, ACCOUNT]).unwrap();
    let note = &generated.report.notes[0];
    assert!(
        note.severity == Severity::Warning && note.message.contains("spec.description, spec.icon"),
        "{note:?}"
    );
    let csv = String::from_utf8(generated.files[&generated.manifests[0]].clone()).unwrap();
    assert!(!csv.contains("your") && !csv.contains("TODO") && !csv.contains("placeholder"), "{csv}");
}

#[test]
fn misspelled_kinds_are_named() {
    let error = made(&[BASE, &DEPLOYMENT.replace("Deployment", "deployment")]).unwrap_err().to_string();
    assert!(error.ends_with("unknown kind `deployment`: did you mean `Deployment`?"), "{error}");
    let (warnings, ..) = warnings(&[DEPLOYMENT, ACCOUNT, &role("ClusterRoles", "a", "")]);
    let expected = "ClusterRoles a was omitted: unknown kind `ClusterRoles`: did you mean `ClusterRole`?";
    assert_eq!(warnings.last().map(String::as_str), Some(expected), "{warnings:?}");
}

#[test]
fn lists_of_every_kind_are_read() {
    let list = "{apiVersion: v1, kind: ConfigMapList, items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}]}";
    let (warnings, _, generated) = warnings(&[DEPLOYMENT, ACCOUNT, list]);
    assert!(!warnings.iter().any(|warning| warning.contains("ConfigMap")), "{warnings:?}");
    assert!(generated.files.keys().any(|path| path.contains("configmap")), "{:?}", generated.files.keys());
}

/// Returns the only warning.
fn warning(documents: &[&str]) -> String {
    let (mut found, ..) = warnings(documents);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

#[test]
fn role_that_others_have_too_is_reported() {
    let subject = "{kind: ServiceAccount, name: digger, namespace: ponds}";
    let role = role("ClusterRole", "r", "");
    let bound = |name: &str, subjects: &str| {
        binding("ClusterRoleBinding", "", "kind: ClusterRole, name: r", subjects)
            .replace("name: b}", &format!("name: {name}}}"))
    };
    let (own, group) = (bound("own", subject), bound("group", "{kind: Group, name: admins}"));
    let both = bound("both", &format!("{subject}, {{kind: Group, name: admins}}"));
    for bindings in [&[own.as_str(), &group][..], &[both.as_str()]] {
        let (found, csv, _) = warnings(&[&[DEPLOYMENT, ACCOUNT, &role], bindings].concat());
        let expected = "ClusterRole r is bound to the operator and to others";
        assert!(matches!(&found[..], [one] if one.starts_with(expected)), "{found:?}");
        assert_eq!(csv["spec"]["install"]["spec"]["clusterPermissions"][0]["serviceAccountName"], "digger");
    }
    assert_eq!(warnings(&[DEPLOYMENT, ACCOUNT, &role, &own]).0, [""; 0]);
    let other = bound("other", &format!("{subject}, {{kind: ServiceAccount, name: other}}"));
    let (found, ..) = warnings(&[DEPLOYMENT, ACCOUNT, &role, &other]);
    assert!(
        found[0].contains("`other`, which no Deployment uses, so the CSV has no permissions of it"),
        "{found:?}"
    );
}

#[test]
fn service_account_has_its_old_name_too() {
    let deployment = DEPLOYMENT.replace("serviceAccountName", "serviceAccount");
    let subject = "{kind: ServiceAccount, name: digger, namespace: ponds}";
    let bound = binding("ClusterRoleBinding", "", "kind: ClusterRole, name: r", subject);
    let (found, csv, _) = warnings(&[&deployment, ACCOUNT, &role("ClusterRole", "r", ""), &bound]);
    assert_eq!(found, [""; 0]);
    let install = &csv["spec"]["install"]["spec"];
    assert_eq!(install["clusterPermissions"][0]["serviceAccountName"], "digger");
}

#[test]
fn subject_of_an_unknown_kind_is_reported() {
    let bound = |kind: &str| {
        binding("ClusterRoleBinding", "", "kind: ClusterRole, name: r", &format!("{{{kind}name: digger}}"))
    };
    for kind in ["kind: Serviceaccount, ", ""] {
        let (found, ..) = warnings(&[DEPLOYMENT, ACCOUNT, &role("ClusterRole", "r", ""), &bound(kind)]);
        assert!(
            found.iter().any(|found| found.contains("expected ServiceAccount, User or Group")),
            "{found:?}"
        );
    }
}

#[test]
fn what_the_csv_has_no_place_for_is_reported() {
    let annotated = DEPLOYMENT.replace("namespace: ponds}", "namespace: ponds, annotations: {a: b}}");
    assert!(warning(&[&annotated, ACCOUNT]).contains("metadata.annotations such as `a` were omitted"));
    let role = role("ClusterRole", "r, labels: {rbac.authorization.k8s.io/aggregate-to-admin: 'true'}", "");
    let subject = "{kind: ServiceAccount, name: digger, namespace: ponds}";
    let bound = binding("ClusterRoleBinding", "", "kind: ClusterRole, name: r", subject);
    assert!(
        warning(&[DEPLOYMENT, ACCOUNT, &role, &bound])
            .contains("label `rbac.authorization.k8s.io/aggregate-to-admin`, which is lost")
    );
}

#[test]
fn webhooks_and_examples_of_the_base_are_not_lost_silently() {
    let base = |more: &str| BASE.replace("description: A pond.", &format!("description: A pond., {more}"));
    let generated =
        made(&[&base("webhookdefinitions: [{generateName: old.pond.io}]"), DEPLOYMENT, ACCOUNT]).unwrap();
    let notes = &generated.report.notes;
    assert!(
        matches!(&notes[..], [one] if one.message.contains("webhook `old.pond.io`, which is not in the input")),
        "{notes:?}"
    );

    let crd = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: ponds.a.io}, spec: {group: a.io, scope: Namespaced, names: {kind: Pond, plural: ponds}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}";
    let sample = "{apiVersion: a.io/v1, kind: Pond, metadata: {name: new}}";
    let old = r#"[{"apiVersion":"a.io/v1","kind":"Pond","metadata":{"name":"old"}}]"#;
    let lost = "has Pond `old`, which is not in the input";
    let all = "alm-examples of the base CSV were omitted";
    for (examples, samples, expected) in [
        (old, &[sample][..], Some(lost)),
        (&*old.replace("old", "new"), &[sample], None),
        (old, &[], Some(all)),
        (r#"{"kind":"Pond"}"#, &[], Some(all)),
        ("[broken", &[], Some(all)),
        ("[]", &[], None),
        ("", &[], None),
    ] {
        let base = BASE.replace(
            "metadata: {name: pond.v0.0.0}",
            &format!("metadata: {{name: pond.v0.0.0, annotations: {{alm-examples: '{examples}'}}}}"),
        );
        let generated = made(&[&[base.as_str(), DEPLOYMENT, ACCOUNT, crd], samples].concat()).unwrap();
        let notes: Vec<&str> = generated.report.notes.iter().map(|note| note.message.as_str()).collect();
        let is_found = matches!(notes[..], [one] if expected.is_some_and(|expected| one.contains(expected)));
        assert!(if expected.is_some() { is_found } else { notes.is_empty() }, "{examples}: {notes:?}");
    }
}

#[test]
fn custom_resource_of_a_version_that_is_not_served_names_its_crd() {
    let crd = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: ponds.a.io}, spec: {group: a.io, scope: Namespaced, names: {kind: Pond, plural: ponds}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}";
    let found =
        warning(&[DEPLOYMENT, ACCOUNT, crd, "{apiVersion: a.io/v2, kind: Pond, metadata: {name: a}}"]);
    assert_eq!(found, "Pond a was omitted: CustomResourceDefinition ponds.a.io does not serve version `v2`");
}

#[test]
fn objects_of_a_cluster_lose_what_belongs_to_it() {
    let map = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, uid: u, resourceVersion: '1', ownerReferences: [{name: o}], annotations: {kubectl.kubernetes.io/last-applied-configuration: '{}'}}}";
    let (found, _, generated) = warnings(&[DEPLOYMENT, ACCOUNT, map]);
    let expected = "ConfigMap c: omitted metadata.resourceVersion, metadata.uid, metadata.ownerReferences, kubectl.kubernetes.io/last-applied-configuration, which belongs to the cluster that the object was read from";
    assert_eq!(found, [expected]);
    let written = parse(&generated.files["manifests/c_v1_configmap.yaml"]).documents[0].root().to_json();
    assert_eq!(written["metadata"], json!({"name": "c"}));
}

#[test]
fn values_that_yaml_reads_in_another_way_are_reported() {
    let with = |value: &str| {
        DEPLOYMENT.replace(
            "containers: [{name: manager,",
            &format!("containers: [{{name: manager, env: [{{name: A, value: {value}}}],"),
        )
    };
    for (value, text) in [("0644", "420"), ("yes", "true"), ("1e3", "1000")] {
        let found = warning(&[&with(value), ACCOUNT]);
        assert!(
            found.ends_with(&format!(
                "expected a string, found `{value}`, which YAML reads as \"{text}\": put it in quotes"
            )),
            "{found}"
        );
    }
    assert_eq!(warnings(&[&with("8080"), ACCOUNT]).0, [""; 0]);
    let merged = DEPLOYMENT.replace(
        "containers: [{name: manager,",
        "containers: [&base {name: other, image: a}, {<<: *base, name: manager,",
    );
    assert_eq!(warnings(&[&merged, ACCOUNT]).0, [""; 0]);
    let twice =
        DEPLOYMENT.replace("image: 'quay.io/example/pond:v1'", "image: a, image: 'quay.io/example/pond:v1'");
    assert_eq!(warning(&[&twice, ACCOUNT]), "duplicate key `image`: the last one counts");
}

#[test]
fn templates_that_were_not_rendered_are_named() {
    for image in ["quay.io/example/pond:{{ .Values.tag }}", "quay.io/example/pond:<no value>"] {
        let error =
            made(&[BASE, &DEPLOYMENT.replace("quay.io/example/pond:v1", image)]).unwrap_err().to_string();
        assert!(
            error.contains(&format!("the image `{image}` contains a template expression without a value")),
            "{error}"
        );
    }
}

#[test]
fn objects_without_a_kind_are_reported_unless_their_list_says_it() {
    let unnamed = "{apiVersion: v1, metadata: {name: c}, data: {a: b}}";
    assert_eq!(warning(&[DEPLOYMENT, ACCOUNT, unnamed]), "object `c` was omitted, because it has no `kind`");
    let (found, _, generated) = warnings(&[DEPLOYMENT, ACCOUNT, "{kind: Service, metadata: {name: c}}"]);
    assert_eq!(found, ["Service c has no `apiVersion`, so OLM cannot install it"]);
    assert!(generated.manifests.iter().any(|name| name.contains("service")), "{:?}", generated.manifests);
    assert!(
        warning(&[DEPLOYMENT, ACCOUNT, "[{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}]"])
            .starts_with("expected an object, found a list")
    );
    for other in
        ["{image: {tag: v1}}", "[{op: add, path: /spec, value: {}}]", "{apiVersion: v2, name: chart}"]
    {
        assert_eq!(warnings(&[DEPLOYMENT, ACCOUNT, other]).0, [""; 0], "{other}");
    }
    assert_eq!(
        warning(&[DEPLOYMENT, ACCOUNT, "WARNING - the chart is deprecated"]),
        "text was omitted, because it is not an object: `WARNING - the chart is deprecated`"
    );
    let tree = || parse(b"depth: 3").documents.remove(0);
    for (file, expected) in [
        ("values.yaml", None),
        ("standard input", Some("the object with the field `depth` was omitted, because it has no `kind`")),
    ] {
        let mut documents = documents(&[BASE, DEPLOYMENT, ACCOUNT]);
        documents.push(Document { file: file.into(), tree: tree() });
        let generated = made_from(documents).unwrap();
        let notes: Vec<_> = generated.report.notes.iter().map(|note| note.message.as_str()).collect();
        let of_depth = notes.iter().copied().find(|note| note.contains("depth"));
        assert_eq!(of_depth, expected, "{file}");
    }
    let list = format!("{{apiVersion: v1, kind: ConfigMapList, items: [{unnamed}]}}");
    let (found, _, generated) = warnings(&[DEPLOYMENT, ACCOUNT, &list]);
    assert_eq!(found, [""; 0]);
    let written = parse(&generated.files["manifests/c_v1_configmap.yaml"]).documents[0].root().to_json();
    assert_eq!(written["kind"], "ConfigMap");
}

#[test]
fn variable_of_a_certificate_is_reported() {
    let documents = serving("/other");
    for variable in [
        "env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]",
        "envFrom: [{secretRef: {name: s}}]",
    ] {
        let deployment = DEPLOYMENT.replace("{name: manager,", &format!("{{name: manager, {variable},"));
        let (found, ..) = warnings(&[&deployment, ACCOUNT, &documents[2]]);
        assert!(found[0].contains("an environment variable reads Secret `s`"), "{found:?}");
    }
}
