//! Steps that both dispatchers should refuse, or that only torch takes.

use opgrid_core::DispatchKey;

use super::generate::{Draft, Operator};
use super::kernels::SIGNATURES;
use super::program::{Block, Kind, Legacy, Sort, Step, What};
use super::schemas::schema_of;

/// The name of operators that never come to be.
pub(crate) const ELSEWHERE: &str = "fresh";

/// What is wrong with a step: it adds the step to the program.
pub(crate) type Fault = fn(&mut Draft<'_>);

/// Every fault; each is as likely as the others.
pub(crate) const FAULTS: &[Fault] = &[
    second_definition,
    kernel_of_another_type,
    definition_of_another_type,
    second_library,
    definition_among_implementations,
    definition_of_another_namespace,
    definition_without_namespace,
    kernel_of_another_namespace,
    kernel_of_another_key,
    schema_for_a_name,
    name_for_a_schema,
    boxed_kernel_to_infer_from,
    too_many_arguments,
    reserved_overload,
    second_fallback,
    fallback_of_a_namespace,
    fallback_in_a_fragment,
    fallback_without_key,
    building_block,
    two_kernels_for_a_key,
    two_kernels_for_every_key,
    two_schemas,
    neither_schema_nor_name,
    name_without_kernels,
    name_with_boxed_kernels,
];

impl Draft<'_> {
    /// Adds a block with one item; nothing is expected to be left of it.
    fn faulty(
        &mut self,
        mut block: Block,
        what: What,
        text: String,
        kernel: Option<(Sort, Option<DispatchKey>)>,
    ) {
        let kernel = kernel.map(|(sort, key)| self.kernel(sort, key));
        block.items.push(Self::item(what, text, kernel));
        self.register(Step::Block(block));
    }

    fn another_signature(&mut self, signature: usize) -> usize {
        (signature + 1 + self.random.below(SIGNATURES.len() - 1)) % SIGNATURES.len()
    }
}

fn second_definition(draft: &mut Draft<'_>) {
    let place = draft.place();
    let operator = draft.operators[place].clone();
    let schema = schema_of(&operator.short(), &SIGNATURES[operator.signature], &mut draft.random);
    let block = draft.block(Kind::Fragment, &operator.namespace);
    if operator.defined_by.is_none() {
        draft.operators[place].defined_by = Some(block.number);
        let again = draft.block(Kind::Fragment, &operator.namespace);
        draft.faulty(again, What::Define, schema.clone(), None);
    }
    draft.faulty(block, What::Define, schema, None);
}

fn kernel_of_another_type(draft: &mut Draft<'_>) {
    let place = draft.place();
    let operator = draft.operators[place].clone();
    let signature = draft.another_signature(operator.signature);
    draft.operators[place].has_kernels = true;
    let block = draft.block(Kind::Implementations, &operator.namespace);
    let kernel = (Sort::Typed(signature), Some(DispatchKey::Cpu));
    draft.faulty(block, What::Implement, operator.short(), Some(kernel));
}

fn definition_of_another_type(draft: &mut Draft<'_>) {
    let place = draft.place();
    let operator = draft.operators[place].clone();
    let signature = draft.another_signature(operator.signature);
    let schema = schema_of(&operator.short(), &SIGNATURES[signature], &mut draft.random);
    let block = draft.defining_block(&operator.namespace);
    draft.faulty(block, What::Define, schema, None);
}

fn second_library(draft: &mut Draft<'_>) {
    let place = draft.place();
    let namespace = draft.operators[place].namespace.clone();
    if draft.claimed.iter().all(|(claimed, _)| *claimed != namespace) {
        let block = draft.block(Kind::Library, &namespace);
        draft.claimed.push((namespace.clone(), block.number));
        draft.register(Step::Block(block));
    }
    let block = draft.block(Kind::Library, &namespace);
    draft.register(Step::Block(block));
}

fn definition_among_implementations(draft: &mut Draft<'_>) {
    let place = draft.place();
    let namespace = draft.operators[place].namespace.clone();
    let block = draft.block(Kind::Implementations, &namespace);
    draft.faulty(block, What::Define, format!("{ELSEWHERE}(Tensor x) -> Tensor"), None);
}

