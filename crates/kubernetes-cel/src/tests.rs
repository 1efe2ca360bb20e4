//! Verdicts and costs of the real API server, and the rules around expressions.

use serde_json::Value;

use super::*;

const SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "s": {"type": "string"},
        "sm": {"type": "string", "maxLength": 10},
        "i": {"type": "integer"},
        "n": {"type": "number"},
        "b": {"type": "boolean"},
        "l": {"type": "array", "items": {"type": "string"}},
        "lm": {"type": "array", "maxItems": 5, "items": {"type": "string", "maxLength": 7}},
        "lo": {"type": "array", "maxItems": 8, "items": {"type": "object", "properties": {"a": {"type": "string", "maxLength": 4}, "d": {"type": "array", "maxItems": 9, "items": {"type": "string", "maxLength": 11}}, "e": {"type": "array", "maxItems": 3, "items": {"type": "string", "maxLength": 99}}, "f": {"type": "object", "properties": {"x": {"type": "string", "maxLength": 2}, "y": {"type": "string", "maxLength": 222}, "z": {"type": "array", "maxItems": 4, "items": {"type": "integer"}}, "w": {"type": "array", "maxItems": 44, "items": {"type": "string", "maxLength": 3}}}}}}},
        "m": {"type": "object", "additionalProperties": {"type": "string"}},
        "mm": {"type": "object", "maxProperties": 6, "additionalProperties": {"type": "array", "maxItems": 3, "items": {"type": "string", "maxLength": 12}}},
        "o": {"type": "object", "properties": {"p": {"type": "object", "properties": {"q": {"type": "object", "properties": {"r": {"type": "string", "maxLength": 3}, "t": {"type": "string", "maxLength": 333}}}}}}},
        "io": {"x-kubernetes-int-or-string": true},
        "dt": {"type": "string", "format": "date-time"},
        "du": {"type": "string", "format": "duration"},
        "by": {"type": "string", "format": "byte"},
        "en": {"type": "string", "enum": ["a", "bbb"]},
        "namespace": {"type": "string"},
        "in": {"type": "string"},
        "x-y": {"type": "string"},
        "e": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
        "pu": {"x-kubernetes-preserve-unknown-fields": true}
    }
}"#;

fn string_field<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn number(value: &Value, key: &str) -> Option<i64> {
    value.get(key).and_then(Value::as_i64)
}

fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn flag(value: &Value, key: &str) -> bool {
    value.get(key).and_then(Value::as_bool).unwrap_or_default()
}

fn schema(value: &Value) -> Schema<'_> {
    let properties = value.get("properties").and_then(Value::as_object);
    Schema {
        kind: string_field(value, "type"),
        format: string_field(value, "format"),
        int_or_string: flag(value, "x-kubernetes-int-or-string"),
        embedded_resource: flag(value, "x-kubernetes-embedded-resource"),
        list_type: value.get("x-kubernetes-list-type").and_then(Value::as_str),
        items: value.get("items").map(|items| Box::new(schema(items))),
        properties: properties
            .into_iter()
            .flatten()
            .map(|(name, value)| (name.as_str(), schema(value)))
            .collect(),
        additional_properties: match value.get("additionalProperties") {
            None => AdditionalProperties::Unset,
            Some(Value::Bool(allowed)) => AdditionalProperties::Bool(*allowed),
            Some(values) => AdditionalProperties::Schema(Box::new(schema(values))),
        },
        required: list(value, "required").filter_map(Value::as_str).collect(),
        values: list(value, "enum").map(Value::as_str).collect(),
        has_default: value.get("default").is_some_and(|default| !default.is_null()),
        max_length: number(value, "maxLength"),
        max_items: number(value, "maxItems"),
        max_properties: number(value, "maxProperties"),
        rules: list(value, "x-kubernetes-validations").map(rule).collect(),
    }
}

fn rule(value: &Value) -> Rule<'_> {
    Rule {
        rule: string_field(value, "rule"),
        message: string_field(value, "message"),
        message_expression: string_field(value, "messageExpression"),
        reason: value.get("reason").and_then(Value::as_str),
        field_path: string_field(value, "fieldPath"),
        optional_old_self: value.get("optionalOldSelf").and_then(Value::as_bool),
    }
}

fn check(json: &str) -> Report {
    check_schema(&schema(&serde_json::from_str(json).unwrap()), &Server::new(34))
}

fn fields(report: &Report) -> Vec<(String, &'static str)> {
    report.problems.iter().map(|problem| (format_path(&problem.path), problem.field.name())).collect()
}

