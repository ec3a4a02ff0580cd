//! The forms of an overload that write the result: their names and schemas.

use opgrid_schema::FunctionSchema;
use proc_macro2::{Ident, TokenStream};
use quote::quote;

use crate::items::{Error, Form, FormKind, Item, Result};
use crate::literal::string_value;

/// A form with what follows from the functional overload.
pub(crate) struct FormOf {
    pub(crate) name: Ident,
    pub(crate) schema: FunctionSchema,
    pub(crate) is_in_place: bool,
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
    let given = match &form.kind {
        FormKind::InPlace(Some(literal)) | FormKind::Out(Some(literal), _) => {
            let unexpected =
                || at_form(format!("expected the overload's name as a string but found `{literal}`"));
            Some(string_value(literal).ok_or_else(unexpected)?)
        }
        FormKind::InPlace(None) | FormKind::Out(None, _) => None,
    };
    let is_in_place = matches!(form.kind, FormKind::InPlace(_));
    let schema = match &form.kind {
        FormKind::InPlace(_) => functional.in_place_form(given.as_deref()),
        FormKind::Out(_, outputs) => {
            let outputs: Vec<String> = outputs.iter().map(Ident::to_string).collect();
            let outputs: Vec<&str> = outputs.iter().map(String::as_str).collect();
            functional.out_form(given.as_deref(), &outputs)
        }
    };
    let schema = schema.map_err(at_form)?;
    let overload = camel_case(&schema.name.overload);
    let name = match (is_in_place, given) {
        (true, None) => format!("{operator}Inplace{rest}"),
        (true, Some(_)) => format!("{operator}Inplace{overload}"),
        // What stands behind the operator's name, where the overload has none, tells it from another operator.
        (false, _) if functional.name.overload.is_empty() => format!("{own}{overload}"),
        (false, _) => format!("{operator}{overload}"),
    };
    Ok(FormOf { name: Ident::new(&name, item.name.span()), schema, is_in_place })
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
