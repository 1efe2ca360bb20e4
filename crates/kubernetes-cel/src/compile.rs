//! Compiles one expression from its text to its type and cost.

use super::ast::{Ast, Expr, Fault, Id};
use super::check::{Checked, Reference, Scope};
use super::environment::Environment;
use super::estimate::Range;
use super::types::{Ty, Types};
use super::{check, cost, parse, plan, validate};

/// Expressions with more nesting operators than this are validated on a stack of their own.
const SHALLOW: usize = 200;
/// Stack size for the deepest tree that the limits allow.
const STACK: usize = 256 << 20;

/// An expression that compiles.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Compiled {
    pub(crate) ty: Ty,
    pub(crate) cost: Range,
    pub(crate) uses_old_self: bool,
}

/// Compiles one expression.
///
/// # Errors
/// The errors of cel-go's parser, checker, validators and planner.
pub(crate) fn compile(
    source: &str,
    environment: &Environment<'_>,
    types: &mut Types,
) -> Result<Compiled, Vec<Fault>> {
    // WebAssembly has no threads: there, an expression that is too deep for the stack traps.
    let is_here = cfg!(target_family = "wasm") || nesting(source) <= SHALLOW;
    if is_here || source.len() > parse::MAX_CODE_POINTS * 4 {
        return compile_here(source, environment, types);
    }
    std::thread::scope(|scope| {
        let run = || compile_here(source, environment, types);
        match std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, run) {
            Ok(thread) => thread
                .join()
                .unwrap_or_else(|_| Err(vec![Fault::new(0, "failed to validate the expression")])),
            Err(_) => Err(vec![Fault::new(0, "failed to start a thread to validate the expression")]),
        }
    })
}

/// Returns the number of characters that can make the tree deeper.
fn nesting(source: &str) -> usize {
    source
        .bytes()
        .filter(|byte| !byte.is_ascii_alphanumeric() && !byte.is_ascii_whitespace() && *byte != b'_')
        .count()
}

fn compile_here(
    source: &str,
    environment: &Environment<'_>,
    types: &mut Types,
) -> Result<Compiled, Vec<Fault>> {
    let mut ast =
        parse::parse(source, environment.library.dialect, environment.server).map_err(|fault| vec![fault])?;
    let scope = Scope {
        library: environment.library,
        server: environment.server,
        variables: environment.variables,
        declarations: environment.declarations,
    };
    let checked = check::check(&mut ast, &scope, types)?;
    let dialect = environment.library.dialect;
    if dialect.kubernetes {
        validate::validate(&ast, &checked, types)?;
    }
    plan::plan(&ast, &checked, types, dialect.kubernetes).map_err(|fault| vec![fault])?;
    let cost = cost::cost(&ast, &checked, types, environment);
    Ok(Compiled { ty: checked.ty(ast.root), cost, uses_old_self: uses(&ast, &checked, "oldSelf") })
}

/// Whether an identifier of this name occurs, be it the variable or a loop's.
fn uses(ast: &Ast<'_>, checked: &Checked, name: &str) -> bool {
    (0..ast.nodes.len()).any(|index| {
        matches!(checked.references[index], Some(Reference::Variable))
            && u32::try_from(index)
                .is_ok_and(|index| matches!(ast.expr(Id(index)), Expr::Ident(ident) if ident == name))
    })
}
