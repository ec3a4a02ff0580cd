//! The forms of an overload that write the result: their names and schemas.

use opgrid_schema::FunctionSchema;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use crate::items::{Error, Form, FormKind, Item, Result};
use crate::literal::string_value;

/// A form with what follows from the functional overload.
pub(crate) struct FormOf {
    pub(crate) name: Ident,
    pub(crate) schema: FunctionSchema,
    is_in_place: bool,
}

impl FormOf {
    /// The constant of the functional overload that holds the form's schema.
    pub(crate) fn constant(&self) -> TokenStream {
        let text = format!("{:#}", self.schema);
        let name = if self.is_in_place { quote!(IN_PLACE) } else { quote!(OUT) };
        quote!(const #name: ::core::option::Option<&'static str> = ::core::option::Option::Some(#text);)
    }
}

/// The forms that stand behind an item's schema.
pub(crate) fn of(item: &Item, schema: &FunctionSchema) -> Result<Vec<FormOf>> {
    item.forms.iter().map(|form| of_one(item, schema, form)).collect()
}

fn of_one(item: &Item, functional: &FunctionSchema, form: &Form) -> Result<FormOf> {
    let operator = camel_case(functional.name.base());
    let own = item.name.to_string();
    let Some(rest) = own.strip_prefix(&operator) else {
        let message = format!(
            "the type of a form is named after the operator, but `{own}` does not begin with `{operator}`; rename it, or \
             declare the form as an overload of its own"
        );
        return Err(Error::new(form.span, message));
    };
    let at_form = |message: String| Error::new(form.span, message);
    let (schema, name) = match &form.kind {
        FormKind::InPlace => {
            (functional.in_place_form().map_err(at_form)?, format_ident!("{operator}Inplace{rest}"))
        }
        FormKind::Out(overload) => {
            let overload = match overload {
                Some(literal) => Some(string_value(literal).ok_or_else(|| {
                    at_form(format!("expected the overload's name as a string but found `{literal}`"))
                })?),
                None => None,
            };
            let schema = functional.out_form(overload.as_deref()).map_err(at_form)?;
            let name = format_ident!("{operator}{}", camel_case(&schema.name.overload));
            (schema, name)
        }
    };
    let name = Ident::new(&name.to_string(), item.name.span());
    Ok(FormOf { name, schema, is_in_place: matches!(form.kind, FormKind::InPlace) })
}

/// `logical_not` as `LogicalNot`.
fn camel_case(name: &str) -> String {
    let words = name.split('_').filter(|word| !word.is_empty());
    words
        .map(|word| {
            let mut letters = word.chars();
            letters
                .next()
                .map(|first| first.to_uppercase().chain(letters).collect::<String>())
                .unwrap_or_default()
        })
        .collect()
}