#[test]
fn verdicts_and_costs_are_the_api_servers() {
    let value = serde_json::from_str(SCHEMA).unwrap();
    let mut root = schema(&value);
    let mut wrong = Vec::new();
    for line in include_str!("expressions.txt").lines().skip(1) {
        let (expected, expression) = line.split_once(' ').unwrap();
        root.rules = vec![Rule { rule: expression, message: "m", ..Rule::default() }];
        let report = check_schema(&root, &Server::new(34));
        let found = report.costs.first().map_or("-".to_owned(), |cost| cost.estimate.to_string());
        if found != expected {
            wrong.push(format!("{expression}: {found} instead of {expected}, {:?}", report.problems));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn costs_are_multiplied_by_the_sizes_of_lists_and_maps() {
    let report = check(
        r#"{"type": "object", "properties": {"l": {"type": "array", "maxItems": 7, "items": {"type": "object",
            "additionalProperties": {"type": "string", "x-kubernetes-validations": [{"rule": "self == 'a'"}]},
            "x-kubernetes-validations": [{"rule": "self.size() > 1", "messageExpression": "'a'"}]}}}}"#,
    );
    let costs: Vec<(u64, u64)> = report.costs.iter().map(|cost| (cost.estimate, cost.times)).collect();
    assert_eq!(costs, [(2, 1_048_576), (3, 7), (0, 1)]);
    assert_eq!(report.total, 2_097_152 + 21);
    assert_eq!(report.problems, []);
}

#[test]
fn limits_of_expression_and_schema_are_the_api_servers() {
    let expensive = |list: &str| {
        format!(
            r#"{{"type": "object", "properties": {{"l": {{"type": "array", {list} "items": {{"type": "string"}},
            "x-kubernetes-validations": [{{"rule": "self.all(x, self.exists(y, x == y))"}}]}}}}}}"#
        )
    };
    let report = check(&expensive(""));
    assert_eq!(fields(&report), [("properties[l]".to_owned(), "rule"), (String::new(), "")]);
    assert!(report.problems[0].message.contains("more than 100x"), "{:?}", report.problems);
    assert!(report.problems[1].message.contains("properties[l].x-kubernetes-validations[0].rule"));
    assert_eq!(check(&expensive("\"maxItems\": 5,")).problems, []);
}

#[test]
fn fields_beside_the_expression_are_validated() {
    let report = check(
        r#"{"type": "object", "properties": {"a": {"type": "string"}}, "x-kubernetes-validations": [
            {"rule": " "},
            {"rule": "true", "message": " "},
            {"rule": "true", "message": "a\nb"},
            {"rule": "true &&\ntrue"},
            {"rule": "true", "messageExpression": " "},
            {"rule": "true", "messageExpression": "1"},
            {"rule": "true", "reason": "Nope"},
            {"rule": "true", "fieldPath": ".b"},
            {"rule": "true", "optionalOldSelf": true},
            {"rule": "self.a"},
            {"rule": "self.b == 'a'"},
            {"rule": "oldSelf.a.value() == 'a' && oldSelf.hasValue()", "optionalOldSelf": true},
            {"rule": "self.a == oldSelf.a", "reason": "FieldValueInvalid", "fieldPath": ".a", "messageExpression": "self.a"}
        ]}"#,
    );
    let found: Vec<(usize, &str)> =
        report.problems.iter().map(|problem| (problem.rule.unwrap(), problem.field.name())).collect();
    let expected = [
        (0, "rule"),
        (1, "message"),
        (2, "message"),
        (3, "message"),
        (4, "messageExpression"),
        (6, "reason"),
        (7, "fieldPath"),
        (5, "messageExpression"),
        (8, "optionalOldSelf"),
        (9, "rule"),
        (10, "rule"),
    ];
    assert_eq!(found, expected, "{:#?}", report.problems);
    assert_eq!(report.problems[10].position, Some((1, 5)));
}

#[test]
fn old_values_need_lists_whose_elements_are_known() {
    let list = |kind: &str| {
        format!(
            r#"{{"type": "array", "maxItems": 2, {kind} "items": {{"type": "object", "required": ["k"], "properties":
            {{"k": {{"type": "string", "maxLength": 3, "x-kubernetes-validations": [{{"rule": "self == oldSelf"}}]}}}}}}}}"#
        )
    };
    let report = check(&list(""));
    assert_eq!(fields(&report), [("items.properties[k]".to_owned(), "rule")]);
    let report = check(&list(r#""x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],"#));
    assert_eq!(report.problems, []);
}

#[test]
fn schemas_without_a_type_cannot_have_rules() {
    let report = check(
        r#"{"type": "object", "properties": {"a": {"x-kubernetes-preserve-unknown-fields": true,
        "x-kubernetes-validations": [{"rule": "true"}]}}}"#,
    );
    assert_eq!(fields(&report), [("properties[a]".to_owned(), "rule")]);
}

#[test]
fn list_library_is_for_later_servers() {
    let value = serde_json::from_str(
        r#"{"type": "array", "maxItems": 10, "items": {"type": "integer"},
        "x-kubernetes-validations": [{"rule": "self.distinct().sort() == self"}]}"#,
    )
    .unwrap();
    assert_eq!(
        check_schema(&schema(&value), &Server::new(34)).problems.len(),
        1,
        "the first function does not exist"
    );
    assert_eq!(check_schema(&schema(&value), &Server::new(35)).problems, []);
}