fn definition_of_another_namespace(draft: &mut Draft<'_>) {
    let place = draft.place();
    let namespace = draft.operators[place].namespace.clone();
    let block = draft.block(Kind::Fragment, &namespace);
    draft.faulty(block, What::Define, format!("elsewhere::{ELSEWHERE}(Tensor x) -> Tensor"), None);
}

fn definition_without_namespace(draft: &mut Draft<'_>) {
    let block = draft.block(Kind::Fragment, "_");
    draft.faulty(block, What::Define, format!("{ELSEWHERE}(Tensor x) -> Tensor"), None);
}

fn kernel_of_another_namespace(draft: &mut Draft<'_>) {
    let place = draft.place();
    let namespace = draft.operators[place].namespace.clone();
    let wildcard = draft.random.chance(25);
    let block = draft.block(Kind::Implementations, if wildcard { "_" } else { &namespace });
    let kernel = (Sort::Boxed, Some(DispatchKey::Cpu));
    draft.faulty(block, What::Implement, format!("elsewhere::{ELSEWHERE}"), Some(kernel));
}

fn kernel_of_another_key(draft: &mut Draft<'_>) {
    let place = draft.place();
    let operator = draft.operators[place].clone();
    let mut block = draft.block(Kind::Implementations, &operator.namespace);
    block.key = Some(DispatchKey::Cuda);
    let kernel = (Sort::Boxed, Some(DispatchKey::Cpu));
    draft.faulty(block, What::Implement, operator.short(), Some(kernel));
}

fn schema_for_a_name(draft: &mut Draft<'_>) {
    let place = draft.place();
    let operator = draft.operators[place].clone();
    let schema = schema_of(&operator.short(), &SIGNATURES[operator.signature], &mut draft.random);
    let block = draft.block(Kind::Implementations, &operator.namespace);
    draft.faulty(block, What::Implement, schema, Some((Sort::Boxed, None)));
}

fn name_for_a_schema(draft: &mut Draft<'_>) {
    let place = draft.place();
    let operator = draft.operators[place].clone();
    let block = draft.block(Kind::Fragment, &operator.namespace);
    draft.faulty(block, What::Define, operator.short(), None);
}

fn boxed_kernel_to_infer_from(draft: &mut Draft<'_>) {
    let place = draft.place();
    let operator = draft.operators[place].clone();
    let block = draft.block(Kind::Fragment, &operator.namespace);
    draft.faulty(block, What::Define, operator.short(), Some((Sort::Boxed, None)));
}

fn too_many_arguments(draft: &mut Draft<'_>) {
    let place = draft.place();
    let operator = draft.operators[place].clone();
    let arguments: Vec<String> = (0..65).map(|number| format!("int a{number}")).collect();
    let block = draft.block(Kind::Fragment, &operator.namespace);
    // One fault at a time: which of two is found first is nobody's promise.
    let is_known = operator.defined_by.is_some() || operator.has_kernels;
    let name = if is_known { ELSEWHERE.to_owned() } else { operator.short() };
    let schema = format!("{name}({}) -> ()", arguments.join(", "));
    draft.faulty(block, What::Define, schema, None);
}

fn reserved_overload(draft: &mut Draft<'_>) {
    let place = draft.place();
    let namespace = draft.operators[place].namespace.clone();
    let overload = *draft.random.pick(&["default", "__out", "1"]);
    let block = draft.block(Kind::Fragment, &namespace);
    draft.faulty(block, What::Define, format!("{ELSEWHERE}.{overload}(Tensor x) -> Tensor"), None);
}

fn second_fallback(draft: &mut Draft<'_>) {
    let taken =
        [DispatchKey::AutogradCpu, DispatchKey::BackendSelect, DispatchKey::FuncTorchBatchedDecomposition];
    let own = draft.fallback_keys[0];
    let key = if draft.random.chance(70) { *draft.random.pick(&taken) } else { own };
    for _ in 0..if key == own { 2 } else { 1 } {
        let mut block = draft.block(Kind::Implementations, "_");
        block.key = Some(key);
        draft.faulty(block, What::Fallback, String::new(), Some((Sort::Boxed, None)));
    }
}

