//! The schemas of the overloads that compute the same as a functional one and write the result.

use crate::{AliasInfo, Argument, FunctionSchema, OperatorName, Type};

/// What an operator that makes a tensor of nothing is told about it.
const OPTIONS: [&str; 4] = ["dtype", "layout", "device", "pin_memory"];

impl FunctionSchema {
    /// The schema of the in-place form by torch's rule: an underscore behind the name, and the first argument is
    /// written and returned. Without an overload name it is that of the functional form.
    ///
    /// # Errors
    ///
    /// A message, where the rule does not apply: the schema writes something already, its first argument is no tensor
    /// or belongs to a view, or it does not return one new tensor.
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
        let mut arguments = self.arguments.clone();
        match arguments.first_mut() {
            Some(first) if first.real_type == Type::Tensor && !first.kwarg_only => {
                first.alias = Some(AliasInfo::new("a", true));
            }
            _ => {
                return Err(format!(
                    "{}: only an operator whose first argument is a tensor has an in-place form",
                    self.name
                ));
            }
        }
        let overload = overload.unwrap_or(&self.name.overload);
        let name = OperatorName::new(format!("{}_", self.name.name), overload);
        Ok(self.writing(name, arguments))
    }

    /// The schema of the `out` form: the same arguments with a keyword-only `out` behind them, which is written and
    /// returned. The options of an operator that makes a tensor of nothing (dtype, layout, device and pinned memory) are
    /// left out, for the output has them. Without an overload name, it is torch's: `out` beside an operator without one,
    /// else `NAME_out`.
    ///
    /// # Errors
    ///
    /// A message, where the rule does not apply: the schema writes something already, has an argument `out`, or does not
    /// return one new tensor.
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_schema::FunctionSchema;
    ///
    /// let ge = FunctionSchema::parse("aten::ge.Tensor(Tensor self, Tensor other) -> Tensor")?;
    /// assert_eq!(
    ///     ge.out_form(None).unwrap().to_string(),
    ///     "aten::ge.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)"
    /// );
    /// # Ok::<(), opgrid_schema::ParseError>(())
    /// ```
    pub fn out_form(&self, overload: Option<&str>) -> Result<Self, String> {
        self.check_functional()?;
        if self.argument_index("out").is_some() {
            return Err(format!("{}: there is an argument `out` already", self.name));
        }
        let mut arguments = self.arguments.clone();
        if let Some(start) = arguments.windows(OPTIONS.len()).position(is_options) {
            arguments.drain(start..start + OPTIONS.len());
        }
        let mut out = Argument::new("out", Type::Tensor);
        (out.kwarg_only, out.alias) = (true, Some(AliasInfo::new("a", true)));
        arguments.push(out);
        let overload = match (overload, self.name.overload.as_str()) {
            (Some(given), _) => given.to_owned(),
            (None, "") => "out".to_owned(),
            (None, own) => format!("{own}_out"),
        };
        Ok(self.writing(OperatorName::new(&self.name.name, overload), arguments))
    }

    fn check_functional(&self) -> Result<(), String> {
        let is_plain = self.arguments.iter().all(|argument| argument.alias.is_none());
        match self.returns.as_slice() {
            [single] if is_plain && single.real_type == Type::Tensor && single.alias.is_none() => Ok(()),
            _ => Err(format!(
                "{}: only an operator that writes nothing and returns one new tensor has forms that write; its schema \
                 is {self}",
                self.name
            )),
        }
    }

    fn writing(&self, name: OperatorName, arguments: Vec<Argument>) -> Self {
        let mut written = Argument::new("", Type::Tensor);
        written.alias = Some(AliasInfo::new("a", true));
        Self { name, arguments, returns: vec![written], ..self.clone() }
    }
}

/// Whether arguments are the options of a new tensor, all of them.
fn is_options(arguments: &[Argument]) -> bool {
    arguments.iter().zip(OPTIONS).all(|(argument, name)| argument.name == name)
}
