//! Makes programs from seeds.
//!
//! A program registers, looks, calls and drops at random. It knows just enough of what it did to make interesting
//! steps likely (a kernel for a cell that has one, a definition that does not fit); what each step leads to is
//! nobody's business here. Names contain the seed, because torch has one dispatcher for the whole process.

use opgrid_core::{DispatchKey, DispatchKeySet};
use opgrid_schema::AliasAnalysis;

use super::faults::FAULTS;
use super::kernels::SIGNATURES;
use super::keys::Keys;
use super::program::{Block, Call, Guard, Item, KernelSpec, Kind, Legacy, Name, Program, Sort, Step, What};
use super::schemas::{mutated, schema_of};
use crate::random::Random;

/// The names that programs give to their operators, each in a namespace of the program.
pub const OPERATORS: [&str; 4] = ["foo", "bar", "baz", "qux"];

/// What every program is made from.
#[derive(Debug)]
pub struct Material {
    /// The keys.
    pub keys: Keys,
    /// Schemas to be edited, sorted.
    pub corpus: Vec<String>,
}

/// An operator of a program.
#[derive(Clone, Debug)]
pub(crate) struct Operator {
    pub(crate) namespace: String,
    base: &'static str,
    overload: &'static str,
    pub(crate) signature: usize,
    /// The registration that defines it, as far as the program knows.
    pub(crate) defined_by: Option<usize>,
    /// Whether it had kernels at some time.
    pub(crate) has_kernels: bool,
}

impl Operator {
    /// The name without the namespace.
    pub(crate) fn short(&self) -> String {
        match self.overload {
            "" => self.base.to_owned(),
            overload => format!("{}.{overload}", self.base),
        }
    }

    pub(crate) fn qualified(&self) -> String {
        format!("{}::{}", self.namespace, self.short())
    }

    pub(crate) fn name(&self) -> Name {
        (format!("{}::{}", self.namespace, self.base), self.overload.to_owned())
    }
}

/// A program while it is made.
pub(crate) struct Draft<'m> {
    pub(crate) random: Random,
    pub(crate) keys: &'m Keys,
    corpus: &'m [String],
    pub(crate) operators: Vec<Operator>,
    /// The keys that this program prefers, so that cells are hit twice.
    palette: Vec<DispatchKey>,
    /// The keys that this program prefers for fallbacks.
    pub(crate) fallback_keys: Vec<DispatchKey>,
    /// Namespaces that a library of the program claims.
    pub(crate) claimed: Vec<(String, usize)>,
    live: Vec<usize>,
    numbers: usize,
    kernels: usize,
    steps: Vec<Step>,
    features: Vec<&'static str>,
}

/// Makes the program of a seed.
pub fn program(seed: u64, material: &Material) -> Program {
    let mut draft = Draft::new(seed, material);
    for _ in 0..18 + draft.random.below(14) {
        draft.act();
    }
    draft.finish(seed)
}

impl<'m> Draft<'m> {
    fn new(seed: u64, material: &'m Material) -> Self {
        let mut random = Random::new(seed);
        // torch has a library for `c10d` itself.
        let own = if seed == 0x10d { "c10d0".to_owned() } else { format!("c{seed:x}") };
        let namespaces = [own.clone(), format!("{own}x")];
        let operators = (0..2 + random.below(3))
            .map(|place| Operator {
                namespace: namespaces[usize::from(random.chance(25))].clone(),
                base: OPERATORS[place],
                overload: random.pick::<&str>(&["", "", "", "Tensor", "out"]),
                signature: random.below(SIGNATURES.len()),
                defined_by: None,
                has_kernels: false,
            })
            .collect();
        let keys = &material.keys;
        let palette = (0..3 + random.below(5)).map(|_| keys.for_kernels(&mut random)).collect();
        let fallback_keys = (0..2).map(|_| *random.pick(&keys.without_fallback)).collect();
        Self {
            random,
            keys,
            corpus: &material.corpus,
            operators,
            palette,
            fallback_keys,
            claimed: Vec::new(),
            live: Vec::new(),
            numbers: 0,
            kernels: 0,
            steps: Vec::new(),
            features: Vec::new(),
        }
    }

