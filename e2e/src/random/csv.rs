//! `ClusterServiceVersions`: the fields that the schema of their CRD validates.

use super::metadata;

/// The template: what [`super::subject`] puts over the valid CSV.
#[must_use]
pub(crate) fn template() -> String {
    TEMPLATE.replace(
        "$metadata",
        &metadata::template(r#"'$v[["gizmo-operator.v1.2.0"],["Gizmo.v1","a b","","-a","a_b"]]'"#),
    )
}

const TEMPLATE: &str = r#"
metadata: $metadata
spec:
  displayName: '$v[["Gizmo"],[7,true]]'
  "description?": '$v[["a"],[7,[]]]'
  "version?": '$v[["1.2.0","1.2.0-rc.1+b"],[7,true,1.5]]'
  "release?": '$v[["1","a.b","rc-1.2"],["a b","01","a..b","aaaaaaaaaaaaaaaaaaaaa",".","a_b",7]]'
  "minKubeVersion?": '$v[["1.27.0"],[1.27,true]]'
  "maturity?": '$v[["stable"],[7,[]]]'
  "replaces?": '$v[["gizmo-operator.v1.1.0"],[7,[]]]'
  "skips?": '$v[[["a"],[]],["a",[7],{}]]'
  "keywords?": '$v[[["a"],[]],["a",[7],{}]]'
  "maintainers?": [{"name?": '$v[["a"],[7]]', "email?": '$v[["a@example.com"],[7]]'}]
  "provider?": {"name?": '$v[["a"],[7]]', "url?": '$v[["https://example.com"],[7]]'}
  "links?": [{"name?": '$v[["a"],[7]]', "url?": '$v[["https://example.com"],[7]]'}]
  "icon?": [{base64data: '$v[["YQ=="],[7]]', mediatype: '$v[["image/png"],[7]]'}]
  "installModes?": [{type: '$v[["AllNamespaces","OwnNamespace"],[7]]', supported: '$v[[true,false],["true",1]]'}]
  "labels?": '$v[[{"a":"b"}],[{"a":1},["a"],"a"]]'
  "annotations?": '$v[[{"a":"b"}],[{"a":1},["a"],"a"]]'
  "selector?": {"matchLabels?": '$v[[{"a":"b"}],[{"a":1},"a"]]', "matchExpressions?": [{key: '$v[["a"],[7]]', operator: '$v[["In"],[7]]', values: '$v[[["b"]],["b",[1]]]'}]}
  "cleanup?": {enabled: '$v[[true,false],["true",1]]'}
  "relatedImages?": [{name: '$v[["a"],[7]]', image: '$v[["example.com/a:1"],[7]]'}]
  customresourcedefinitions:
    "required?": [{name: '$v[["a.example.com"],[7]]', version: '$v[["v1"],[7]]', kind: '$v[["A"],[7]]', "displayName?": '$v[["a"],[7]]', "description?": '$v[["a"],[7]]'}]
    owned:
    - name: '$v[["gizmos.gadgets.example.com"],[7]]'
      version: '$v[["v1"],[1]]'
      kind: '$v[["Gizmo"],[7]]'
      "displayName?": '$v[["a"],[7]]'
      "description?": '$v[["a"],[7]]'
      "resources?": [{name: '$v[["","a"],[7]]', kind: '$v[["Pod"],[7]]', version: '$v[["v1"],[7]]'}]
      "statusDescriptors|specDescriptors?": [{path: '$v[["size"],[7]]', "displayName?": '$v[["a"],[7]]', "description?": '$v[["a"],[7]]', "x-descriptors?": '$v[[["urn:a"]],["a",[7]]]', "value?": '$v[["YQ=="],["","a","%",1,{}]]'}]
      "actionDescriptors?": [{path: '$v[["size"],[7]]', "displayName?": '$v[["a"],[7]]'}]
  "apiservicedefinitions?":
    "required?": [{name: '$v[["a"],[7]]', group: '$v[["a.example.com"],[7]]', version: '$v[["v1"],[7]]', kind: '$v[["A"],[7]]'}]
  "nativeAPIs?": [{group: '$v[["a"],[7]]', version: '$v[["v1"],[7]]', kind: '$v[["A"],[7]]'}]
"#;

/// An API service that the operator owns, of `apiservicedefinitions`.
pub(crate) const API_SERVICE: &str = r#"
name: things.apis.example.com
group: '$v[["apis.example.com","a.b"],["","A.b","a_b","-a",7]]'
version: '$v[["v1","v1beta1"],["","V1","1","a.b","a_b",7]]'
kind: '$v[["Thing"],[7]]'
deploymentName: gizmo-operator
"containerPort?": '$v[[443,8443],["443",1.5]]'
"description?": '$v[["a"],[7]]'
"displayName?": '$v[["a"],[7]]'
"#;
