//! Runs programs on our dispatcher and answers as the driver does.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use opgrid_core::{
    DispatchKey, DispatchKeySet, Dispatcher, Error, ErrorKind, ExcludeGuard, ForceGuard, IncludeGuard,
    Kernel, LegacyOptions, LocalKeys, OperatorHandle, Override, Registration, Returns, Rules, Value,
};
use opgrid_schema::{Declaration, FunctionSchema, ParseOptions, Type};

use super::calls::{Tensors, Way, arguments_of, find, hex, keys_of, outermost};
use super::kernels::{SIGNATURES, Sees, Task, boxed};
use super::program::{Block, Call, Guard, Item, KernelSpec, Kind, Legacy, Name, Sort, Step, What};

/// The fields of an answer; the first is `ok` or `err`.
pub type Answer = Vec<String>;

/// Our side of the comparison.
pub struct Ours {
    dispatcher: Dispatcher,
    registrations: HashMap<usize, Registration>,
    overrides: Arc<Mutex<Vec<Override>>>,
    classes: Arc<Vec<String>>,
}

type Fields = Result<Vec<String>, Error>;

impl Ours {
    /// A dispatcher with torch's fallbacks that resolves by these rules. `classes` are the custom classes that
    /// schemas may name.
    pub fn new(rules: Rules, classes: Arc<Vec<String>>) -> Self {
        let dispatcher = Dispatcher::with_reference_fallbacks_and_rules(rules);
        let overrides = Arc::new(Mutex::new(Vec::new()));
        let noted = overrides.clone();
        dispatcher.on_override(move |replaced| {
            noted.lock().expect("nobody panics while noting").push(replaced.clone());
        });
        Self { dispatcher, registrations: HashMap::new(), overrides, classes }
    }

    /// Does one step.
    pub fn run(&mut self, step: &Step) -> Answer {
        self.overrides.lock().expect("nobody panics while noting").clear();
        let fields = match step {
            Step::Block(block) => self.block(block),
            Step::Legacy(legacy) => self.legacy(legacy),
            Step::Drop(number) => {
                self.registrations.remove(number);
                Ok(Vec::new())
            }
            Step::Clear => {
                self.registrations.clear();
                Ok(Vec::new())
            }
            Step::Look(name) => self.look(name),
            Step::Call(call) => self.call(call),
            Step::Set(a, b, key) => Ok(set(*a, *b, *key)),
            Step::Key(key) => Ok(describe(*key)),
            Step::KeyName(name) => name.parse::<DispatchKey>().map(|key| vec![value_of_key(key)]),
            Step::Parse(text) => self.parse(text),
        };
        match fields {
            Ok(fields) => std::iter::once("ok".to_owned()).chain(fields).collect(),
            Err(error) => vec!["err".to_owned(), error.message().to_owned()],
        }
    }

    /// Undoes a step that the other side refused.
    pub fn forget(&mut self, step: &Step) {
        if let Step::Block(Block { number, .. }) | Step::Legacy(Legacy { number, .. }) = step {
            self.registrations.remove(number);
        }
    }

    fn noted_overrides(&self) -> Vec<String> {
        let noted = self.overrides.lock().expect("nobody panics while noting");
        noted.iter().map(Override::to_string).collect()
    }

    fn block(&mut self, block: &Block) -> Fields {
        let mut library = match block.kind {
            Kind::Library => self.dispatcher.library(&block.namespace),
            Kind::Fragment => self.dispatcher.fragment(&block.namespace),
            Kind::Implementations => self.dispatcher.implementations(&block.namespace, block.key),
        };
        // Kernels may replace others, as in torch; fallbacks may not.
        if block.items.iter().all(|item| item.what != What::Fallback) {
            library.allow_override();
        }
        for item in &block.items {
            register(&mut library, block, item);
        }
        let registration = library.finish()?;
        if !block.is_transient {
            self.registrations.insert(block.number, registration);
        }
        Ok(self.noted_overrides())
    }