    /// Notes that the program has something to be counted.
    pub(crate) fn feature(&mut self, name: &'static str) {
        self.features.push(name);
    }

    fn act(&mut self) {
        match self.random.below(100) {
            0..15 => self.define(),
            15..33 => self.implement(),
            33..35 => self.fall_back(),
            35..39 => self.legacy(),
            39..47 => self.drop_one(),
            47..54 => self.look_at_one(),
            54..66 => self.call(),
            66..72 => self.call_from_kernel(),
            72..93 => {
                let add = *self.random.pick(FAULTS);
                add(self);
            }
            93..96 => self.algebra(),
            96..98 => self.key(),
            _ => self.parse(),
        }
    }

    /// Drops everything in random order, with looks in between.
    fn finish(mut self, seed: u64) -> Program {
        for place in 0..self.operators.len() {
            self.look(place);
            if self.operators[place].defined_by.is_none() && self.operators[place].has_kernels {
                self.feature("kernels without a definition");
            }
        }
        while !self.live.is_empty() {
            self.drop_one();
            if self.random.chance(20) {
                self.look_at_one();
            }
        }
        self.steps.push(Step::Clear);
        for place in 0..self.operators.len() {
            self.look(place);
        }
        Program { seed, steps: self.steps, features: self.features }
    }

    pub(crate) fn number(&mut self) -> usize {
        self.numbers += 1;
        self.numbers
    }

    /// Adds a registration that is likely to succeed.
    pub(crate) fn register(&mut self, step: Step) {
        if let Step::Block(Block { number, .. }) | Step::Legacy(Legacy { number, .. }) = &step {
            self.live.push(*number);
        }
        self.steps.push(step);
    }

    /// A block without items.
    pub(crate) fn block(&mut self, kind: Kind, namespace: &str) -> Block {
        Block {
            number: self.number(),
            kind,
            namespace: namespace.to_owned(),
            key: None,
            is_placed: !self.random.chance(15),
            is_transient: false,
            items: Vec::new(),
        }
    }

    /// A block of the namespace that may define.
    pub(crate) fn defining_block(&mut self, namespace: &str) -> Block {
        let is_claimed = self.claimed.iter().any(|(claimed, _)| claimed == namespace);
        if is_claimed || self.random.chance(50) {
            return self.block(Kind::Fragment, namespace);
        }
        let block = self.block(Kind::Library, namespace);
        self.claimed.push((namespace.to_owned(), block.number));
        self.feature("a library that claims its namespace");
        block
    }

    /// The place of some operator.
    pub(crate) fn place(&mut self) -> usize {
        self.random.below(self.operators.len())
    }

    /// A key for a kernel; none stands for a composite.
    fn key_of_kernel(&mut self) -> Option<DispatchKey> {
        match self.random.below(10) {
            0 => None,
            1 => Some(DispatchKey::CatchAll),
            2..8 => Some(*self.random.pick(&self.palette)),
            _ => Some(self.keys.for_kernels(&mut self.random)),
        }
    }

    pub(crate) fn kernel(&mut self, sort: Sort, key: Option<DispatchKey>) -> KernelSpec {
        self.kernels += 1;
        let callee = (sort != Sort::Fallthrough && self.random.chance(30)).then(|| self.callee());
        KernelSpec { sort, number: self.kernels, key, is_described: !self.random.chance(15), callee }
    }

    /// Some operator to be called by a kernel; it may be the kernel's own.
    fn callee(&mut self) -> Name {
        let place = self.place();
        self.operators[place].name()
    }

