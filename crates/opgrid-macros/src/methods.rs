//! The methods of tensors that overloads with `, method` have.

use opgrid_schema::{Argument, Constant, FunctionSchema, Type};
use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;

use crate::forms::{self, FormOf};
use crate::items::{Error, Item, Method, Result};
use crate::parameters::rust_name;
use crate::returns::returns;
use crate::types::Types;

/// The methods of an item: one for the overload, and one for its in-place form. If an argument is left out, a second one of
/// each takes all, and has `_with` in its name. They are the content of an `impl` block.
pub(crate) fn methods_of(
    item: &Item,
    schema: &FunctionSchema,
    forms: &[FormOf],
    types: &Types<'_>,
) -> Result<TokenStream> {
    let Some(method) = &item.method else { return Ok(TokenStream::new()) };
    let operator = Ident::new(schema.name.base(), method.span);
    let name = method.name.as_ref().unwrap_or(&operator);
    let (own, in_place_own) = numbers_of(item, method, schema)?;
    let functional = Call { item, method, types, overload: &item.name, for_number: own.as_ref(), schema };
    let mut methods = functional.methods(name, "", &documentation(item, schema))?;
    if let Some(form) = forms.iter().find(|form| form.is_in_place) {
        let in_place = Call {
            overload: &form.name,
            for_number: in_place_own.as_ref(),
            schema: &form.schema,
            ..functional
        };
        let text = format!(" Writes the result of [`{name}`](Self::{name}) to this tensor.");
        methods.extend(in_place.methods(name, "_", &quote!(#[doc = #text]))?);
    }
    Ok(methods)
}

/// The overloads that are called for a number: for the overload of the item, and for its in-place form.
fn numbers_of(
    item: &Item,
    method: &Method,
    schema: &FunctionSchema,
) -> Result<(Option<Ident>, Option<Ident>)> {
    let Some(for_number) = &method.for_number else { return Ok((None, None)) };
    let in_place = match &for_number.in_place {
        Some(in_place) => Some(in_place.clone()),
        None if item.forms.iter().any(|form| form.word() == "in_place") => {
            let base = item.alias_of.as_deref().unwrap_or(schema.name.base());
            let at_overload = |message| Error::new(for_number.overload.span(), message);
            Some(forms::in_place_name(&for_number.overload, base).map_err(at_overload)?)
        }
        None => None,
    };
    Ok((Some(for_number.overload.clone()), in_place))
}

/// An overload as its methods call it.
#[derive(Clone, Copy)]
struct Call<'a> {
    item: &'a Item,
    method: &'a Method,
    types: &'a Types<'a>,
    overload: &'a Ident,
    /// What is called instead if the last tensor is a number.
    for_number: Option<&'a Ident>,
    schema: &'a FunctionSchema,
}

/// A parameter of a method, and how its value becomes an argument of the call.
struct Parameter {
    name: Ident,
    rust_type: TokenStream,
    /// What the value is converted by before the call.
    conversion: Option<TokenStream>,
    argument: TokenStream,
    has_lifetime: bool,
}

impl Call<'_> {
    /// The method with the usual arguments, and the one with all of them if these are more.
    fn methods(&self, name: &Ident, suffix: &str, documentation: &TokenStream) -> Result<TokenStream> {
        let is_receiver = |argument: &Argument| argument.name == "self" && argument.real_type == Type::Tensor;
        if !self.schema.arguments.iter().any(is_receiver) {
            return Err(self.error(format!(
                "a method is called on the argument `Tensor self`, which `{}` does not have; write a free \
                 function instead",
                self.schema.name
            )));
        }
        let left_out = self.left_out()?;
        let short = Ident::new(&format!("{name}{suffix}"), name.span());
        if left_out.is_empty() {
            return self.method(&short, &[], documentation);
        }
        let long = Ident::new(&format!("{name}_with{suffix}"), name.span());
        let defaults = left_out.iter().map(|argument| format!("`{argument}`")).collect::<Vec<_>>().join(", ");
        let text = format!("\n Not taken here: {defaults}. [`{long}`](Self::{long}) takes all arguments.");
        let about_all = format!(" Calls [`{short}`](Self::{short}) with all arguments of the schema.");
        let mut methods = self.method(&short, &left_out, &quote!(#documentation #[doc = #text]))?;
        methods.extend(self.method(&long, &[], &quote!(#[doc = #about_all]))?);
        Ok(methods)
    }

    /// The arguments that the short method leaves at their defaults: those that the item does not list, or without a list
    /// those that are passed by name and have a default.
    fn left_out(&self) -> Result<Vec<&Argument>> {
        let own = self.schema.arguments.iter().filter(|argument| argument.name != "self");
        let Some(taken) = &self.method.arguments else {
            return Ok(own.filter(|argument| argument.kwarg_only && argument.default.is_some()).collect());
        };
        if let Some(other) = taken.iter().find(|name| !own.clone().any(|argument| **name == argument.name)) {
            let message = format!("`{}` has no argument `{other}`", self.schema.name);
            return Err(Error::new(other.span(), message));
        }
        let left_out: Vec<_> =
            own.filter(|argument| !taken.iter().any(|name| *name == argument.name)).collect();
        if let Some(required) = left_out.iter().find(|argument| argument.default.is_none()) {
            let message = format!("argument `{}` has no default; name it among the arguments", required.name);
            return Err(self.error(message));
        }
        Ok(left_out)
    }

    /// One method.
    fn method(
        &self,
        name: &Ident,
        left_out: &[&Argument],
        documentation: &TokenStream,
    ) -> Result<TokenStream> {
        let last_tensor = self.for_number.and_then(|_| {
            let is_tensor =
                |argument: &&Argument| argument.name != "self" && argument.real_type == Type::Tensor;
            self.schema.arguments.iter().rfind(is_tensor)
        });
        if self.for_number.is_some() && last_tensor.is_none() {
            return Err(self.error(format!(
                "`{}` has no second tensor that a number could stand for",
                self.schema.name
            )));
        }
        let (mut parameters, mut arguments, mut tensor_or_number) = (Vec::new(), Vec::new(), None);
        for argument in &self.schema.arguments {
            if argument.name == "self" && argument.real_type == Type::Tensor {
                arguments.push(quote!(self));
            } else if left_out.iter().any(|left_out| left_out.name == argument.name) {
                arguments.push(self.default_value(argument)?);
            } else {
                let is_last_tensor = last_tensor.is_some_and(|last| last.name == argument.name);
                let parameter = self.parameter(argument, is_last_tensor)?;
                if is_last_tensor {
                    tensor_or_number = Some(parameter.name.clone());
                }
                arguments.push(parameter.argument.clone());
                parameters.push(parameter);
            }
        }
        let conversions = parameters.iter().filter_map(|parameter| {
            let (name, conversion) = (&parameter.name, parameter.conversion.as_ref()?);
            Some(quote!(let #name = #conversion;))
        });
        let (core, visibility, overload) = (self.types.core, &self.item.visibility, self.overload);
        let returns = returns(self.schema, self.types).map_err(|message| self.error(message))?;
        let is_write = self.schema.arguments.first().is_some_and(Argument::is_write);
        let (output, given_back) = if is_write {
            (quote!(&Self), quote!(.map(|()| self)))
        } else {
            (returns.output, TokenStream::new())
        };
        let call = match (tensor_or_number, self.for_number) {
            (Some(operand), Some(for_number)) => quote! {
                match #operand {
                    #core::conversions::TensorOrNumber::Tensor(#operand) => #overload.call(#(#arguments),*)#given_back,
                    #core::conversions::TensorOrNumber::Number(#operand) => #for_number.call(#(#arguments),*)#given_back,
                }
            },
            _ => quote!(#overload.call(#(#arguments),*)#given_back),
        };
        let errors = format!("\n # Errors\n\n Those of [`{overload}`].");
        let lifetime = parameters.iter().any(|parameter| parameter.has_lifetime).then(|| quote!(<'a>));
        let parameters = parameters.iter().map(|Parameter { name, rust_type, .. }| quote!(#name: #rust_type));
        let on_all = self.item.attributes_named(&["cfg", "allow"]);
        Ok(quote! {
            #documentation
            #[doc = #errors]
            #(#on_all)*
            #[allow(clippy::too_many_arguments)]
            #visibility fn #name #lifetime(&self, #(#parameters),*) -> #core::Result<#output> {
                #(#conversions)*
                #call
            }
        })
    }

    fn parameter(&self, argument: &Argument, is_tensor_or_number: bool) -> Result<Parameter> {
        let no_type = || self.error(format!("argument `{}` has no type in Rust", argument.name));
        let given = self.types.rust(&argument.real_type).ok_or_else(no_type)?.parameter;
        let name = Ident::new(&rust_name(&argument.name), self.types.span);
        let (core, tensor) = (self.types.core, self.types.in_scope("Tensor"));
        let conversions = quote!(#core::conversions);
        let into = quote!(::core::convert::Into);
        let option = quote!(::std::option::Option);
        let own = quote!(#name);
        let as_is = |rust_type| (rust_type, None, own.clone(), false);
        let converted =
            |rust_type, by: TokenStream| (rust_type, Some(quote!(#by(#name))), own.clone(), false);
        let list = |rust_type, by: TokenStream, element: TokenStream| {
            let slice = quote!(::core::convert::AsRef::<[#element]>::as_ref(&#name));
            (rust_type, Some(quote!(#by(#name))), slice, false)
        };
        let borrowed = |rust_type| (rust_type, Some(quote!(#into::into(#name))), own.clone(), true);
        let is_integer = |schema_type: &Type| matches!(schema_type, Type::Int | Type::SymInt);
        let (rust_type, conversion, value, has_lifetime) = match &argument.real_type {
            Type::Tensor if is_tensor_or_number => {
                borrowed(quote!(impl #into<#conversions::TensorOrNumber<'a, #tensor>>))
            }
            Type::Scalar => converted(quote!(impl #into<#given>), quote!(#into::into)),
            Type::Int | Type::SymInt => {
                converted(quote!(impl #conversions::Integer), quote!(#conversions::Integer::to_i64))
            }
            Type::List(inner) if is_integer(inner) => list(
                quote!(impl #conversions::IntList),
                quote!(#conversions::IntList::into_list),
                quote!(i64),
            ),
            Type::List(inner) if **inner == Type::Tensor => list(
                quote!(impl #conversions::TensorList<#tensor>),
                quote!(#conversions::TensorList::<#tensor>::into_list),
                tensor,
            ),
            Type::Optional(inner) => match &**inner {
                inner if is_integer(inner) => converted(
                    quote!(impl #conversions::OptionalInteger),
                    quote!(#conversions::OptionalInteger::to_option),
                ),
                Type::Scalar => converted(
                    quote!(impl #conversions::OptionalNumber),
                    quote!(#conversions::OptionalNumber::to_option),
                ),
                Type::List(inner) if is_integer(inner) => {
                    let (rust_type, conversion, slice, _) = list(
                        quote!(impl #conversions::IntList),
                        quote!(#conversions::IntList::into_list),
                        quote!(i64),
                    );
                    (rust_type, conversion, quote!(#option::Some(#slice)), false)
                }
                Type::Tensor => borrowed(quote!(impl #into<#option<&'a #tensor>>)),
                Type::Str => borrowed(quote!(impl #into<#option<&'a str>>)),
                Type::Float
                | Type::Bool
                | Type::ScalarType
                | Type::Device
                | Type::Layout
                | Type::MemoryFormat => converted(quote!(impl #into<#given>), quote!(#into::into)),
                _ => as_is(given),
            },
            _ => as_is(given),
        };
        Ok(Parameter { name, rust_type, conversion, argument: value, has_lifetime })
    }

    /// The default of an argument as the call takes it.
    fn default_value(&self, argument: &Argument) -> Result<TokenStream> {
        let core = self.types.core;
        let value = argument.default.as_ref().and_then(|default| {
            Some(match (&argument.real_type, default) {
                (Type::Optional(_), Constant::None) => quote!(::std::option::Option::None),
                (Type::Scalar, Constant::Int(value)) => quote!(#core::Scalar::Int(#value)),
                (Type::Scalar, Constant::Float(value)) => quote!(#core::Scalar::Float(#value)),
                (Type::Int | Type::SymInt, Constant::Int(value)) => quote!(#value),
                (Type::Float, Constant::Float(value)) => quote!(#value),
                (Type::Float, Constant::Int(value)) => {
                    let value = Literal::f64_suffixed(*value as f64);
                    quote!(#value)
                }
                (Type::Bool, Constant::Bool(value)) => quote!(#value),
                (Type::Str, Constant::Str(value)) => quote!(#value),
                (Type::MemoryFormat, Constant::Int(0)) => quote!(#core::MemoryFormat::Contiguous),
                (Type::List(_), Constant::List(values)) if values.is_empty() => quote!(&[]),
                _ => return None,
            })
        });
        value.ok_or_else(|| {
            self.error(format!(
                "the default of `{argument}` has no form in Rust here; name it among the arguments of the method"
            ))
        })
    }

    fn error(&self, message: String) -> Error {
        Error::new(self.method.span, message)
    }
}

/// The documentation of the item, or its schema.
fn documentation(item: &Item, schema: &FunctionSchema) -> TokenStream {
    let own = item.attributes_named(&["doc"]);
    let text = format!(" Calls `{}`.", schema.name);
    if own.is_empty() { quote!(#[doc = #text]) } else { quote!(#(#own)*) }
}
