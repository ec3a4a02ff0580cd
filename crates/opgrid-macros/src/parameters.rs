//! The parameters of an overload: names and types in Rust.

use opgrid_schema::FunctionSchema;
use proc_macro2::{Ident, TokenStream};

use crate::types::Types;

/// One parameter of the overload.
pub(crate) struct Parameter {
    pub(crate) name: Ident,
    /// Its type in the signature.
    pub(crate) owned: TokenStream,
    /// Its type in `call`.
    pub(crate) parameter: TokenStream,
}

/// The parameters of an overload, or what the schema has that has no form in Rust.
pub(crate) fn parameters(schema: &FunctionSchema, types: &Types<'_>) -> Result<Vec<Parameter>, String> {
    let mut parameters: Vec<Parameter> = Vec::with_capacity(schema.arguments.len());
    for argument in &schema.arguments {
        let rust_type = types.rust(&argument.real_type).ok_or_else(|| {
            format!(
                "argument `{}` has the type `{}`, which has no Rust type here; register this operator boxed, by \
                 its schema text",
                argument.name, argument.real_type
            )
        })?;
        let name = Ident::new(&rust_name(&argument.name), types.span);
        if parameters.iter().any(|known| known.name == name) {
            return Err(format!(
                "two arguments are named `{name}` in Rust, one of them `{}` in the schema; rename one of them",
                argument.name
            ));
        }
        parameters.push(Parameter { name, owned: rust_type.owned, parameter: rust_type.parameter });
    }
    Ok(parameters)
}

/// The name of an argument in Rust: `self` is `input`, keywords get an underscore at the end.
pub(crate) fn rust_name(name: &str) -> String {
    match name {
        "self" => "input".to_owned(),
        _ if is_keyword(name) => format!("{name}_"),
        _ => name.to_owned(),
    }
}

/// The keywords of Rust, also those reserved for later, that the schema language allows as names.
fn is_keyword(name: &str) -> bool {
    matches!(
        name,
        "_" | "Self"
            | "abstract"
            | "async"
            | "await"
            | "become"
            | "box"
            | "const"
            | "crate"
            | "do"
            | "dyn"
            | "enum"
            | "extern"
            | "false"
            | "final"
            | "fn"
            | "gen"
            | "impl"
            | "let"
            | "loop"
            | "macro"
            | "match"
            | "mod"
            | "move"
            | "mut"
            | "override"
            | "priv"
            | "pub"
            | "ref"
            | "static"
            | "struct"
            | "super"
            | "trait"
            | "true"
            | "try"
            | "type"
            | "typeof"
            | "unsafe"
            | "unsized"
            | "use"
            | "virtual"
            | "where"
            | "yield"
    )
}
