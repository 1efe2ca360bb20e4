//! `CustomResourceDefinitions`: names, versions, conversion, subresources, columns, and schemas with every keyword.

/// The template.
pub(crate) const TEMPLATE: &str = r##"
apiVersion: '$v[["apiextensions.k8s.io/v1"],["apiextensions.k8s.io/v1beta1","apiextensions.k8s.io/v2"]]'
kind: CustomResourceDefinition
metadata:
  name: '$v[["gizmos.gadgets.example.com"],["gizmos","a.gadgets.example.com","Gizmos.gadgets.example.com","","gizmos.other.example.com"]]'
  "labels?": $labels
  "annotations?": $annotations
  "finalizers?": ['$v[["example.com/a"],["a","","a b"]]']
spec:
  group: '$v[["gadgets.example.com"],["","Gadgets","example","gadgets.k8s.io","a_b.c","gadgets.example.com."]]'
  scope: '$v[["Namespaced","Cluster"],["","x","namespaced"]]'
  names:
    kind: '$v[["Gizmo"],["","gi_zmo","Gi zmo","1Gizmo","-a","GizmoList","Gi.zmo"]]'
    plural: '$v[["gizmos"],["","Gizmos","gizmo2","gi zmos","1gizmos"]]'
    "listKind?": '$v[["GizmoList","Gizmos"],["Gizmo","gizmo list","-a","Gizmo.List","1a"]]'
    "singular?": '$v[["gizmo"],["Gizmo","giz mo","-a","giz.mo","1a"]]'
    "shortNames?": ['$v[["gz","g"],["GZ","","g z","g.z","1z"]]']
    "categories?": ['$v[["all","gadgets"],["All","","a b","a.b","1a"]]']
  "preserveUnknownFields?": '$v[[false],[true,"false"]]'
  "conversion?":
    $one:
    - {strategy: '$v[["None"],["","none","Webhook","x"]]', "webhook?": '$v[[],[{"conversionReviewVersions":["v1"]},{"conversionReviewVersions":["v1"],"clientConfig":{"url":"https://example.com"}}]]'}
    - strategy: '$v[["Webhook"],["None","webhook",""]]'
      webhook:
        conversionReviewVersions: '$v[[["v1"],["v1beta1","v1"],["v2","v1"]],[[],["v2"],[""],["V1"],["v1","v1"],["a b"]]]'
        clientConfig:
          $one:
          - service: {name: '$v[["a"],[""]]', namespace: '$v[["b"],[""]]', "path?": '$v[["/convert","/a/b"],["convert","//a","/a//b","/a/","","/a b"]]', "port?": '$v[[443,1,65535],[0,-1,65536,"443"]]'}
          - {url: $absolute-url}
          "caBundle?": '$v[[],["%","YQ="]]'
  versions:
  - name: '$v[["v1"],["","V1","a b","1v","-v","v1.2","v_1"]]'
    served: '$v[[true,false],["true",1]]'
    storage: '$v[[true],[false,"true"]]'
    "deprecated?": '$v[[true],["true"]]'
    "deprecationWarning?": '$v[[],["","a",7]]'
    "subresources?":
      "status?": '$v[[{}],["a",[],true]]'
      "scale?": {specReplicasPath: '$v[[".spec.size"],["",".size","spec.size",".spec.list[0]",".status.size",".spec[''a'']",".spec"]]', statusReplicasPath: '$v[[".status.size"],["","status.size",".spec.size",".status[0]",".size",".status"]]', "labelSelectorPath?": '$v[[".status.selector",".spec.selector"],["status.selector",".selector",".status[0]"," "]]'}
    "additionalPrinterColumns?":
    - {name: '$v[["Size","A b"],["",7]]', type: '$v[["integer","number","string","boolean","date"],["","int","object","Integer"]]', jsonPath: '$v[[".spec.size",".spec.list[0].name",".metadata.labels[''a'']",".status.conditions[?(@.type==\"Ready\")].status"],["","spec.size",".spec[",".spec[?(",".spec[a b"]]', "format?": '$v[["int32","int64","float","double","byte","date","date-time","password"],["x","","int","Int32"]]', "priority?": '$v[[0,1],["1",1.5]]', "description?": '$v[["a"],[7]]'}
    "selectableFields?": [{jsonPath: '$v[[".spec.color",".spec.flag",".spec.count"],["","spec.color",".spec.list",".spec.none",".spec.labels",".spec.list[0].name",".metadata.name",".spec",".spec.ratio",".spec.color.x"]]'}]
    schema:
      openAPIV3Schema:
        type: '$v[["object"],["string","","array","Object"]]'
        "description?": '$v[["a"],[7]]'
        "x-kubernetes-preserve-unknown-fields?": '$v[[true],[false,"true"]]'
        properties:
          "apiVersion?": {type: '$v[["string"],["object","integer",""]]'}
          "kind?": {type: '$v[["string"],["object","",7]]'}
          "metadata?": {type: '$v[["object"],["string","",7]]', "properties?": '$v[[{"name":{"type":"string","pattern":"a","maxLength":5}}],[{"labels":{"type":"object"}},{"name":{"type":"integer2"}},{"name":{}},{"name":{"type":"object"}}]]', "nullable?": '$v[[],[true]]', "default?": '$v[[],[{},{"a":"b"},1]]'}
          spec:
            type: '$v[["object"],["","string","array","map"]]'
            "required?": '$v[[["size"],["color","size"]],["size",[1],{}]]'
            "nullable?": '$v[[true,false],["true",1]]'
            "minProperties?": '$v[[0,1],["1",-1.5]]'
            "maxProperties?": '$v[[20],["1",1.5]]'
            "externalDocs?": {"url?": '$v[["https://example.com"],[7]]', "description?": '$v[["a"],[7]]'}
            "example?": b
            "title?": '$v[["a"],[7]]'
            "anyOf|oneOf|allOf?": [{"required?": '$v[[["size"]],["size",[1]]]', "properties?": '$v[[{"size":{"minimum":1}},{"color":{"enum":["red"]}}],[{"size":{"type":"integer"}},{"none":{"minimum":1}},{"size":{"default":1}},{"size":{"description":"a"}},{"size":{"nullable":true}},{"size":{"title":"a"}},{"labels":{"additionalProperties":true}},{"color":{"x-kubernetes-preserve-unknown-fields":true}},{"size":{"x-kubernetes-int-or-string":true}}]]'}]
            "not?": '$v[[{"required":["a"]},{"properties":{"size":{"minimum":9}}}],[{"type":"object"},{"properties":{"none":{"minimum":1}}},{"properties":{"size":{"default":1}}},[],"a"]]'
            properties:
              size: {type: '$v[["integer"],["","int","Integer",["integer"]]]', "format?": '$v[["int32","int64"],[7]]', "minimum?": '$v[[0,-5,1.5],["1",[]]]', "maximum?": '$v[[100],["1",[]]]', "exclusiveMinimum?": '$v[[true,false],[1,"true"]]', "exclusiveMaximum?": '$v[[true,false],[1,"true"]]', "multipleOf?": '$v[[1,5,10],["1"]]', "default?": '$v[[10,50],["a",1.5,true,-10,1000,{}]]'}
              color: {type: string, "enum?": '$v[[["red","green"]],["red",[],{}]]', "minLength?": '$v[[0,1],["1",1.5]]', "maxLength?": '$v[[10],["1",1.5]]', "pattern?": '$v[["^[a-z]+$","red|green","^\\pL{1,5}$"],["[","(","a{2,1}","(?=a)","\\","*","a**","(?P<n>a)(?P<n>b)","x{1001}","\\1","[[:foo:]]"]]', "format?": '$v[["","my-format"],[7]]', "default?": '$v[["red"],[1,true,{},["red"]]]', "nullable?": $bool}
              flag: {type: '$v[["boolean"],["bool","",true]]', "default?": '$v[[true],["true",1,{}]]'}
              count: {type: integer, "enum?": '$v[[[1,2,3]],[1,"a"]]', "default?": '$v[[1],["1",4.5,[]]]'}
              ratio: {type: '$v[["number"],["float","double",""]]', "format?": '$v[["double","float"],[7]]', "default?": '$v[[0.5,1],["0.5",true]]'}
              date: {type: string, "format?": '$v[["date-time"],[7]]', "default?": '$v[["2026-01-01T00:00:00Z"],[1,{}]]'}
              formatted:
                $one:
                - {type: string, format: date-time, default: '$v[["2026-01-01T00:00:00Z","2026-01-01T00:00:00.5+01:00"],["2026-01-01","a","","2026-13-01T00:00:00Z"]]'}
                - {type: string, format: date, default: '$v[["2026-01-01"],["2026-1-1","a","2026-01-01T00:00:00Z","2026-02-30"]]'}
                - {type: string, format: ipv4, default: '$v[["10.0.0.1"],["10.0.0","a","::1","10.0.0.256"]]'}
                - {type: string, format: ipv6, default: '$v[["::1","fd00::1"],["10.0.0.1","a","::g"]]'}
                - {type: string, format: cidr, default: '$v[["10.0.0.0/8"],["10.0.0.0","a","10.0.0.0/33"]]'}
                - {type: string, format: uuid, default: '$v[["0f7bd1a5-9b6a-4b1a-8a36-5d3cb0c1a001"],["a","0f7bd1a5-9b6a-4b1a-8a36-5d3cb0c1a00","g"]]'}
                - {type: string, format: uri, default: '$v[["https://example.com/a","/a"],["a","::","%"]]'}
                - {type: string, format: email, default: '$v[["a@example.com"],["a","@","a@"]]'}
                - {type: string, format: hostname, default: '$v[["example.com","a"],["-a","a b","a_b","a..b"]]'}
                - {type: string, format: byte, default: '$v[["YQ=="],["%","a","YQ="]]'}
                - {type: string, format: duration, default: '$v[["1h","5m3s","2 days"],["a","1x","h"]]'}
                - {type: string, format: mac, default: '$v[["01:23:45:67:89:ab"],["a","01:23","01:23:45:67:89:ag"]]'}
                - {type: string, format: isbn, default: '$v[["9783161484100"],["a","123"]]'}
                - {type: string, format: creditcard, default: '$v[["4111111111111111"],["a","1"]]'}
                - {type: string, format: ssn, default: '$v[["111-11-1111"],["a","111"]]'}
                - {type: string, format: hexcolor, default: '$v[["#fff","#aabbcc"],["a!","#ggg","fffff"]]'}
                - {type: string, format: rgbcolor, default: '$v[["rgb(1,2,3)"],["a","rgb(256,1,1)","rgb(1,2)"]]'}
                - {type: string, format: bsonobjectid, default: '$v[["507f1f77bcf86cd799439011"],["a","507f"]]'}
                - {type: string, format: k8s-short-name, default: '$v[["a"],["A","a.b","-a",""]]'}
                - {type: string, format: k8s-long-name, default: '$v[["a.b"],["A","-a",""]]'}
              labels:
                type: object
                $one: [{additionalProperties: {type: '$v[["string","integer"],["","map","x"]]', "maxLength?": '$v[[63],["1"]]'}}, {additionalProperties: '$v[[true],["a",[],7]]'}]
                "default?": '$v[[{}],[[],"a",1]]'
                "x-kubernetes-map-type?": '$v[["granular","atomic"],["","x","Atomic"]]'
              list:
                type: array
                "maxItems?": '$v[[10],["1",1.5]]'
                "minItems?": '$v[[0,1],["1"]]'
                "uniqueItems?": '$v[[false],[true,"a"]]'
                x-kubernetes-list-type: '$v[["map"],["","x","Map","set"]]'
                x-kubernetes-list-map-keys: '$v[[["name"],["name","protocol"]],[[],["none"],["name","name"],"name",["port"],["labels"]]]'
                items:
                  type: '$v[["object"],["string","","array"]]'
                  required: '$v[[["name"]],[[],["port"],"name"]]'
                  "nullable?": '$v[[false],[true]]'
                  properties:
                    name: {type: '$v[["string","integer"],["object","array",""]]', "nullable?": '$v[[false],[true]]'}
                    protocol: {type: string, default: '$v[["TCP"],[1,{}]]'}
                    port: {x-kubernetes-int-or-string: '$v[[true],[false,"true"]]', "anyOf?": '$v[[[{"type":"integer"},{"type":"string"}]],[[{"type":"integer"}],[{"type":"string"},{"type":"integer"}],[{"type":"integer"},{"type":"boolean"}]]]', "default?": 1}
                    labels: {type: object, "default?": '$v[[{}],[{"a":1},[]]]'}
              set: {type: array, x-kubernetes-list-type: '$v[["set","atomic"],["map","Set",""]]', items: {type: '$v[["string"],["object","array","","Set"]]', "default?": '$v[[],[1,{}]]'}, "default?": '$v[[["1","2"]],[["a","a"],"a",[{}],{}]]'}
              free: {"type?": '$v[["object"],["x",""]]', x-kubernetes-preserve-unknown-fields: '$v[[true],[false,"true",1]]'}
              embedded: {type: '$v[["object"],["string","array",""]]', x-kubernetes-embedded-resource: '$v[[true],["true",1]]', x-kubernetes-preserve-unknown-fields: '$v[[true],[false]]', "properties?": '$v[[{"a":{"type":"string"}},{"metadata":{"type":"object"}}],[{"metadata":{"type":"string"}},{"kind":{"type":"object"}},{"apiVersion":{"type":"integer"}}]]', "default?": '$v[[{"apiVersion":"v1","kind":"Event"}],[{},{"kind":"a"},{"apiVersion":"a/b/c","kind":"A"},{"apiVersion":"v1","kind":""},{"apiVersion":"v1","kind":"A","metadata":{"labels":{"a":1}}}]]'}
              nested: {type: object, properties: {deep: {type: object, "required?": '$v[[["a"]],["a"]]', properties: {a: {type: '$v[["string"],["","x"]]', "default?": '$v[["b"],[1]]'}}}}, "default?": '$v[[{"deep":{"a":"b"}},{}],[{"deep":{"a":1}},{"other":1},{"deep":{"a":"b","c":"d"}},{"deep":[]},"a"]]', "x-kubernetes-map-type?": '$v[["atomic","granular"],["set",""]]'}
              "other0?": '$v[[{"type":"string"}],[{"$ref":"#/a"},{"type":"object","definitions":{"a":{"type":"string"}}},{"type":"object","dependencies":{"a":["b"]}},{"type":"object","patternProperties":{"a":{"type":"string"}}},{"type":"array","items":[{"type":"string"}]},{"type":"array"},{"type":"array","items":{}},{"type":"array","items":{"type":"string"},"additionalItems":true}]]'
              "other1?": '$v[[{"type":"string"}],[{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":{"type":"string"}},{"type":"object","additionalProperties":false},{"$schema":"a","type":"string"},{"id":"a","type":"string"},{},{"nullable":true},{"type":"null"},{"type":"string","x-kubernetes-list-type":"set"}]]'
              "other2?": '$v[[{"type":"string"}],[{"type":"string","x-kubernetes-map-type":"atomic"},{"type":"object","x-kubernetes-list-map-keys":["a"]},{"type":"object","additionalProperties":{}},{"type":"string","x-kubernetes-embedded-resource":true},{"type":"string","x-kubernetes-preserve-unknown-fields":true},{"type":"array","items":{"type":"object"},"x-kubernetes-list-type":"set"},{"x-kubernetes-int-or-string":true,"x-kubernetes-preserve-unknown-fields":true},{"x-kubernetes-int-or-string":true,"type":"object","x-kubernetes-embedded-resource":true}]]'
          status: {type: '$v[["object"],["string",""]]', "properties?": {size: {type: '$v[["integer"],["int",""]]'}, selector: {type: '$v[["string"],["x",""]]'}, "conditions?": {type: array, items: {type: object, properties: {type: {type: string}, status: {type: '$v[["string"],["",true]]'}}}}}}
  - $maybe: {name: '$v[["v2"],["v1","","V2"]]', served: $bool, storage: '$v[[false],[true,"false"]]', "deprecated?": '$v[[true],["true"]]', "deprecationWarning?": '$v[[],["a"]]', $one: [{schema: {openAPIV3Schema: '$v[[{"type":"object"},{"type":"object","x-kubernetes-preserve-unknown-fields":true}],[{},{"type":"string"},{"properties":{}}]]'}}]}
  - $maybe: {name: v0, served: true, storage: false, deprecated: true, deprecationWarning: '$v[["a","old"],["",7]]', schema: {openAPIV3Schema: {type: object}}}