    /// What a kernel for an operator of that signature is made of; now and then of another one.
    fn sort(&mut self, signature: usize) -> Sort {
        match self.random.below(20) {
            0..5 => Sort::Boxed,
            5..8 => Sort::Fallthrough,
            8 => Sort::Typed(self.random.below(SIGNATURES.len())),
            9 if signature == 2 => Sort::Typed(3),
            9 if signature == 3 => Sort::Typed(2),
            _ => Sort::Typed(signature),
        }
    }

    pub(crate) fn item(what: What, text: String, kernel: Option<KernelSpec>) -> Item {
        Item { what, text, kernel, alias: None }
    }

    fn name_in_block(&mut self, operator: &Operator) -> String {
        if self.random.chance(20) { operator.qualified() } else { operator.short() }
    }

    /// Defines an operator in one of the three ways, if none of them is known to be defined.
    fn define(&mut self) {
        let place = self.place();
        if self.operators[place].defined_by.is_some() {
            return self.implement();
        }
        let operator = self.operators[place].clone();
        if operator.has_kernels {
            self.feature("kernels before the definition");
        }
        let mut block = self.defining_block(&operator.namespace);
        let name = self.name_in_block(&operator);
        let signature = &SIGNATURES[operator.signature];
        let mut item = match self.random.below(10) {
            0..2 => {
                self.feature("definition inferred from a kernel");
                let key = self.key_of_kernel();
                let kernel = self.kernel(Sort::Typed(operator.signature), key);
                Self::item(What::Define, name, Some(kernel))
            }
            2..4 => {
                self.feature("definition by schema with a kernel");
                let (sort, key) = (self.sort(operator.signature), self.key_of_kernel());
                let kernel = self.kernel(sort, key);
                let schema = schema_of(&name, signature, &mut self.random);
                Self::item(What::Define, schema, Some(kernel))
            }
            _ => {
                self.feature("definition by schema");
                Self::item(What::Define, schema_of(&name, signature, &mut self.random), None)
            }
        };
        if item.text.contains('(') && self.random.chance(25) {
            let kinds = [AliasAnalysis::Conservative, AliasAnalysis::FromSchema, AliasAnalysis::PureFunction];
            item.alias = Some(*self.random.pick(&kinds));
        }
        block.items.push(item);
        if self.random.chance(25) {
            // The same block goes on to implement what it defined.
            let kernel = self.kernel(Sort::Typed(operator.signature), Some(DispatchKey::Cpu));
            block.items.push(Self::item(What::Implement, operator.short(), Some(kernel)));
        }
        self.operators[place].defined_by = Some(block.number);
        self.register(Step::Block(block));
    }

    /// One to three kernels for operators of one namespace.
    fn implement(&mut self) {
        let first = self.place();
        let namespace = self.operators[first].namespace.clone();
        let mut block = self.block(Kind::Implementations, &namespace);
        let is_keyed = self.random.chance(50);
        if is_keyed {
            block.key = self.key_of_kernel();
        } else if self.random.chance(20) {
            block.kind = Kind::Fragment;
        }
        for round in 0..1 + self.random.below(3) {
            let place = if round == 0 { first } else { self.place() };
            if self.operators[place].namespace != namespace {
                continue;
            }
            let operator = self.operators[place].clone();
            let key = if is_keyed { None } else { self.key_of_kernel() };
            let sort = self.sort(operator.signature);
            let name = self.name_in_block(&operator);
            self.count_kernel(sort, key.or(block.key));
            let kernel = self.kernel(sort, key);
            block.items.push(Self::item(What::Implement, name, Some(kernel)));
            self.operators[place].has_kernels = true;
        }
        self.register(Step::Block(block));
    }

