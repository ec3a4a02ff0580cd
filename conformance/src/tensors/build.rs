//! Builds a call from its schema: what its operator's kind says about the arguments, and what holds for all.

use opgrid_core::schema::{Argument, FunctionSchema};
use opgrid_core::{Complex64, DType, Device, Layout, MemoryFormat, OperatorHandle};

use super::answer::Answer;
use super::case::{Arg, Block, Call, Case, View};
use super::directed;
use super::elements::{self, DTYPES, Style};
use super::families::Maker;
use super::images::Images;
use super::layouts::{self, Kind, Strided};
use super::ours::Ours;
use crate::random::Random;

/// The rounding modes of quotients, and one that there is not.
const MODES: [&str; 7] = ["floor", "floor", "floor", "trunc", "trunc", "trunc", "up"];

/// A case that is being made.
pub struct Builder<'a> {
    /// Where choices come from.
    pub random: Random,
    /// What was made so far.
    pub case: Case,
    /// The shape that the arguments of a call have in common.
    pub shape: Vec<i64>,
    /// The dtype that most of them have.
    pub dtype: DType,
    /// What kind of numbers they hold.
    pub style: Style,
    /// The tensor that has to be `self`, in a chain of calls.
    pub current: Option<usize>,
    /// The overload that is called.
    operator: String,
    /// The names of its arguments.
    arguments: Vec<String>,
    /// The dimension that the call is about.
    pub dim: i64,
    /// The length of the list before, for a list of the same length.
    pub length: usize,
    /// The indices that were made.
    pub indices: Vec<Option<usize>>,
    /// What the arguments of a call on images have in common.
    pub images: Images,
    ours: &'a Ours,
}