    fn legacy(&mut self, legacy: &Legacy) -> Fields {
        let mut options = LegacyOptions::new();
        if let Some(schema) = &legacy.schema {
            options = options.schema(schema);
        }
        if let Some(alias) = legacy.alias {
            options = options.alias_analysis(alias);
        }
        for spec in &legacy.kernels {
            let kernel = match spec.sort {
                Sort::Typed(signature) => (SIGNATURES[signature].make)(task_of(spec, Sees::Arguments)),
                Sort::Boxed | Sort::Fallthrough => {
                    boxed(Task { number: 0, sees: Sees::Arguments, callee: None })
                }
            };
            options = match spec.key {
                Some(key) => options.kernel(key, kernel),
                None => options.catch_all(kernel),
            };
        }
        let text = legacy.text.as_deref().unwrap_or_default();
        let registration = self.dispatcher.register(text, options)?;
        self.registrations.insert(legacy.number, registration);
        Ok(self.noted_overrides())
    }

    fn find(&self, (name, overload): &Name) -> Option<OperatorHandle> {
        find(&self.dispatcher, name, overload)
    }

    fn look(&self, name: &Name) -> Fields {
        let Some(operator) = self.find(name) else { return Ok(vec![flag(false)]) };
        let keeps_invariants = operator.check_invariants().is_ok();
        Ok(vec![
            flag(true),
            flag(operator.has_schema()),
            flag(keeps_invariants),
            operator.dump_state()?,
            operator.dump_computed_table()?,
            operator.dump_extractor()?,
            masks(&operator)?,
        ])
    }

    fn call(&self, call: &Call) -> Fields {
        let none = || Ok(vec!["none".to_owned()]);
        let Some(operator) = self.find(&call.name) else { return none() };
        let mut tensors = Tensors::new(&call.tensors);
        let Ok(args) = arguments_of(&operator, &mut tensors) else { return none() };
        let args: Vec<_> = args.iter().map(Value::borrow).collect();
        under(&call.guards, &mut || {
            let mut returns = Returns::default();
            let keys = if call.is_plain { keys_of(&operator, &args)? } else { tensors.needed().keys() };
            let way = Way::for_operator(&operator, keys)?;
            let mut fields = vec![hex(keys), keys.torch_column().to_string()];
            fields.extend([keys.highest_priority_key().to_string(), way.lines]);
            if way.is_left_alone {
                fields.push("fallback".to_owned());
                return Ok(fields);
            }
            let (result, ran, inner) = outermost(&call.tensors, || {
                if call.is_plain {
                    operator.call_boxed(&args, &mut returns)
                } else {
                    operator.redispatch_boxed(keys, &args, &mut returns)
                }
            });
            match (result, ran) {
                (_, Some((number, keys))) => {
                    fields.extend(["ran".to_owned(), number.to_string(), hex(keys)]);
                    fields.extend(inner);
                }
                (Ok(()), None) => fields.push("nothing".to_owned()),
                (Err(error), None) => fields.extend(["error".to_owned(), error.message().to_owned()]),
            }
            Ok(fields)
        })
    }

    fn parse(&self, text: &str) -> Fields {
        let is_class = |name: &str| self.classes.iter().any(|known| known == name);
        let options = ParseOptions { custom_class: Some(&is_class), ..ParseOptions::default() };
        match Declaration::parse_with(text, &options) {
            Ok(Declaration::Schema(schema)) => Ok(vec![schema.to_string()]),
            Ok(Declaration::Name(name)) => Ok(vec![name.to_string()]),
            Err(error) => Err(Error::new(ErrorKind::Schema, error.to_string())),
        }
    }
}

/// The keys that an operator does not fall through, for each backend.
fn masks(operator: &OperatorHandle) -> Result<String, Error> {
    let _guard =
        ForceGuard::new(LocalKeys { included: DispatchKeySet::EMPTY, excluded: DispatchKeySet::EMPTY });
    let layers = DispatchKeySet::FULL.to_torch_bits() & !0xffff;
    let mut masks = String::new();
    for backend in 0..16 {
        let kept = operator.effective_keys(DispatchKeySet::from_torch_bits(layers | 1 << backend)?)?;
        masks += &hex(kept);
        masks.push(' ');
    }
    Ok(masks)
}

fn register(library: &mut opgrid_core::Library, block: &Block, item: &Item) {
    let kernel = item.kernel.as_ref().map(|spec| kernel_of(spec, block));
    match (item.what, kernel) {
        (What::Fallback, Some(kernel)) => {
            library.fallback(kernel);
        }
        (What::Implement, Some(kernel)) => {
            library.implement(item.text.as_str()).add(kernel);
        }
        (What::Define, Some(kernel)) if is_name(&item.text) => {
            let _ = library.define_inferred(&item.text, kernel).describe(&block.debug());
        }
        (What::Define, kernel) => {
            let mut operators = library.define(item.text.as_str()).describe(&block.debug());
            if item.alias.is_some() {
                operators = operators.alias_analysis(item.alias);
            }
            if let Some(kernel) = kernel {
                let _ = operators.add(kernel);
            }
        }
        (What::Fallback | What::Implement, None) => unreachable!("only definitions come without a kernel"),
    }
}

