//! What a typed overload returns: values, or markers for returns that are written arguments.

use opgrid_schema::{Argument, FunctionSchema};
use proc_macro2::{Literal, TokenStream};
use quote::quote;

use crate::types::Types;

/// The returns in Rust.
pub(crate) struct Returns {
    /// What stands after `->` in the signature.
    pub(crate) marker: TokenStream,
    /// What `call` gives when it succeeds.
    pub(crate) output: TokenStream,
}

/// Translates the returns of a schema.
///
/// # Errors
///
/// A message about the return that has no Rust form.
pub(crate) fn returns(schema: &FunctionSchema, types: &Types<'_>) -> Result<Returns, String> {
    if let Some(marker) = written_marker(schema, types) {
        return Ok(Returns { marker, output: quote!(()) });
    }
    let mut owned = Vec::with_capacity(schema.returns.len());
    for (index, value) in schema.returns.iter().enumerate() {
        if value.is_write() {
            return Err(format!(
                "return {index} is `{value}`, which is written but is neither the first argument nor, together \
                 with all other returns, the last arguments in order; register this operator boxed, by its schema \
                 text"
            ));
        }
        match types.rust(&value.real_type) {
            Some(rust_type) => owned.push(rust_type.owned),
            None => {
                return Err(format!(
                    "return {index} has the type `{}`, which has no Rust type here; register this operator boxed, \
                     by its schema text",
                    value.real_type
                ));
            }
        }
    }
    let output = match owned.as_slice() {
        [single] => quote!(#single),
        _ => quote!((#(#owned),*)),
    };
    Ok(Returns { marker: output.clone(), output })
}

/// The marker if all returns are written arguments: the first one, or the last ones in order.
fn written_marker(schema: &FunctionSchema, types: &Types<'_>) -> Option<TokenStream> {
    let (arguments, returns) = (&schema.arguments, &schema.returns);
    let count = returns.len();
    if let ([value], [first, ..]) = (returns.as_slice(), arguments.as_slice())
        && is_same(value, first)
    {
        return Some(types.in_core("WritesFirst"));
    }
    let last = &arguments[arguments.len().checked_sub(count)?..];
    if count == 0 || !returns.iter().zip(last).all(|(value, argument)| is_same(value, argument)) {
        return None;
    }
    let marker = types.in_core("WritesLast");
    let number = Literal::usize_unsuffixed(count);
    Some(if count == 1 { marker } else { quote!(#marker<#number>) })
}

/// Whether a return is the argument, written and given back.
fn is_same(value: &Argument, argument: &Argument) -> bool {
    value.is_write() && value.alias == argument.alias && value.real_type == argument.real_type
}