"##;

/// A CRD whose root is changed as a whole.
pub(crate) const SMALL: &str = r#"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gizmos.gadgets.example.com}
spec:
  group: gadgets.example.com
  scope: Namespaced
  names: {kind: Gizmo, plural: gizmos}
  versions:
  - name: v1
    served: true
    storage: true
    $one: [{subresources: {status: {}}}, {subresources: {status: {}}}, {subresources: {}}]
    schema:
      openAPIV3Schema: '$v[[{"type":"object"},{"type":"object","properties":{"spec":{"type":"object"}},"required":["spec"]},{"type":"object","x-kubernetes-preserve-unknown-fields":true}],[
        {"type":"object","properties":{"spec":{"type":"integer","default":1,"x-kubernetes-validations":[{"rule":"self > 1"}]}}},{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"integer"}},"default":{},"x-kubernetes-validations":[{"rule":"self.a > 1"}]}}},
        {"type":"object","maxProperties":5},{"type":"object","minProperties":1},{"type":"object","x-kubernetes-map-type":"atomic"},
        {"type":"object","nullable":true},{"type":"object","additionalProperties":{"type":"string"}},{"type":"object","x-kubernetes-embedded-resource":true},
        {"type":"object","anyOf":[{"properties":{"a":{"minimum":1}}}]},{"type":"object","properties":{"spec":{"type":"object","properties":{"metadata":{"type":"object"}},"anyOf":[{"properties":{"metadata":{"minProperties":1}}}]}}},{"type":"object","allOf":[{"properties":{"metadata":{"properties":{"name":{"pattern":"a"}}}}}],"properties":{"metadata":{"type":"object","properties":{"name":{"type":"string"}}}}},
        {"type":"object","not":{"properties":{"a":{"minimum":1}}}},{"type":"object","uniqueItems":true},{"type":"object","default":{}},{"type":"object","x-kubernetes-int-or-string":true},
        {"type":"object","title":"a","properties":{"metadata":{"type":"object","properties":{"labels":{"type":"object"}}}}},{"type":"object","properties":{"kind":{"type":"object"}}},{"type":"object","enum":[{}]},{"type":"object","maxLength":5,"x-kubernetes-map-type":"set"},
        {"type":"object","properties":{"a":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true,"additionalProperties":{"type":"string"}}}},{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{"b":{"type":"string"}}},"x-kubernetes-list-type":"map"}}}]]'
"#;

/// A CRD of a group that is Kubernetes' own.
pub(crate) const PROTECTED: &str = r#"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: gizmos.gadgets.k8s.io
  annotations: {api-approved.kubernetes.io: '$v[["https://github.com/kubernetes/enhancements/pull/1","unapproved, an experiment"],["","approved","https://","a b"]]'}
spec:
  group: gadgets.k8s.io
  scope: Cluster
  names: {kind: Gizmo, plural: gizmos}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
"#;
