//! Single expressions outside of CRDs: match conditions of admission webhooks, and OLM's constraints.

use std::sync::OnceLock;

use super::compile::compile;
use super::decl::{DeclId, Declarations};
use super::environment::Environment;
use super::library;
use super::report::{self, ExpressionError, ExpressionErrors};
use super::server::Server;
use super::types::{self, Data, Ty, Types};

/// The variables of webhooks' expressions (apiserver `admission/plugin/cel/compile.go`).
#[derive(Debug)]
struct Admission {
    types: Types,
    declarations: Declarations<'static>,
    variables: Vec<(&'static str, Ty)>,
}

/// Validates the expression of an admission webhook's match condition as the API server does
/// (kubernetes `pkg/apis/admissionregistration/validation`). Surrounding whitespace is ignored; an empty expression is
/// rejected.
///
/// # Errors
/// All errors of the expression.
pub fn check_match_condition(expression: &str, server: &Server) -> Result<(), ExpressionErrors> {
    static ADMISSION: OnceLock<Admission> = OnceLock::new();
    let admission = ADMISSION.get_or_init(Admission::new);
    let text = expression.trim();
    if text.is_empty() {
        return Err(ExpressionErrors(vec![ExpressionError {
            message: "the expression is empty".to_owned(),
            position: None,
        }]));
    }
    let environment = Environment {
        library: library::kubernetes(),
        server,
        variables: &admission.variables,
        declarations: &admission.declarations,
        root: None,
    };
    let skipped = expression.len() - expression.trim_start().len();
    let mut types = admission.types.clone();
    let ty = compile_single(expression, skipped, text, &environment, &mut types)?;
    // protobuf's BoolValue does as well.
    if types.same(ty, types::BOOL) { Ok(()) } else { Err(no_bool(&types, ty)) }
}

/// Validates the CEL rule of an `olm.constraint` as OLM does (operator-framework/api `pkg/constraints/cel.go`): it can
/// use `properties`, a list of maps with `type` and `value`, and call `semver_compare`.
///
/// # Errors
/// All errors of the expression.
pub fn check_constraint(rule: &str) -> Result<(), ExpressionErrors> {
    let mut types = library::olm().types.clone();
    let property = types.map(types::STRING, types::ANY);
    let properties = types.list(property);
    let environment = Environment {
        library: library::olm(),
        server: &Server::new(Server::NEWEST),
        variables: &[("properties", properties)],
        declarations: &Declarations::default(),
        root: None,
    };
    let ty = compile_single(rule, 0, rule, &environment, &mut types)?;
    if ty == types::BOOL { Ok(()) } else { Err(no_bool(&types, ty)) }
}

/// Returns the type of `text`, which starts `skipped` bytes into `source`.
fn compile_single(
    source: &str,
    skipped: usize,
    text: &str,
    environment: &Environment<'_>,
    types: &mut Types,
) -> Result<Ty, ExpressionErrors> {
    let compiled = compile(text, environment, types).map_err(|faults| {
        let skipped = u32::try_from(skipped).unwrap_or(u32::MAX);
        let position = |at: u32| Some(report::position(source, at.saturating_add(skipped)));
        ExpressionErrors(
            faults
                .into_iter()
                .map(|fault| ExpressionError { position: position(fault.at), message: fault.message })
                .collect(),
        )
    })?;
    Ok(compiled.ty)
}

fn no_bool(types: &Types, ty: Ty) -> ExpressionErrors {
    let message = format!("expected type bool, found {}", types.name(ty));
    ExpressionErrors(vec![ExpressionError { message, position: None }])
}

impl Admission {
    fn new() -> Self {
        let mut make =
            Maker { types: library::kubernetes().types.clone(), declarations: Declarations::default() };
        let [object, request, namespace] = [types::DYN, make.request(), make.namespace()];
        let authorizer = make.types.make(Data::Message("kubernetes.authorization.Authorizer"));
        let resource = make.types.make(Data::Message("kubernetes.authorization.ResourceCheck"));
        let variables = vec![
            ("object", object),
            ("oldObject", object),
            ("namespaceObject", namespace),
            ("request", request),
            ("authorizer", authorizer),
            ("authorizer.requestResource", resource),
        ];
        Self { types: make.types, declarations: make.declarations, variables }
    }
}

/// Declares the variables of webhooks' expressions.
struct Maker {
    types: Types,
    declarations: Declarations<'static>,
}

impl Maker {
    fn value(&mut self, ty: Ty) -> DeclId {
        self.declarations.value(ty)
    }