#[test]
fn number_of_problems_is_limited() {
    let nested = (0..60).fold("1".to_owned(), |inner, _| format!("[{inner},1]"));
    let rule = format!("{nested} == {nested}");
    let report = check_schema(
        &Schema { kind: "object", rules: vec![Rule { rule: &rule, ..Rule::default() }], ..Schema::default() },
        &Server::new(34),
    );
    assert_eq!(report.problems.len(), 10, "{:?}", report.problems);

    let mut rules = vec![Rule::default(); 12_000];
    rules.push(Rule { rule: "true", reason: Some("Other"), ..Rule::default() });
    let report = check_schema(&Schema { kind: "object", rules, ..Schema::default() }, &Server::new(34));
    let of = |field| report.problems.iter().filter(|problem| problem.field == field).count();
    assert_eq!((of(Field::Rule), of(Field::Reason)), (10_000, 1));
}

#[test]
fn hostile_expressions_terminate() {
    let repeat = |text: &str, count: usize| text.repeat(count);
    let expressions = [
        repeat("(", 50_000),
        repeat("[", 50_000),
        repeat("!", 99_000),
        repeat("-", 99_000),
        format!("{}true{}", repeat("(", 300), repeat(")", 300)),
        format!("self{}", repeat(".a", 40_000)),
        format!("self.?a{}.hasValue()", repeat(".optMap(x, x)", 60)),
        format!("[1]{}.size() == 1", repeat(".map(x, {x: x})", 200)),
        format!("{}1{} == 1", repeat("{1:", 249), repeat("}", 249)),
        format!("true{}", repeat(" ? true : true", 7_000)),
        repeat("é", 200_000),
        format!("self.a.matches('{}')", repeat("(", 60_000)),
        "'\\".to_owned(),
        "\"\"\"".to_owned(),
        String::from_utf8_lossy(&[0xff, 0xfe, 0, 1]).into_owned(),
    ];
    let value =
        serde_json::from_str(r#"{"type": "object", "properties": {"a": {"type": "string"}}}"#).unwrap();
    let mut root = schema(&value);
    for expression in &expressions {
        root.rules = vec![Rule { rule: expression, ..Rule::default() }];
        let report = check_schema(&root, &Server::new(34));
        assert!(!report.problems.is_empty(), "{expression:.40}");
    }
}

/// Returns the first and the last version from 1.30 to 1.37 that accept a rule on [`SCHEMA`]; asserts that no result outside of
/// [`Server::same`] is needed.
fn accepted_by(rule: &str) -> Vec<u16> {
    let value: Value = serde_json::from_str(SCHEMA).unwrap();
    let mut root = schema(&value);
    root.rules = vec![Rule { rule, ..Rule::default() }];
    let mut accepted = Vec::new();
    let mut minor = 30;
    while minor <= 37 {
        let server = Server::new(minor);
        let is_valid = check_schema(&root, &server).problems.is_empty();
        let last = (*server.same().end()).min(37);
        for same in minor..=last {
            let alone = check_schema(&root, &Server::new(same)).problems.is_empty();
            assert_eq!(alone, is_valid, "{rule}: 1.{same} differs from 1.{minor}");
            accepted.extend(is_valid.then_some(same));
        }
        minor = last + 1;
    }
    accepted
}

#[test]
fn libraries_and_costs_depend_on_the_version() {
    let since = |first: u16| (first..=37).collect::<Vec<_>>();
    for (rule, versions) in [
        ("self.i > 1", since(30)),
        ("sets.contains(self.lm, ['a'])", since(30)),
        ("isIP(self.sm)", since(31)),
        ("ip(self.sm) == ip('1.2.3.4')", since(32)),
        ("quantity(self.sm) == quantity('1')", since(32)),
        ("!format.dns1123Label().validate(self.sm).hasValue()", since(32)),
        ("self.namespace == 'a'", since(32)),
        ("self.__namespace__ == 'a'", since(30)),
        ("self.lm.all(i, x, i < 3)", since(33)),
        ("self.lm.first().hasValue()", since(33)),
        ("isSemver(self.sm)", since(34)),
        ("self.lm.distinct().size() == 1", since(35)),
        ("self.o.`p`.`q`.r == 'a'", since(37)),
        ("duration(self.i) == self.du", (30..=36).collect()),
        ("self.lm.includes('a')", Vec::new()),
        // The estimator knows the size of what `dyn` returns since cel-go 0.23.
        ("dyn(self.lm).all(x, x == 'a')", since(33)),
        // A name is at most 253 characters since 1.37.
        ("self.metadata.name.split('').all(x, self.metadata.name.contains(x))", vec![37]),
    ] {
        assert_eq!(accepted_by(rule), versions, "{rule}");
    }
}