impl<'a> Builder<'a> {
    /// Begins the case of a seed.
    pub fn new(ours: &'a Ours, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let default = match random.below(100) {
            0..80 => DType::F32,
            80..92 => DType::F64,
            92..96 => DType::BF16,
            _ => DType::F16,
        };
        let stream = random.bits() >> 33;
        let case = Case { seed, default, stream, blocks: Vec::new(), tensors: Vec::new(), calls: Vec::new() };
        let (shape, dtype, style) = (Vec::new(), *random.pick(&DTYPES), Style::any(&mut random));
        Self {
            random,
            case,
            shape,
            dtype,
            style,
            current: None,
            operator: String::new(),
            arguments: Vec::new(),
            dim: 0,
            length: 0,
            indices: Vec::new(),
            images: Images::default(),
            ours,
        }
    }

    /// Adds a call of an operator.
    pub fn call(&mut self, operator: &OperatorHandle, maker: &Maker) {
        let Ok(schema) = operator.schema() else { return };
        self.start(&schema);
        (maker.prepare)(self);
        if self.style == Style::Extreme && self.ours.depends_on_elements(&self.operator) {
            // Elements that are sizes or places of results: at the end of the range these would take gigabytes.
            self.style = Style::Small;
        }
        let mut call = Call { operator: self.operator.clone(), positional: Vec::new(), keyword: Vec::new() };
        let mut given = 0;
        for argument in schema.arguments.iter().filter(|argument| !argument.is_out()) {
            let arg = (maker.argument)(self, argument).unwrap_or_else(|| self.usual(argument));
            let arg = self.number_as_tensor(argument, arg);
            if !argument.kwarg_only {
                call.positional.push(arg);
                given += usize::from(argument.default.is_none());
            } else if argument.default.is_none() || self.random.chance(70) {
                call.keyword.push((argument.name.clone(), arg));
            }
        }
        while call.positional.len() > given && self.random.chance(30) {
            call.positional.pop();
        }
        self.end(&schema, call);
    }

    /// Begins a call of an operator.
    pub fn start(&mut self, schema: &FunctionSchema) {
        self.operator = schema.name.to_string();
        self.arguments = schema.arguments.iter().map(|argument| argument.name.clone()).collect();
    }

    /// Adds a call of the operator that was begun, with outputs for the results that it would have.
    pub fn end(&mut self, schema: &FunctionSchema, mut call: Call) {
        let outputs = schema.arguments.iter().filter(|argument| argument.is_out());
        let names: Vec<&str> = outputs.map(|argument| argument.name.as_str()).collect();
        let results = if names.is_empty() { Vec::new() } else { self.results(&call, &names) };
        let count = names.len();
        for (at, name) in names.into_iter().enumerate() {
            let out = self.out(results.get(at), count);
            call.keyword.push((name.to_owned(), out));
        }
        self.case.calls.push(call);
    }

    /// A number instead of a tensor as a tensor without dimensions, where torch takes no number there; most often
    /// of the dtype that the number would have itself.
    fn number_as_tensor(&mut self, argument: &Argument, arg: Arg) -> Arg {
        let is_tensor = argument.real_type.to_string().trim_end_matches('?') == "Tensor";
        if !is_tensor || self.takes_numbers() {
            return arg;
        }
        let (dtype, element) = match arg {
            Arg::Int(value) => (DType::I64, Complex64::new(value as f64, 0.0)),
            Arg::Bool(value) => (DType::Bool, Complex64::new(f64::from(value), 0.0)),
            Arg::Float(value) => (DType::F64, Complex64::new(value, 0.0)),
            Arg::Complex(value) => (DType::Complex128, value),
            other => return other,
        };
        let dtype = if self.random.chance(80) { dtype } else { *self.random.pick(&DTYPES) };
        let Ok(block) = directed::block(dtype, &[element]) else { return arg };
        self.case.blocks.push(block);
        let block = self.case.blocks.len() - 1;
        self.case.tensors.push(View { block, sizes: Vec::new(), strides: Vec::new(), offset: 0 });
        Arg::Tensor(self.case.tensors.len() - 1)
    }

    /// The overload that is called.
    pub fn operator(&self) -> &str {
        &self.operator
    }

    /// Whether the overload that is called has an argument of that name.
    pub fn has_argument(&self, name: &str) -> bool {
        self.arguments.iter().any(|known| known == name)
    }

    /// Whether the overload that is called cuts a dimension into parts.
    pub fn has_sections(&self) -> bool {
        ["sections", "chunks", "split_size", "split_sizes", "tensor_indices_or_sections"]
            .iter()
            .any(|name| self.has_argument(name))
    }

    /// How many arguments the overload that is called has.
    pub fn count_arguments(&self) -> usize {
        self.arguments.len()
    }

    /// Whether torch takes a number where the overload asks for a tensor.
    pub fn takes_numbers(&self) -> bool {
        self.ours.takes_numbers(&self.operator)
    }

    /// A dtype: most often the one that arguments have in common.
    pub fn any_dtype(&mut self) -> DType {
        if self.random.chance(75) { self.dtype } else { *self.random.pick(&DTYPES) }
    }

    /// A tensor of those sizes, dtype and numbers, somewhere in memory.
    pub fn tensor(&mut self, sizes: &[i64], dtype: DType, style: Style, kind: Kind) -> Arg {
        Arg::Tensor(self.placed(sizes, dtype, style, kind))
    }

    /// The number of a new tensor of those sizes, dtype and numbers.
    fn placed(&mut self, sizes: &[i64], dtype: DType, style: Style, kind: Kind) -> usize {
        let Strided { strides, offset, count } = layouts::strided(&mut self.random, sizes, kind);
        let bytes = elements::bytes(&mut self.random, dtype, count, style);
        let block = self.case.blocks.len();
        self.case.blocks.push(Block { dtype, bytes });
        self.case.tensors.push(View { block, sizes: sizes.to_vec(), strides, offset });
        self.case.tensors.len() - 1
    }

    /// The number of a new tensor with the elements of a block, in row-major order, somewhere in memory.
    pub fn filled(&mut self, sizes: &[i64], elements: &Block, kind: Kind) -> usize {
        let at = self.placed(sizes, elements.dtype, Style::Flags, kind);
        let view = &self.case.tensors[at];
        let (places, bytes) = (elements::places(view), &mut self.case.blocks[view.block].bytes);
        let width = elements.dtype.size_in_bytes();
        for (place, element) in places.into_iter().zip(elements.bytes.chunks(width)) {
            bytes[place * width..][..width].copy_from_slice(element);
        }
        at
    }

    /// An input of those sizes.
    pub fn input(&mut self, sizes: &[i64], dtype: DType) -> Arg {
        let kind = Kind::of_input(&mut self.random);
        self.tensor(sizes, dtype, self.style, kind)
    }

    /// The first tensor of the call: the one that it has to be, or else one of the common shape.
    pub fn first(&mut self) -> Arg {
        match self.current {
            Some(at) => Arg::Tensor(at),
            None => {
                let shape = self.shape.clone();
                self.input(&shape, self.dtype)
            }
        }
    }

    /// An input that shares memory with a tensor of the case, or is one; `None` where there is none.
    pub fn overlapping(&mut self) -> Option<Arg> {
        let at = self.case.tensors.len().checked_sub(1)?;
        let mut view = self.case.tensors[at].clone();
        match self.random.below(4) {
            0 | 1 => return Some(Arg::Tensor(at)),
            2 => {
                // Transposed, which stays in the block where both sizes are equal.
                let dims = view.strides.len();
                if dims < 2 || view.sizes[dims - 1] != view.sizes[dims - 2] {
                    return Some(Arg::Tensor(at));
                }
                view.strides.swap(dims - 1, dims - 2);
            }
            _ => {
                // One element further, in a block that is one element longer.
                let block = &mut self.case.blocks[view.block];
                let more = elements::bytes(&mut self.random, block.dtype, 1, Style::Small);
                block.bytes.extend(more);
                view.offset += 1;
            }
        }
        self.case.tensors.push(view);
        Some(Arg::Tensor(self.case.tensors.len() - 1))
    }

    /// A number, most often of the kind of the common dtype or below.
    pub fn scalar(&mut self) -> Arg {
        let kind = match (self.random.below(100), self.dtype) {
            (0..8, _) => 3,
            (8..16, _) => 0,
            (16..60, dtype) if dtype.is_complex() => 3,
            (16..75, dtype) if dtype.is_floating_point() => 2,
            (16..90, dtype) if !dtype.is_floating_point() => 1,
            (value, _) => 1 + value % 2,
        };
        match kind {
            0 => Arg::Bool(self.random.chance(50)),
            1 if self.random.chance(4) => Arg::Int(self.random.bits() as i64),
            1 => Arg::Int(self.random.below(13) as i64 - 4),
            2 => Arg::Float(self.float()),
            _ => Arg::Complex(Complex64::new(self.float(), self.float())),
        }
    }

    /// A float with few digits, or with all, or a special one.
    pub fn float(&mut self) -> f64 {
        match self.random.below(100) {
            0..55 => (self.random.below(33) as f64 - 16.0) / 4.0,
            55..90 => elements::unit(&mut self.random) * 10.0,
            90..93 => f64::NAN,
            93..96 => f64::INFINITY,
            96..98 => -1e300,
            _ => -0.0,
        }
    }

    /// A dimension of that many, counted from either end, seldom out of range.
    pub fn any_dim(&mut self, dims: usize) -> i64 {
        let dims = dims.max(1) as i64;
        if self.random.chance(4) {
            return *self.random.pick(&[dims, -dims - 1, 7]);
        }
        self.random.below(2 * dims as usize) as i64 - dims
    }

    /// Some of that many dimensions, each once; seldom one twice.
    pub fn any_dims(&mut self, dims: usize) -> Vec<i64> {
        let mut chosen = Vec::new();
        for dim in 0..dims as i64 {
            if self.random.chance(40) {
                chosen.push(if self.random.chance(30) { dim - dims as i64 } else { dim });
            }
        }
        if self.random.chance(4) {
            chosen.push(self.any_dim(dims));
        }
        chosen
    }

    /// A memory format, most often one that fits as many dimensions.
    pub fn format(&mut self, dims: usize) -> MemoryFormat {
        match (dims, self.random.below(10)) {
            (4, 0..4) | (_, 4) => MemoryFormat::ChannelsLast,
            (5, 0..4) | (_, 5) => MemoryFormat::ChannelsLast3d,
            (_, 6 | 7) => MemoryFormat::Contiguous,
            _ => MemoryFormat::Preserve,
        }
    }

    /// What an argument is where its operator's kind has no say.
    pub fn usual(&mut self, argument: &Argument) -> Arg {
        let kind = argument.real_type.to_string();
        let dims = self.shape.len();
        if kind.ends_with('?') && self.random.chance(35) {
            return Arg::None;
        }
        match kind.trim_end_matches('?') {
            "Tensor" if argument.is_write() => {
                let (shape, kind) = (self.shape.clone(), Kind::of_output(&mut self.random));
                self.tensor(&shape, self.dtype, self.style, kind)
            }
            "Tensor" => self.first(),
            "Scalar" | "number" => self.scalar(),
            "bool" if argument.name == "pin_memory" => Arg::Bool(self.random.chance(2)),
            "bool" => Arg::Bool(self.random.chance(50)),
            "ScalarType" => Arg::DType(*self.random.pick(&DTYPES)),
            "Layout" => Arg::Layout(Layout::Strided),
            "Device" => Arg::Device,
            "MemoryFormat" => Arg::Format(self.format(dims)),
            "int" | "SymInt" => Arg::Int(self.any_dim(dims)),
            "int[]" | "SymInt[]" => Arg::Ints(self.any_dims(dims)),
            "float" => Arg::Float(self.float()),
            "str" => Arg::Str((*self.random.pick(&MODES)).into()),
            _ => Arg::None,
        }
    }

    /// What a call answers on our side.
    pub fn tried(&self, call: &Call) -> Option<Answer> {
        let mut case = self.case.clone();
        case.calls = vec![call.clone()];
        self.ours.run(&case, Device::CPU).ok()?.pop()
    }

    /// An output for one of `count` results: without elements, of the right shape anywhere in memory, or of a wrong one.
    /// Where there are several, all of them are right as often as a single one is.
    fn out(&mut self, result: Option<&(DType, Vec<i64>)>, count: usize) -> Arg {
        let (mut dtype, sizes) = result.cloned().unwrap_or_else(|| (self.dtype, self.shape.clone()));
        if self.random.chance(30 / count) {
            dtype = *self.random.pick(&DTYPES);
        }
        let style = Style::Small;
        match self.random.below(100 * count) {
            0..3 => self.tensor(&[2, 0], dtype, style, Kind::Apart),
            3..6 => {
                let sizes = layouts::spoilt(&mut self.random, &sizes);
                self.tensor(&sizes, dtype, style, Kind::Rows)
            }
            6..11 if !self.case.tensors.is_empty() => self.overlapping().unwrap_or(Arg::None),
            _ if self.random.chance(25) => self.tensor(&[0], dtype, style, Kind::Rows),
            _ => {
                let kind = Kind::of_output(&mut self.random);
                self.tensor(&sizes, dtype, style, kind)
            }
        }
    }

    /// Dtypes that outputs of these names may have in a call, with the sizes of its results; nothing where none are
    /// found.
    fn results(&self, call: &Call, names: &[&str]) -> Vec<(DType, Vec<i64>)> {
        self.results_without_outputs(call, names.len()).unwrap_or_else(|| self.results_into(call, names))
    }

    /// The dtypes and sizes of the results of the functional overload, if it gives as many.
    fn results_without_outputs(&self, call: &Call, count: usize) -> Option<Vec<(DType, Vec<i64>)>> {
        let operator = self.ours.functional(&call.operator)?;
        let answer = self.tried(&Call { operator, ..call.clone() })?;
        let tensors = answer.tensors();
        let results = || tensors.iter().map(|tensor| (tensor.dtype, tensor.sizes.clone())).collect();
        (tensors.len() == count).then(results)
    }

    /// Returns the dtypes and sizes that outputs without elements get from a call.
    fn results_into(&self, call: &Call, names: &[&str]) -> Vec<(DType, Vec<i64>)> {
        let candidates = [self.dtype, self.case.default, DType::Bool, DType::I64, DType::Complex128];
        let mut tried = candidates.into_iter().flat_map(|first| {
            let rest: &[DType] = if names.len() == 1 { &[first] } else { &[first, DType::I64, DType::F32] };
            rest.iter().map(move |rest| (first, *rest)).collect::<Vec<_>>()
        });
        tried.find_map(|(first, rest)| self.sizes_of_results(call, names, first, rest)).unwrap_or_default()
    }

    /// The dtypes and sizes of the results of a call into outputs of which the first has one dtype and the rest another.
    fn sizes_of_results(
        &self,
        call: &Call,
        names: &[&str],
        first: DType,
        rest: DType,
    ) -> Option<Vec<(DType, Vec<i64>)>> {
        let (mut case, mut call) = (self.case.clone(), call.clone());
        let from = case.tensors.len();
        for (at, name) in names.iter().enumerate() {
            let dtype = if at == 0 { first } else { rest };
            case.blocks.push(Block { dtype, bytes: Vec::new() });
            let block = case.blocks.len() - 1;
            case.tensors.push(View { block, sizes: vec![0], strides: vec![1], offset: 0 });
            call.keyword.push(((*name).to_owned(), Arg::Tensor(case.tensors.len() - 1)));
        }
        case.calls = vec![call];
        let mut run = self.ours.start(&case, Device::CPU).ok()?;
        run.call(&case.calls[0]).outcome.ok()?;
        Some(
            run.tensors()
                .get(from..from + names.len())?
                .iter()
                .map(|out| (out.dtype(), out.sizes().to_vec()))
                .collect(),
        )
    }
}
