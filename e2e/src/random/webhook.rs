//! Admission webhooks, as a CSV's `webhookdefinitions` describe them.

/// The template of a webhook's description.
pub(crate) const TEMPLATE: &str = r#"
type: '$v[["ValidatingAdmissionWebhook"],["x","Validating","validatingAdmissionWebhook",""]]'
generateName: '$v[["vgizmo.gadgets.example.com","a.b.c"],["a","a.b","A.b.c","","a..b.c","-a.b.c","a_b.c.d"]]'
deploymentName: gizmo-operator
"containerPort?": '$v[[443,1,65535],[0,-1,65536,"443"]]'
"targetPort?": '$v[[9443,1,65535,"webhook"],[0,-1,65536,"A","a--b","1234","sixteen-letters1"]]'
admissionReviewVersions: '$v[[["v1"],["v1beta1"],["v1","v1beta1"],["v2","v1"]],[[],["v2"],["V1"],[""],["v1","v1"],["1"],["v1","a b"],"v1"]]'
sideEffects: '$v[["None","NoneOnDryRun"],["Unknown","Some","none","x",""]]'
"failurePolicy?": '$of(Fail,Ignore)'
"matchPolicy?": '$of(Exact,Equivalent)'
"timeoutSeconds?": '$v[[1,10,30],[0,31,-1,"10",1.5]]'
"webhookPath?": '$v[["/validate","/a/b-c"],["","validate","//a","/a//b","/a b","/a/","/A_"]]'
"objectSelector?": $selector
rules:
- apiGroups: '$v[[["gadgets.example.com"],["","apps"]],[[],["*","a"],["a","*"],"a",[1]]]'
  apiVersions: '$v[[["v1"],["*"],["v1","v2"]],[[],[""],["*","v1"],"v1",[1]]]'
  operations: '$v[[["CREATE"],["CREATE","UPDATE"],["*"],["DELETE","CONNECT"]],[[],["PATCH"],["create"],["*","CREATE"],[""],["GET"],"CREATE"]]'
  resources: '$v[[["gizmos"],["*/*"],["gizmos","gizmos/status"],["*/scale"],["gizmos/*"],["*"]],[[],[""],["*","gizmos"],["*/*","gizmos"],["gizmos/*","gizmos/status"],["*/a","gizmos/a"],"gizmos"]]'
  "scope?": '$v[["*","Cluster","Namespaced"],["","x","namespaced"]]'
"#;

/// A mutating webhook's description, with what only these have.
pub(crate) const MUTATING: &str = r#"
type: MutatingAdmissionWebhook
generateName: '$v[["mgizmo.gadgets.example.com"],["a","a.b","A.b.c","","a_b.c.d"]]'
deploymentName: gizmo-operator
"reinvocationPolicy?": '$of(Never,IfNeeded)'
admissionReviewVersions: '$v[[["v1"],["v1beta1"]],[[],["v2"],[""],["v1","v1"]]]'
sideEffects: '$v[["None","NoneOnDryRun"],["Unknown","Some","x"]]'
"failurePolicy?": '$of(Fail,Ignore)'
"timeoutSeconds?": '$v[[1,30],[0,31,-1]]'
"webhookPath?": '$v[["/mutate"],["mutate","//a","/a//b"]]'
rules:
- apiGroups: [gadgets.example.com]
  apiVersions: [v1]
  operations: '$v[[["CREATE"],["*"]],[[],["PATCH"],["*","CREATE"]]]'
  resources: '$v[[["gizmos"],["gizmos/*"]],[[],[""],["*","gizmos"],["*/*","gizmos"]]]'
"#;