/// Whether a text is an operator's name and no schema.
fn is_name(text: &str) -> bool {
    matches!(Declaration::parse(text), Ok(Declaration::Name(_)))
}

fn kernel_of(spec: &KernelSpec, block: &Block) -> Kernel {
    let mut kernel = match spec.sort {
        Sort::Typed(signature) => (SIGNATURES[signature].make)(task_of(spec, Sees::Keys)),
        Sort::Boxed => boxed(task_of(spec, Sees::Keys)),
        Sort::Fallthrough => Kernel::fallthrough(),
    };
    if let Some(key) = spec.key {
        kernel = kernel.at(key);
    }
    match spec.debug() {
        Some(text) => kernel.describe(&text),
        None if block.is_placed => kernel.describe(&block.debug()),
        None => kernel,
    }
}

fn task_of(spec: &KernelSpec, sees: Sees) -> Task {
    Task { number: spec.number, sees, callee: spec.callee.clone() }
}

fn flag(flag: bool) -> String {
    u8::from(flag).to_string()
}

fn value_of_key(key: DispatchKey) -> String {
    key.torch_value().map_or_else(|| "-".to_owned(), |value| value.to_string())
}

/// Runs `body` under guards.
fn under(guards: &[Guard], body: &mut dyn FnMut() -> Fields) -> Fields {
    let Some((first, rest)) = guards.split_first() else { return body() };
    match *first {
        Guard::Include(keys) => {
            let _guard = IncludeGuard::new(keys);
            under(rest, body)
        }
        Guard::Exclude(keys) => {
            let _guard = ExcludeGuard::new(keys);
            under(rest, body)
        }
        Guard::Force(included, excluded) => {
            let _guard = ForceGuard::new(LocalKeys { included, excluded });
            under(rest, body)
        }
    }
}

fn set(a: DispatchKeySet, b: DispatchKeySet, key: DispatchKey) -> Vec<String> {
    let backend = a.highest_backend().and_then(|backend| backend.torch_index()).map_or(0, |index| index + 1);
    vec![
        hex(a | b),
        hex(a & b),
        hex(a ^ b),
        hex(a - b),
        hex(a.add(key)),
        hex(a.remove(key)),
        flag(a.has_all(b)),
        flag(a.has_any(b)),
        flag(a.contains(key)),
        flag(a & b == b),
        flag(a == b),
        flag(a.is_empty()),
        a.highest_priority_key().to_string(),
        backend.to_string(),
        a.torch_backend_index().to_string(),
        a.torch_column().to_string(),
        a.to_string(),
    ]
}

fn describe(key: DispatchKey) -> Vec<String> {
    let backend = key.backend().and_then(|backend| backend.torch_index()).map_or(0, |index| index + 1);
    vec![
        key.to_string(),
        hex(key.key_set()),
        value_of_key(DispatchKey::of_functionality(key.functionality())),
        backend.to_string(),
        flag(key.is_alias()),
        hex(key.backends_of_autograd()),
        hex(key.runtime_set().unwrap_or(DispatchKeySet::EMPTY)),
        hex(DispatchKeySet::full_after(key)),
    ]
}

/// The custom classes that schemas name.
pub fn classes_of(schemas: &[String]) -> Vec<String> {
    fn collect(of: &Type, classes: &mut Vec<String>) {
        match of {
            Type::Class(name) => {
                classes.push(name.trim_start_matches("__torch__.torch.classes.").to_owned());
            }
            Type::Optional(inner) | Type::List(inner) => collect(inner, classes),
            _ => {}
        }
    }
    let mut classes = Vec::new();
    for schema in schemas.iter().filter_map(|text| FunctionSchema::parse(text).ok()) {
        schema
            .arguments
            .iter()
            .chain(&schema.returns)
            .for_each(|item| collect(&item.real_type, &mut classes));
    }
    classes.sort();
    classes.dedup();
    classes
}
