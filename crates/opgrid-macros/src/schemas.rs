//! Reads the schemas of items.

use opgrid_schema::{FunctionSchema, ParseOptions};

use crate::items::{Error, Item, Result};
use crate::literal::string_value;

/// An error at an item's schema.
pub(crate) fn at_schema(item: &Item, message: String) -> Error {
    Error::new(item.schema.span(), message)
}

/// The schema of an item, which has a namespace and a fixed signature.
pub(crate) fn parse_schema(item: &Item) -> Result<FunctionSchema> {
    let Some(text) = string_value(&item.schema) else {
        let message = format!("expected the schema as a string but found `{}`", item.schema);
        return Err(at_schema(item, message));
    };
    let options = ParseOptions { allow_type_variables: false, strict: true, ..ParseOptions::default() };
    let schema = FunctionSchema::parse_with(&text, &options)
        .map_err(|error| at_schema(item, format!("the schema is not valid: {error}")))?;
    if schema.name.namespace().is_none() {
        let message = format!(
            "the operator `{}` has no namespace, and without one nothing can be registered for it; write it as \
             `myops::{}`, with the namespace of its library",
            schema.name, schema.name
        );
        return Err(at_schema(item, message));
    }
    if schema.is_vararg || schema.is_varret {
        let message = "an operator with `...` has no fixed signature; register it boxed, by its schema text";
        return Err(at_schema(item, message.to_owned()));
    }
    Ok(schema)
}