    fn strings(&mut self, names: &[&'static str]) -> Vec<(&'static str, DeclId)> {
        names.iter().map(|name| (*name, self.value(types::STRING))).collect()
    }

    fn object(&mut self, fields: Vec<(&'static str, DeclId)>) -> DeclId {
        self.declarations.declare_object(&mut self.types, fields)
    }

    fn ty(&self, id: DeclId) -> Ty {
        self.declarations.get(id).ty
    }

    fn request(&mut self) -> Ty {
        let texts = self.types.list(types::STRING);
        let extra = self.types.map(types::STRING, texts);
        let kind = self.strings(&["group", "version", "kind"]);
        let kind = self.object(kind);
        let resource = self.strings(&["group", "version", "resource"]);
        let resource = self.object(resource);
        let mut user = self.strings(&["username", "uid"]);
        user.extend([("groups", self.value(texts)), ("extra", self.value(extra))]);
        let user = self.object(user);
        let mut request =
            self.strings(&["subResource", "requestSubResource", "name", "namespace", "operation"]);
        request.extend([
            ("kind", kind),
            ("requestKind", kind),
            ("resource", resource),
            ("requestResource", resource),
            ("userInfo", user),
            ("dryRun", self.value(types::BOOL)),
            ("options", self.value(types::DYN)),
        ]);
        let request = self.object(request);
        self.ty(request)
    }

    fn namespace(&mut self) -> Ty {
        let texts = self.types.list(types::STRING);
        let pairs = self.types.map(types::STRING, types::STRING);
        let spec = vec![("finalizers", self.value(texts))];
        let spec = self.object(spec);
        let mut condition = self.strings(&["status", "type", "message", "reason"]);
        condition.push(("lastTransitionTime", self.value(types::TIMESTAMP)));
        let condition = self.object(condition);
        let conditions = self.ty(condition);
        let conditions = self.types.list(conditions);
        let mut status = self.strings(&["phase"]);
        status.push(("conditions", self.value(conditions)));
        let status = self.object(status);
        let mut metadata = self.strings(&["name", "generateName", "namespace", "UID", "resourceVersion"]);
        metadata.extend([
            ("labels", self.value(pairs)),
            ("annotations", self.value(pairs)),
            ("creationTimestamp", self.value(types::TIMESTAMP)),
            ("deletionTimestamp", self.value(types::TIMESTAMP)),
            ("deletionGracePeriodSeconds", self.value(types::INT)),
            ("generation", self.value(types::INT)),
            ("finalizers", self.value(texts)),
        ]);
        let metadata = self.object(metadata);
        let namespace = self.object(vec![("metadata", metadata), ("spec", spec), ("status", status)]);
        self.ty(namespace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn match_conditions_are_validated_as_in_the_api_server() {
        let server = Server::new(34);
        for expression in [
            "true",
            "  request.operation == 'CREATE'\n",
            "object.metadata.name.startsWith('a') && !has(oldObject.spec)",
            "!('system:nodes' in request.userInfo.groups)",
            "request.resource.group != 'coordination.k8s.io'",
            "request.namespace == namespaceObject.metadata.name",
            "authorizer.group('').resource('pods').check('delete').allowed()",
            "authorizer.requestResource.check('breakglass').reason() == ''",
            "request.options == null || request.dryRun",
            "object.spec.replicas > 1.5",
        ] {
            assert_eq!(check_match_condition(expression, &server), Ok(()), "{expression}");
        }
        for expression in [
            "",
            " \n",
            "object",
            "request.operation",
            "request.uid == 'a'",
            "request.object.metadata.name == 'a'",
            "self.spec == 1",
            "params.x == 1",
            "variables.x == 1",
            "authorizer.requestResource",
            "namespaceObject.metadata.managedFields.size() > 0",
            "object.name.matches('[')",
            "['a'].distinct().size() == 1",
        ] {
            assert!(check_match_condition(expression, &server).is_err(), "{expression}");
        }
        let faults = check_match_condition("\n  request.x == 1", &server).unwrap_err();
        assert_eq!(faults.0[0].position, Some((2, 10)));
        assert!(faults.to_string().ends_with("(line 2, column 10 of the expression)"), "{faults}");
    }

    #[test]
    fn constraints_are_validated_as_in_olm() {
        for rule in [
            "properties.exists(p, p.type == 'olm.package' && p.value.packageName == 'a')",
            "properties.exists(p, p.type == 'olm.package' && (semver_compare(p.value.version, '1.0.0') >= 0))",
            "properties.exists(p, p.`type` == 'a')",
            "properties.all(p, p['type'] in ['a', 1])",
            "properties[0].value == 1 || int('x') == 1",
            "[1].all(x, 1 < 2.0)",
        ] {
            assert_eq!(check_constraint(rule), Ok(()), "{rule}");
        }
        for rule in [
            "",
            "properties",
            "properties.exists(p, p.type = 'a')",
            "semver_compare('1.0.0', '1.0.1')",
            "semver_compare('1.0.0') == 0",
            "properties.exists(i, p, p.type == 'a')",
            "properties.?x.hasValue()",
            "1 < 2.0",
            "quantity('1') == quantity('2')",
            "'a'.split(',').size() == 1",
            "isURL('x')",
            "object.x == 1",
        ] {
            assert!(check_constraint(rule).is_err(), "{rule}");
        }
    }
}