    fn count_kernel(&mut self, sort: Sort, key: Option<DispatchKey>) {
        match sort {
            Sort::Fallthrough => self.feature("fallthrough"),
            Sort::Boxed => self.feature("boxed kernel"),
            Sort::Typed(signature) if SIGNATURES[signature].is_symbolic() => self.feature("symbolic kernel"),
            Sort::Typed(_) => self.feature("typed kernel"),
        }
        match key {
            None | Some(DispatchKey::CatchAll) => self.feature("kernel for every key"),
            Some(key) if key.is_alias() => self.feature("kernel for an alias"),
            Some(key) if key.backend().is_some() => self.feature("kernel for an instance"),
            Some(_) => self.feature("kernel for a functionality"),
        }
    }

    /// A fallback for a key where torch has none. Each costs torch a walk over all its operators.
    fn fall_back(&mut self) {
        let key = if self.random.chance(2) {
            DispatchKey::CompositeImplicitAutogradNestedTensor
        } else {
            *self.random.pick(&self.fallback_keys)
        };
        self.feature("fallback");
        let mut block = self.block(Kind::Implementations, "_");
        let sort = if self.random.chance(40) { Sort::Fallthrough } else { Sort::Boxed };
        let own = self.random.chance(50);
        block.key = (!own).then_some(key);
        let kernel = self.kernel(sort, own.then_some(key));
        block.items.push(Self::item(What::Fallback, String::new(), Some(kernel)));
        self.register(Step::Block(block));
    }

    fn legacy(&mut self) {
        let place = self.place();
        let operator = self.operators[place].clone();
        self.feature("legacy registration");
        let mut kernels: Vec<KernelSpec> = Vec::new();
        for _ in 0..self.random.below(4) {
            let sort = if self.random.chance(25) { Sort::Boxed } else { Sort::Typed(operator.signature) };
            let key = self.key_of_kernel().filter(|key| *key != DispatchKey::CatchAll);
            if kernels.iter().all(|kernel| kernel.key != key) {
                let mut kernel = self.kernel(sort, key);
                kernel.is_described = true;
                kernels.push(kernel);
            }
        }
        let is_inferred = kernels.iter().any(|kernel| kernel.sort != Sort::Boxed) && self.random.chance(40);
        let text = if is_inferred {
            operator.qualified()
        } else {
            schema_of(&operator.qualified(), &SIGNATURES[operator.signature], &mut self.random)
        };
        let (text, schema) = if self.random.chance(50) { (Some(text), None) } else { (None, Some(text)) };
        let alias = self.random.chance(30).then_some(AliasAnalysis::PureFunction);
        let number = self.number();
        if operator.defined_by.is_none() {
            self.operators[place].defined_by = Some(number);
        }
        self.register(Step::Legacy(Legacy { number, text, schema, alias, kernels }));
    }

    fn drop_one(&mut self) {
        if self.live.is_empty() {
            return;
        }
        let place = self.random.below(self.live.len());
        let number = self.live.swap_remove(place);
        for operator in &mut self.operators {
            if operator.defined_by == Some(number) {
                operator.defined_by = None;
            }
        }
        self.claimed.retain(|(_, claimed_by)| *claimed_by != number);
        self.steps.push(Step::Drop(number));
    }

    fn look_at_one(&mut self) {
        let place = self.place();
        self.look(place);
    }

    fn look(&mut self, place: usize) {
        self.steps.push(Step::Look(self.operators[place].name()));
    }

    fn call(&mut self) {
        let place = self.place();
        let is_plain = !self.random.chance(20);
        self.feature(if is_plain { "call" } else { "redispatch" });
        let mut tensors = Vec::new();
        for _ in 0..1 + self.random.below(3) {
            let mut keys = self.keys.set(&mut self.random);
            if self.random.chance(60) {
                keys = keys.add(*self.random.pick(&self.palette));
            }
            let is_there = tensors.is_empty() || !self.random.chance(15);
            tensors.push(is_there.then_some(keys));
        }
        let guards: Vec<Guard> = (0..self.random.below(3)).map(|_| self.guard()).collect();
        if !guards.is_empty() {
            self.feature("call under guards");
        }
        let name = self.operators[place].name();
        self.steps.push(Step::Call(Call { name, is_plain, tensors, guards }));
    }

