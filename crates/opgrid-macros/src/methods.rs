//! The methods of tensors that overloads with `, method` have.

use opgrid_schema::{Argument, FunctionSchema, Type};
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use crate::forms::FormOf;
use crate::items::{Error, Item, Method, Result};
use crate::parameters::rust_name;
use crate::returns::returns;
use crate::types::Types;

/// The methods of an item: one for the overload, and one for its in-place form.
pub(crate) fn methods_of(
    item: &Item,
    schema: &FunctionSchema,
    forms: &[FormOf],
    types: &Types<'_>,
) -> Result<TokenStream> {
    let Some(method) = &item.method else { return Ok(TokenStream::new()) };
    let operator = Ident::new(schema.name.base(), method.span);
    let name = method.name.as_ref().unwrap_or(&operator);
    let (tensor, on_all) = (types.in_scope("Tensor"), item.attributes_named(&["cfg", "allow"]));
    let functional = expand(item, method, name, &item.name, schema, documentation(item, schema), types)?;
    let in_place = forms.iter().find(|form| form.is_in_place).map(|form| {
        let in_place = Ident::new(&format!("{name}_"), name.span());
        let text = format!(" Writes the result of [`{name}`](Self::{name}) to this tensor.");
        expand(item, method, &in_place, &form.name, &form.schema, quote!(#[doc = #text]), types)
    });
    let in_place = in_place.transpose()?;
    Ok(quote! {
        #(#on_all)*
        impl #tensor {
            #functional
            #in_place
        }
    })
}

/// The method that calls `overload`.
fn expand(
    item: &Item,
    method: &Method,
    name: &Ident,
    overload: &Ident,
    schema: &FunctionSchema,
    documentation: TokenStream,
    types: &Types<'_>,
) -> Result<TokenStream> {
    let at_method = |message: String| Error::new(method.span, message);
    let is_receiver = |argument: &Argument| argument.name == "self" && argument.real_type == Type::Tensor;
    if !schema.arguments.iter().any(is_receiver) {
        let message = format!(
            "a method is called on the argument `Tensor self`, which `{}` does not have; write a free \
             function instead",
            schema.name
        );
        return Err(at_method(message));
    }
    let (mut parameters, mut arguments) = (Vec::new(), Vec::new());
    for argument in &schema.arguments {
        if is_receiver(argument) {
            arguments.push(quote!(self));
            continue;
        }
        let no_type = || at_method(format!("argument `{}` has no type in Rust", argument.name));
        let given = types.rust(&argument.real_type).ok_or_else(no_type)?.parameter;
        let own = Ident::new(&rust_name(&argument.name), types.span);
        let (parameter, value) = if is_converted(&argument.real_type) {
            (quote!(impl ::core::convert::Into<#given>), quote!(::core::convert::Into::into(#own)))
        } else {
            (given, quote!(#own))
        };
        parameters.push(quote!(#own: #parameter));
        arguments.push(value);
    }
    let errors = format!("\n # Errors\n\n Those of [`{overload}`].");
    let returns = returns(schema, types).map_err(at_method)?;
    let (core, visibility) = (types.core, &item.visibility);
    let (output, call) = if schema.arguments.first().is_some_and(Argument::is_write) {
        (quote!(&Self), quote!(#overload.call(#(#arguments),*).map(|()| self)))
    } else {
        (returns.output, quote!(#overload.call(#(#arguments),*)))
    };
    Ok(quote! {
        #documentation
        #[doc = #errors]
        #[allow(clippy::too_many_arguments)]
        #visibility fn #name(&self, #(#parameters),*) -> #core::Result<#output> {
            #call
        }
    })
}

/// Whether a method takes everything that can be converted to an argument of that type: numbers, and integers that may
/// be absent.
fn is_converted(schema_type: &Type) -> bool {
    match schema_type {
        Type::Scalar => true,
        Type::Optional(inner) => matches!(**inner, Type::Int | Type::SymInt),
        _ => false,
    }
}

/// The documentation of the item, or its schema.
fn documentation(item: &Item, schema: &FunctionSchema) -> TokenStream {
    let own = item.attributes_named(&["doc"]);
    let text = format!(" Calls `{}`.", schema.name);
    if own.is_empty() { quote!(#[doc = #text]) } else { quote!(#(#own)*) }
}
