//! The rules of OLM's constraints, by which a bundle says which others it needs.
//!
//! Source: `pkg/constraints/cel.go` of operator-framework/api.

use super::check::{self, Scope};
use super::decl::Declarations;
use super::{library, parse, report, types};

/// Compiles a rule over `properties`, a list of maps, whose result must be true or false.
///
/// # Errors
/// The first thing that is wrong with the rule, with its place in it.
pub fn check_constraint(rule: &str) -> Result<(), String> {
    let library = library::olm();
    let mut types = library.types.clone();
    let property = types.map(types::STRING, types::DYN);
    let variables = [("properties", types.list(property))];
    let scope = Scope { library, variables: &variables, declarations: &Declarations::default() };
    let describe = |fault: &super::ast::Fault| {
        let (line, column) = report::place(rule, fault.at);
        format!("{} at line {line}, column {column} of the rule", fault.message)
    };
    let mut ast = parse::parse(rule, library.lists).map_err(|fault| describe(&fault))?;
    let checked = check::check(&mut ast, &scope, &mut types)
        .map_err(|faults| faults.first().map_or_else(|| "it does not compile".to_owned(), describe))?;
    let result = checked.ty(ast.root);
    if result == types::BOOL {
        Ok(())
    } else {
        Err(format!("it gives {} instead of bool", types.name(result)))
    }
}

#[cfg(test)]
mod tests {
    use super::check_constraint;

    #[test]
    fn a_rule_is_a_condition_over_properties() {
        let good = [
            "true",
            "properties.exists(p, p.type == 'olm.package' && semver_compare(p.value, '1.0.0') >= 0)",
            "properties.all(p, p['type'] != 'certified' || p.value.stack.size() > 1)",
        ];
        for rule in good {
            assert_eq!(check_constraint(rule), Ok(()), "{rule}");
        }
        for (rule, message) in [
            ("1", "it gives int instead of bool"),
            ("properties[0].value", "it gives dyn instead of bool"),
            ("properties.exists(", "at line 1"),
            ("props.size() > 0", "props"),
            ("properties.exists(p, doesnt_exist(p.value))", "doesnt_exist"),
            ("properties.size() > 'a'", "at line 1"),
            ("isURL('x')", "isURL"),
        ] {
            let error = check_constraint(rule).unwrap_err();
            assert!(error.contains(message), "{rule}: {error}");
        }
    }
}