fn fallback_of_a_namespace(draft: &mut Draft<'_>) {
    fall_back_at_home(draft, Kind::Implementations);
}

fn fallback_in_a_fragment(draft: &mut Draft<'_>) {
    fall_back_at_home(draft, Kind::Fragment);
}

fn fall_back_at_home(draft: &mut Draft<'_>, kind: Kind) {
    let place = draft.place();
    let namespace = draft.operators[place].namespace.clone();
    let block = draft.block(kind, &namespace);
    let kernel = (Sort::Boxed, Some(DispatchKey::Cpu));
    draft.faulty(block, What::Fallback, String::new(), Some(kernel));
}

fn fallback_without_key(draft: &mut Draft<'_>) {
    let block = draft.block(Kind::Implementations, "_");
    draft.faulty(block, What::Fallback, String::new(), Some((Sort::Boxed, None)));
}

/// Torch takes kernels and fallbacks for keys that no call reaches; they go again before anything else happens.
fn building_block(draft: &mut Draft<'_>) {
    let key = draft.keys.building_block(&mut draft.random);
    let place = draft.place();
    let operator = draft.operators[place].clone();
    let is_fallback = draft.random.chance(50);
    let mut block = draft.block(Kind::Implementations, if is_fallback { "_" } else { &operator.namespace });
    block.is_transient = true;
    let (what, text) =
        if is_fallback { (What::Fallback, String::new()) } else { (What::Implement, operator.short()) };
    draft.faulty(block, what, text, Some((Sort::Boxed, Some(key))));
}

/// Adds a legacy registration of which nothing is expected to be left.
fn faulty_legacy(
    draft: &mut Draft<'_>,
    text: Option<String>,
    schema: Option<String>,
    kernels: &[(Sort, Option<DispatchKey>)],
) {
    let kernels = kernels.iter().map(|(sort, key)| draft.kernel(*sort, *key)).collect();
    let number = draft.number();
    draft.register(Step::Legacy(Legacy { number, text, schema, alias: None, kernels }));
}

/// Some operator's name and a schema for it.
fn named_schema(draft: &mut Draft<'_>) -> (Operator, String) {
    let place = draft.place();
    let operator = draft.operators[place].clone();
    let schema = schema_of(&operator.qualified(), &SIGNATURES[operator.signature], &mut draft.random);
    (operator, schema)
}

fn two_kernels_for_a_key(draft: &mut Draft<'_>) {
    let (operator, schema) = named_schema(draft);
    let kernel = (Sort::Typed(operator.signature), Some(DispatchKey::Cpu));
    faulty_legacy(draft, Some(schema), None, &[kernel, kernel]);
}

fn two_kernels_for_every_key(draft: &mut Draft<'_>) {
    let (operator, schema) = named_schema(draft);
    let kernel = (Sort::Typed(operator.signature), None);
    faulty_legacy(draft, None, Some(schema), &[kernel, kernel]);
}

fn two_schemas(draft: &mut Draft<'_>) {
    let (_, schema) = named_schema(draft);
    faulty_legacy(draft, Some(schema.clone()), Some(schema), &[]);
}

fn neither_schema_nor_name(draft: &mut Draft<'_>) {
    faulty_legacy(draft, None, None, &[(Sort::Boxed, Some(DispatchKey::Cpu))]);
}

fn name_without_kernels(draft: &mut Draft<'_>) {
    let (operator, _) = named_schema(draft);
    faulty_legacy(draft, Some(operator.qualified()), None, &[]);
}

fn name_with_boxed_kernels(draft: &mut Draft<'_>) {
    let (operator, _) = named_schema(draft);
    faulty_legacy(draft, Some(operator.qualified()), None, &[(Sort::Boxed, Some(DispatchKey::Cpu))]);
}
