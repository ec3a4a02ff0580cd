//! Writes the items of each overload: the type, its `Operator` implementation and its `call`.

use std::collections::HashSet;

use opgrid_schema::{Argument, FunctionSchema};
use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};

use crate::aliases;
use crate::forms::{self, FormOf};
use crate::items::{Attribute, Block, Error, Input, Item, Register, RegisterWith, Result};
use crate::methods;
use crate::parameters::{parameters, rust_name};
use crate::returns::returns;
use crate::schemas::{at_schema, parse_schema};
use crate::types::Types;

/// Expands the whole input; every mistake becomes a compile error beside the items that are right. Each item has its own block
/// of methods.
pub(crate) fn operator_items(input: TokenStream) -> TokenStream {
    let mut expanded = operator_types(input.clone());
    let Ok(Input { core, items, .. }) = Input::parse(input) else { return expanded };
    // What is wrong with an item, other than with its methods, is an error of its types.
    for (item, methods) in items.iter().zip(items.iter().map(|item| item_methods(&core, item))) {
        let methods = methods.unwrap_or_default();
        if !methods.is_empty() {
            let types = Types { core: &core, span: item.schema.span() };
            let (tensor, on_all) = (types.in_scope("Tensor"), item.attributes_named(&["cfg", "allow"]));
            expanded.extend(quote!(#(#on_all)* impl #tensor { #methods }));
        }
    }
    expanded
}

/// Expands to one block with the methods of all items, or to nothing if they have none.
pub(crate) fn operator_methods(input: TokenStream) -> TokenStream {
    let Block { core, attributes, items } = match Block::parse(input) {
        Ok(block) => block,
        Err(error) => return error.into_compile_error(),
    };
    let methods: TokenStream =
        items.iter().map(|item| item_methods(&core, item).unwrap_or_default()).collect();
    let Some(first) = items.first().filter(|_| !methods.is_empty()) else { return TokenStream::new() };
    let tensor = Types { core: &core, span: first.schema.span() }.in_scope("Tensor");
    let attributes = attributes.iter().map(Attribute::tokens);
    quote!(#(#attributes)* impl #tensor { #methods })
}

/// The methods of an item and of its other names.
fn item_methods(core: &TokenStream, item: &Item) -> Result<TokenStream> {
    let schema = parse_schema(item)?;
    let forms = forms::from_item(item, &schema)?;
    let mut methods = methods::methods_of(item, &schema, &forms, &Types { core, span: item.schema.span() })?;
    for alias in aliases::from_item(item, &schema)? {
        methods.extend(item_methods(core, &alias.item)?);
    }
    Ok(methods)
}

/// Expands to the types of overloads; every mistake, also one of a method, becomes a compile error beside the items that are right.
pub(crate) fn operator_types(input: TokenStream) -> TokenStream {
    let Input { core, register_with, items } = match Input::parse(input) {
        Ok(input) => input,
        Err(error) => return error.into_compile_error(),
    };
    let mut names = HashSet::new();
    let mut group = Vec::new();
    let mut expanded: TokenStream = items
        .iter()
        .map(|item| {
            // Items that are compiled in turn, under a condition, may share a name.
            let mut is_new = |name: &Ident| names.insert(name.to_string()) || item.has_attribute("cfg");
            let expanded = if is_new(&item.name) {
                expand_family(&core, register_with.as_ref(), item, &mut is_new, &mut group)
            } else {
                Err(repeated_name(&item.name))
            };
            expanded.unwrap_or_else(|error| {
                let conditions = item.attributes_named(&["cfg"]);
                let error = error.into_compile_error();
                quote!(#(#conditions)* #error)
            })
        })
        .collect();
    if let Some(Register { path, others }) = register_with.and_then(|register_with| register_with.register) {
        group.extend(others.iter().map(|name| quote!(#name)));
        expanded.extend(quote! {
            /// The operators of this file as a group.
            pub(crate) static OPERATORS: #core::OnDemand = #core::OnDemand::new(&[#(#group),*], #path);
        });
    }
    expanded
}

fn repeated_name(name: &Ident) -> Error {
    Error::new(name.span(), format!("two operators here are named `{name}`; each needs a name of its own"))
}

/// Expands an overload, its forms, and the same under other names.
fn expand_family(
    core: &TokenStream,
    register_with: Option<&RegisterWith>,
    item: &Item,
    is_new: &mut dyn FnMut(&Ident) -> bool,
    group: &mut Vec<TokenStream>,
) -> Result<TokenStream> {
    let schema = parse_schema(item)?;
    let forms = forms::from_item(item, &schema)?;
    let aliases = aliases::from_item(item, &schema)?;
    let links = forms.iter().map(FormOf::constant).chain([aliases::constant(core, item, &forms, &aliases)]);
    let mut expanded = expand(core, register_with, item, &item.name, &schema, &links.collect())?;
    for form in &forms {
        if !is_new(&form.name) {
            return Err(repeated_name(&form.name));
        }
        expanded.extend(expand(core, register_with, item, &form.name, &form.schema, &TokenStream::new())?);
    }
    let conditions = item.attributes_named(&["cfg"]);
    group.extend([&schema].into_iter().chain(forms.iter().map(|form| &form.schema)).map(|schema| {
        let name = schema.name.to_string();
        quote!(#(#conditions)* #name)
    }));
    // For its mistakes: the methods stand in a block of their own.
    methods::methods_of(item, &schema, &forms, &Types { core, span: item.schema.span() })?;
    for alias in &aliases {
        if !is_new(&alias.item.name) {
            return Err(repeated_name(&alias.item.name));
        }
        expanded.extend(expand_family(core, register_with, &alias.item, is_new, group)?);
    }
    Ok(expanded)
}

/// Expands one overload with the constants that say what belongs to it. Its attributes are those of the item, without the
/// documentation for a form.
fn expand(
    core: &TokenStream,
    register_with: Option<&RegisterWith>,
    item: &Item,
    name: &Ident,
    schema: &FunctionSchema,
    links: &TokenStream,
) -> Result<TokenStream> {
    let is_form = *name != item.name;
    let types = Types { core, span: item.schema.span() };
    let parameters = parameters(schema, &types).map_err(|message| at_schema(item, message))?;
    let returns = returns(schema, &types).map_err(|message| at_schema(item, message))?;

    let visibility = &item.visibility;
    let on_type = item.attributes.iter().filter(|attribute| !is_form || !attribute.is("doc"));
    let on_type = on_type.map(|attribute| attribute.tokens());
    let on_all = item.attributes_named(&["cfg", "allow"]);
    let text = format!("{schema:#}");
    let documentation = item.documentation();
    let documentation =
        (!documentation.is_empty()).then(|| quote!(const DOCUMENTATION: &'static str = #documentation;));
    let type_doc = if is_form { documentation_of(&text) } else { type_documentation(item, &text) };
    let call_doc = call_documentation(schema, &text);
    let owned = parameters.iter().map(|parameter| &parameter.owned);
    let marker = &returns.marker;
    // The signature stands at the schema, so that a missing type is reported there.
    let signature = quote_spanned!(item.schema.span()=> fn(#(#owned),*) -> #marker);
    let names: Vec<_> = parameters.iter().map(|parameter| &parameter.name).collect();
    let borrowed: Vec<_> = parameters.iter().map(|parameter| &parameter.parameter).collect();
    let output = &returns.output;
    let register_with = register_with.map(|RegisterWith { path, register }| {
        let group = register.as_ref().map(|_| quote!(&OPERATORS));
        quote! {
            fn ensure_registered() -> #core::Result<()> {
                #path(#group)
            }
        }
    });
    Ok(quote! {
        #(#on_type)*
        #type_doc
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #visibility struct #name;

        #(#on_all)*
        impl #core::Operator for #name {
            const SCHEMA: &'static str = #text;
            #documentation
            #links
            type Signature = #signature;

            fn cell() -> &'static #core::OperatorCell<Self::Signature> {
                static CELL: #core::OperatorCell<#signature> = #core::OperatorCell::new();
                &CELL
            }

            #register_with
        }

        #(#on_all)*
        impl #name {
            #[doc = #call_doc]
            #[allow(non_snake_case, clippy::too_many_arguments)]
            pub fn call(self, #(#names: #borrowed),*) -> #core::Result<#output> {
                #core::operator::call(self, (#(#names,)*))
            }

            /// Calls the kernel for exactly these keys: neither the thread's keys nor fallthroughs change them.
            // Inlined, so that there is code for it only where somebody calls it: hardly any operator's is.
            #[inline]
            #[allow(non_snake_case, clippy::too_many_arguments)]
            pub fn redispatch(
                self,
                __keys: #core::DispatchKeySet,
                #(#names: #borrowed),*
            ) -> #core::Result<#output> {
                #core::operator::redispatch(self, __keys, (#(#names,)*))
            }
        }
    })
}

/// The documentation of the type, unless the user wrote one.
fn type_documentation(item: &Item, schema: &str) -> TokenStream {
    if item.has_attribute("doc") {
        return TokenStream::new();
    }
    documentation_of(schema)
}

fn documentation_of(schema: &str) -> TokenStream {
    let text = format!(" The operator `{schema}`.");
    quote!(#[doc = #text])
}

fn call_documentation(schema: &FunctionSchema, text: &str) -> String {
    let mut documentation =
        format!(" Calls `{}` on the global dispatcher.\n\n```text\n{text}\n```\n", schema.name);
    for argument in &schema.arguments {
        documentation += &format!("\n- {}", describe(argument));
    }
    documentation += "\n\n# Errors\n\nWhen no kernel takes the call, or the kernel fails.";
    documentation
}

fn describe(argument: &Argument) -> String {
    let written = if argument.is_write() { ", written to" } else { "" };
    let default = match &argument.default {
        Some(default) => format!(", `{default}` by default"),
        None => String::new(),
    };
    format!("`{}`: `{}`{written}{default}", rust_name(&argument.name), argument.real_type)
}

#[cfg(test)]
mod tests;
