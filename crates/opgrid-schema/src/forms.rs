//! The schemas of the overloads that compute the same as a functional one and write the result.

use crate::{AliasInfo, Argument, FunctionSchema, OperatorName, Type};

/// What an operator that makes a tensor of nothing is told about it.
const OPTIONS: [&str; 4] = ["dtype", "layout", "device", "pin_memory"];

impl FunctionSchema {
    /// The schema of the in-place form by torch's rule: an underscore behind the name, and the first argument is
    /// written and returned; a list of tensors is written and not returned. Without an overload name it is that of the
    /// functional form.
    ///
    /// # Errors
    ///
    /// A message, where the rule does not apply: the schema writes something already, its first argument belongs to a view or
    /// is neither a tensor nor a list of them as the result is, or it does not return one new tensor or list.
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_schema::FunctionSchema;
    ///
    /// let add = FunctionSchema::parse("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor")?;
    /// assert_eq!(
    ///     add.in_place_form(None).unwrap().to_string(),
    ///     "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)"
    /// );
    /// # Ok::<(), opgrid_schema::ParseError>(())
    /// ```
    pub fn in_place_form(&self, overload: Option<&str>) -> Result<Self, String> {
        self.check_functional()?;
        let [returned] = self.returns.as_slice() else {
            return Err(format!("{}: only an operator with one result has an in-place form", self.name));
        };
        let mut arguments = self.arguments.clone();
        let returns = match arguments.first_mut() {
            Some(first) if first.real_type == returned.real_type && !first.kwarg_only => {
                first.alias = written("a", &first.real_type);
                written_returns(vec![Argument { alias: first.alias.clone(), ..returned.clone() }])
            }
            _ => {
                return Err(format!(
                    "{}: only an operator whose first argument is {} has an in-place form",
                    self.name,
                    if is_list(returned) { "a list of tensors, as its result is," } else { "a tensor" }
                ));
            }
        };
        let overload = overload.unwrap_or(&self.name.overload);
        let name = OperatorName::new(format!("{}_", self.name.name), overload);
        Ok(Self { name, arguments, returns, ..self.clone() })
    }

    /// The schema of the `out` form: the same arguments with a keyword-only output behind them for each result, which is
    /// written and returned; a list of tensors is written and not returned. The options of an operator that makes a tensor of nothing (dtype, layout, device and pinned
    /// memory) are left out, for the output has them.
    ///
    /// Without an overload name, it is torch's: `out` beside an operator without one, else `NAME_out`. Without `outputs`, the
    /// name of a single one is `out`; several have the names of the results, or `out0`, `out1`, ….
    ///
    /// # Errors
    ///
    /// A message, where the rule does not apply: the schema writes something already, has an argument of an output's name,
    /// does not return new tensors or lists of them only, or returns others than `outputs` names.
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_schema::FunctionSchema;
    ///
    /// let ge = FunctionSchema::parse("aten::ge.Tensor(Tensor self, Tensor other) -> Tensor")?;
    /// assert_eq!(
    ///     ge.out_form(None, &[]).unwrap().to_string(),
    ///     "aten::ge.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)"
    /// );
    /// let mode = FunctionSchema::parse("t::mode(Tensor self) -> (Tensor values, Tensor indices)")?;
    /// assert_eq!(
    ///     mode.out_form(Some("values"), &[]).unwrap().to_string(),
    ///     "t::mode.values(Tensor self, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) indices)"
    /// );
    /// # Ok::<(), opgrid_schema::ParseError>(())
    /// ```
    pub fn out_form(&self, overload: Option<&str>, outputs: &[&str]) -> Result<Self, String> {
        self.check_functional()?;
        let names = match outputs {
            [] => self.output_names(),
            _ => outputs.iter().map(ToString::to_string).collect(),
        };
        if names.len() != self.returns.len() {
            return Err(format!(
                "{}: expected a name for each of the {} results, found {}",
                self.name,
                self.returns.len(),
                names.len()
            ));
        }
        if let Some(name) = names.iter().find(|name| self.argument_index(name).is_some()) {
            return Err(format!("{}: there is an argument `{name}` already", self.name));
        }
        let mut arguments = self.arguments.clone();
        if let Some(start) = arguments.windows(OPTIONS.len()).position(is_options) {
            arguments.drain(start..start + OPTIONS.len());
        }
        let mut returns = self.returns.clone();
        for (letter, (name, returned)) in ('a'..='z').zip(names.into_iter().zip(&mut returns)) {
            let mut output = Argument::new(name, returned.real_type.clone());
            (output.kwarg_only, output.alias) = (true, written(&letter.to_string(), &returned.real_type));
            returned.alias.clone_from(&output.alias);
            arguments.push(output);
        }
        let returns = written_returns(returns);
        let overload = match (overload, self.name.overload.as_str()) {
            (Some(given), _) => given.to_owned(),
            (None, "") => "out".to_owned(),
            (None, own) => format!("{own}_out"),
        };
        Ok(Self { name: OperatorName::new(&self.name.name, overload), arguments, returns, ..self.clone() })
    }

    /// What outputs are called where nobody says it.
    fn output_names(&self) -> Vec<String> {
        let name_of = |(place, returned): (usize, &Argument)| match returned.name.as_str() {
            "" => format!("out{place}"),
            name => name.to_owned(),
        };
        match self.returns.as_slice() {
            [_] => vec!["out".to_owned()],
            several => several.iter().enumerate().map(name_of).collect(),
        }
    }

    fn check_functional(&self) -> Result<(), String> {
        let is_new = |returned: &Argument| {
            (returned.real_type == Type::Tensor || is_list(returned)) && returned.alias.is_none()
        };
        let is_plain = self.arguments.iter().all(|argument| argument.alias.is_none());
        if !self.returns.is_empty() && is_plain && self.returns.iter().all(is_new) {
            Ok(())
        } else {
            Err(format!(
                "{}: only an operator that writes nothing and returns new tensors, or lists of them, has forms that write; its schema is {self}",
                self.name
            ))
        }
    }
}

/// Whether it is a list of tensors.
fn is_list(argument: &Argument) -> bool {
    argument.real_type == Type::List(Box::new(Type::Tensor))
}

/// The annotation of a value that is written: a tensor, or the tensors of a list.
fn written(set: &str, real_type: &Type) -> Option<AliasInfo> {
    let tensor = AliasInfo::new(set, true);
    match real_type {
        Type::List(_) => AliasInfo::enclose(Some(tensor), None),
        _ => Some(tensor),
    }
}

/// What is returned of values that are written: tensors, but no lists.
fn written_returns(mut returns: Vec<Argument>) -> Vec<Argument> {
    returns.retain(|returned| !is_list(returned));
    returns
}

/// Whether arguments are the options of a new tensor, all of them.
fn is_options(arguments: &[Argument]) -> bool {
    arguments.iter().zip(OPTIONS).all(|(argument, name)| argument.name == name)
}