    /// A backend's kernel that calls another operator, and a call that gets to it through the backend's autograd key:
    /// what the keys above leave excluded there shows in the inner call.
    fn call_from_kernel(&mut self) {
        use DispatchKey as Key;
        let place = self.place();
        let operator = self.operators[place].clone();
        let backends = [
            (Key::Cpu, Key::AutogradCpu),
            (Key::Cuda, Key::AutogradCuda),
            (Key::Xla, Key::AutogradXla),
            (Key::Fpga, Key::AutogradOther),
        ];
        let (backend, autograd) = *self.random.pick(&backends);
        let mut block = self.block(Kind::Implementations, &operator.namespace);
        let sort = if self.random.chance(30) { Sort::Boxed } else { Sort::Typed(operator.signature) };
        let mut kernel = self.kernel(sort, Some(backend));
        kernel.callee = Some(self.callee());
        block.items.push(Self::item(What::Implement, operator.short(), Some(kernel)));
        self.operators[place].has_kernels = true;
        self.register(Step::Block(block));
        let mut keys = DispatchKeySet::from_keys(&[backend, autograd]);
        if self.random.chance(40) {
            keys = keys.add(*self.random.pick(&self.palette));
        }
        let guards = if self.random.chance(20) { vec![self.guard()] } else { Vec::new() };
        let (name, tensors) = (operator.name(), vec![Some(keys)]);
        self.steps.push(Step::Call(Call { name, is_plain: true, tensors, guards }));
    }

    fn guard(&mut self) -> Guard {
        let keys = self.keys.set(&mut self.random);
        match self.random.below(5) {
            0 | 1 => Guard::Include(keys),
            2 | 3 => Guard::Exclude(keys),
            _ => Guard::Force(keys, self.keys.set(&mut self.random)),
        }
    }

    fn algebra(&mut self) {
        self.feature("algebra of sets");
        for _ in 0..4 {
            let (a, b) = (self.keys.set(&mut self.random), self.keys.set(&mut self.random));
            let key = self.keys.any(&mut self.random);
            self.steps.push(Step::Set(a, b, key));
        }
    }

    fn key(&mut self) {
        let key = self.keys.any(&mut self.random);
        self.feature("key and its name");
        let name = match self.random.below(5) {
            0 | 1 => format!("{key}x"),
            2 => key.to_string().to_lowercase(),
            _ => key.to_string(),
        };
        self.steps.extend([Step::Key(key), Step::KeyName(name)]);
    }

    fn parse(&mut self) {
        self.feature("edited schema");
        for _ in 0..3 {
            self.steps.push(Step::Parse(mutated(self.corpus, &mut self.random)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn material() -> Material {
        Material { keys: Keys::of_torch(), corpus: vec!["a::b(Tensor x, int y=1) -> Tensor".to_owned()] }
    }

    fn printed(program: &Program) -> String {
        program.steps.iter().map(|step| step.command() + "\n").collect()
    }

    #[test]
    fn a_seed_means_one_program() {
        for seed in 0..20 {
            let (first, second) = (program(seed, &material()), program(seed, &material()));
            assert_eq!(printed(&first), printed(&second));
            assert_ne!(printed(&first), printed(&program(seed + 1, &material())));
        }
    }

    #[test]
    fn programs_of_different_seeds_share_no_operator() {
        let names = |seed| {
            let program = program(seed, &material());
            let name = |step: &Step| match step {
                Step::Look((name, _)) => Some(name.clone()),
                _ => None,
            };
            program.steps.iter().filter_map(name).collect::<Vec<_>>()
        };
        for (a, b) in [(1, 2), (1, 0x11), (0, 0xc0)] {
            assert!(names(a).iter().all(|name| !names(b).contains(name)));
        }
    }
}
