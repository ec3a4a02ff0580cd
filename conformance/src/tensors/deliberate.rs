//! The differences between our tensors and torch's that are wanted, each with the test that shows it.
//!
//! A rule recognises its difference by the call and by what both sides say. A difference that no rule recognises
//! fails the run.

use opgrid_core::{Complex64, DType, Device, MemoryFormat};
use opgrid_tensor::tensor::finfo;
use opgrid_tensor::{Geometry, TensorSpec};

use super::case::{Arg, Block, Call, Case, Place};
use super::compare::{Difference, Part};
use super::hex;
use super::ours::Ours;
use super::tolerance;
use super::torch::DIED;

/// What a rule looks at.
pub struct Seen<'a> {
    /// The case.
    pub case: &'a Case,
    /// The call.
    pub call: &'a Call,
    /// What differs.
    pub difference: &'a Difference,
}

/// A difference that is wanted.
pub struct Rule {
    /// What is different.
    pub name: &'static str,
    /// The test that shows what opgrid does: file below `crates`, and the function.
    pub test: (&'static str, &'static str),
    /// Whether something that differs is this.
    pub matches: fn(&Seen<'_>) -> bool,
}

const TESTS: &str = "opgrid-tensor/tests/differences.rs";

/// The name of the rule that concerns promotion itself.
pub const NARROW_COMPLEX: &str = "complex numbers beside 16-bit floats are of single precision";

/// Every wanted difference.
pub const RULES: &[Rule] = &[
    Rule {
        name: "an output with elements keeps its shape",
        test: ("opgrid-tensor/tests/views.rs", "outputs_beside_their_inputs"),
        matches: |seen| {
            let is_named = seen.we_refuse("argument `out`") && seen.we_refuse("shape");
            is_named && seen.call.named("out").is_some()
        },
    },
    Rule {
        name: "an output without elements that gets a shape gets memory of its own",
        test: (TESTS, "an_output_that_gets_a_shape_gets_memory"),
        matches: |seen| {
            matches!(seen.part(), Part::Offset | Part::Written)
                && seen.out().is_some_and(|out| out.sizes.contains(&0))
        },
    },
    Rule {
        name: "inputs decide on the order of a result as they lie, also where they are converted",
        test: (TESTS, "converted_inputs_decide_on_the_order_as_they_lie"),
        matches: |seen| {
            let has_narrow =
                seen.call.tensors().into_iter().any(|at| seen.case.dtype(at) == Some(DType::I32));
            let is_index = seen.call.family() == "index" && has_narrow;
            seen.part() == Part::Strides && (is_index || seen.has_converted_input_apart())
        },
    },
    Rule {
        name: "the powers of a number lie as the exponents",
        test: (TESTS, "powers_of_a_number_lie_as_the_exponents"),
        matches: |seen| seen.part() == Part::Strides && seen.call.operator.starts_with("aten::pow.Scalar"),
    },
    Rule {
        name: "powers of the number one are checked as all others",
        test: (TESTS, "powers_of_one_are_checked_as_all_others"),
        matches: |seen| seen.call.operator == "aten::pow.Scalar_out" && seen.we_refuse("can't be cast"),
    },
    Rule {
        name: NARROW_COMPLEX,
        test: ("opgrid-tensor/tests/promotion.rs", "every_category_under_every_default"),
        matches: |seen| {
            let words = ["complex32", "complexhalf", "complex<c10::"];
            let lower = seen.difference.torch.to_lowercase();
            let is_told = words.iter().any(|words| lower.contains(words));
            let has_complex = seen.call.args().any(|arg| matches!(arg, Arg::Complex(_)));
            let is_narrow = |dtype| matches!(dtype, Some(DType::F16 | DType::BF16));
            let mut dtypes = seen.call.tensors().into_iter().map(|at| seen.case.dtype(at));
            let meets_narrow = is_narrow(Some(seen.case.default)) || dtypes.any(is_narrow);
            // Torch's real and imaginary parts leave the range.
            let is_beyond = |(_, _, other): &(DType, Complex64, Complex64)| !other.is_finite();
            let leaves = seen.elements().is_some_and(|mut each| each.all(is_beyond));
            (matches!(seen.part(), Part::Outcome | Part::Kind) && is_told)
                || (has_complex && meets_narrow && leaves)
        },
    },
    Rule {
        name: "floats beyond the range of an integer dtype",
        test: (TESTS, "floats_beyond_the_integers"),
        matches: |seen| {
            let to_integers = |(dtype, ..): &(DType, Complex64, Complex64)| {
                !dtype.is_floating_point() && !dtype.is_complex()
            };
            seen.elements().is_some_and(|mut elements| elements.all(to_integers)) && seen.has_large_float()
        },
    },
    Rule {
        name: "no tensor is written in which dimensions repeat elements",
        test: (TESTS, "outputs_that_repeat_or_share_elements_are_refused"),
        matches: |seen| seen.we_refuse("more than one element of the written-to tensor refers to a single"),
    },
    Rule {
        name: "no output shares elements with an input that is read after they are written",
        test: (TESTS, "outputs_that_repeat_or_share_elements_are_refused"),
        matches: |seen| seen.we_refuse("some elements of the input tensor and the written-to tensor refer"),
    },
    Rule {
        name: "an output without elements shares none",
        test: (TESTS, "what_has_no_elements_shares_none"),
        matches: |seen| {
            let is_empty = seen.is_empty("ours") || seen.out().is_some_and(|out| out.sizes.contains(&0));
            let words = ["single memory location", "doesn't match the broadcast shape"];
            words.iter().any(|words| seen.torch_refuses(words)) && is_empty
        },
    },
    Rule {
        name: "what is refused with elements is refused without",
        test: (TESTS, "what_is_refused_with_elements_is_refused_without"),
        matches: |seen| seen.we_refuse("") && seen.is_empty("torch"),
    },
    Rule {
        name: "the sign of a zero that arithmetic leaves",
        test: (TESTS, "signs_of_zeros"),
        matches: |seen| {
            let families =
                ["add", "addmm", "amax", "amin", "div", "maximum", "minimum", "mul", "neg", "rsub", "sub"];
            let is_equal =
                |(_, one, other): &(DType, Complex64, Complex64)| tolerance::agree(*one, *other, 0.0);
            families.contains(&seen.call.family())
                && seen.elements().is_some_and(|mut each| each.all(is_equal))
        },
    },
    Rule {
        name: "index lists with masks of no dimensions, with nothing, or for more dimensions than there are",
        test: (TESTS, "an_index_list_without_indices_gives_everything"),
        matches: |seen| {
            let words =
                ["at least one index", "masked_fill_ only", "INTERNAL ASSERT", "undefined Tensor", "nullptr"];
            let is_flag = |at: &usize| matches!(seen.case.dtype(*at), Some(DType::Bool | DType::U8));
            let is_single =
                |at: &usize| seen.case.tensors.get(*at).is_some_and(|place| place.sizes.is_empty());
            let has_flag = seen.call.tensors().iter().any(|at| is_flag(at) && is_single(at));
            let is_index =
                matches!(seen.call.family(), "index" | "index_put") && seen.part() == Part::Outcome;
            let is_refused = words.iter().any(|words| seen.torch_refuses(words));
            is_index && (has_flag || is_refused || seen.we_refuse("too many indices"))
        },
    },
    Rule {
        name: "a number is read out of one element only",
        test: (TESTS, "a_number_is_read_out_of_one_element_only"),
        matches: |seen| {
            seen.call.family() == "_local_scalar_dense" && seen.we_refuse("elements cannot be converted")
        },
    },
    Rule {
        name: "pinned memory is refused",
        test: (TESTS, "pinned_memory_is_refused"),
        matches: |seen| seen.we_refuse("asks for pinned memory"),
    },
    Rule {
        name: "the smallest integer divided by minus one wraps around",
        test: (TESTS, "the_smallest_integer_divided_by_minus_one_wraps"),
        matches: |seen| seen.call.family() == "div" && seen.torch_refuses(DIED),
    },
    Rule {
        name: "steps of slices may exceed every size",
        test: (TESTS, "steps_of_slices_may_exceed_every_size"),
        matches: |seen| {
            let step = seen.call.positional.get(4);
            seen.call.family() == "slice" && matches!(step, Some(Arg::Int(i64::MAX)))
        },
    },
    Rule {
        name: "which parts of a result that is not finite are infinite and which are NaN",
        test: (TESTS, "results_that_are_not_finite"),
        matches: |seen| {
            let families = [
                "addmm",
                "bmm",
                "div",
                "exp",
                "log",
                "matmul",
                "mean",
                "mm",
                "mul",
                "pow",
                "reciprocal",
                "sigmoid",
                "sqrt",
                "sum",
                "tanh",
            ];
            let family = seen.call.family();
            let is_beyond = |(_, one, other): &(DType, Complex64, Complex64)| match family {
                // Far beyond the range a logarithm decides whether a power vanishes or is no number.
                "pow" => !one.is_finite() || !other.is_finite(),
                // Where an exponential is beyond the range its inverse is none, or nearly.
                "sigmoid" => !one.is_finite() || !other.is_finite() || (one - other).norm() < 1e-37,
                _ => !one.is_finite() && !other.is_finite(),
            };
            families.contains(&family) && seen.elements().is_some_and(|mut each| each.all(is_beyond))
        },
    },
    Rule {
        name: "dtypes and numbers of products are checked also where there is nothing to multiply",
        test: (TESTS, "what_is_refused_with_elements_is_refused_without"),
        matches: |seen| {
            let is_product = matches!(seen.call.family(), "addmm" | "bmm" | "matmul" | "mm");
            let words = ["cannot be converted", "convert one of them", "not implemented for 'Bool'"];
            let has_factor = |name| match seen.call.named(name) {
                Some(Arg::Float(value)) => !value.is_finite() || *value == 0.0,
                Some(Arg::Int(0) | Arg::Bool(false)) => true,
                Some(Arg::Complex(value)) => !value.is_finite(),
                _ => false,
            };
            let is_checked = words.iter().any(|words| seen.we_refuse(words));
            let is_late = seen.elements().is_some() && has_factor("alpha");
            is_product && (is_checked || is_late || seen.torch_refuses("can't be cast"))
        },
    },
    Rule {
        name: "averages of complex numbers are not written to reals",
        test: (TESTS, "averages_of_complex_numbers_are_complex"),
        matches: |seen| seen.call.operator == "aten::mean.out" && seen.we_refuse("can't be cast"),
    },
    Rule {
        name: "quotients of 16-bit floats are rounded down or cut before they are rounded to 16 bits",
        test: (TESTS, "quotients_are_cut_before_they_are_rounded"),
        matches: |seen| {
            let is_narrow = |at| matches!(seen.case.dtype(at), Some(DType::F16 | DType::BF16));
            let is_next = |(dtype, one, other): &(DType, Complex64, Complex64)| {
                let step = tolerance::precision(seen.case, seen.call, *dtype) * other.norm();
                (one - other).norm() <= step.max(1.0)
            };
            seen.call.named("rounding_mode").is_some()
                && seen.call.tensors().into_iter().any(is_narrow)
                && seen.elements().is_some_and(|mut each| each.all(is_next))
        },
    },
    Rule {
        name: "integers between two others are cut before a rounding brings them to the next one",
        test: (TESTS, "integers_between_two_others"),
        matches: |seen| {
            let is_next = |(dtype, one, other): &(DType, Complex64, Complex64)| {
                !dtype.is_floating_point() && (one - other).norm() == 1.0
            };
            seen.call.family() == "linspace" && seen.elements().is_some_and(|mut each| each.all(is_next))
        },
    },
    Rule {
        name: "an output that gets a shape has the order of the inputs, also where torch copies to it",
        test: (TESTS, "an_output_that_gets_a_shape_gets_memory"),
        matches: |seen| {
            let is_empty = seen.out().is_some_and(|out| out.sizes.contains(&0));
            let is_copied = matches!(
                seen.call.operator.as_str(),
                "aten::abs.out" | "aten::relu.out" | "aten::isnan.out" | "aten::stack.out"
            );
            seen.part() == Part::Strides && is_copied && is_empty
        },
    },
    Rule {
        name: "an output that has the shape of a product keeps its strides",
        test: (TESTS, "products_into_their_own_factors"),
        matches: |seen| {
            let is_product = matches!(seen.call.family(), "addmm" | "bmm" | "matmul" | "mm");
            let keeps = |out: &Place| match seen.part() {
                Part::Strides => format!("{:?}", out.strides) == seen.difference.ours,
                // Torch writes the result in rows, whatever strides there were.
                Part::Written => out.strides.iter().any(|stride| *stride != 1),
                _ => false,
            };
            is_product && seen.out().is_some_and(keeps)
        },
    },
    Rule {
        name: "products are written to outputs of any strides",
        test: (TESTS, "products_into_their_own_factors"),
        matches: |seen| {
            let torch_refuses = seen.torch_refuses("must match the size of tensor");
            seen.call.operator == "aten::matmul.out"
                && torch_refuses
                && !seen.difference.ours.starts_with("aten::")
        },
    },
    Rule {
        name: "outputs that lie between the elements of an input",
        test: (TESTS, "outputs_between_the_elements_of_an_input"),
        matches: |seen| {
            let divides = seen.we_refuse("has a zero") || seen.torch_refuses("ZeroDivisionError");
            (seen.elements().is_some() || divides) && seen.writes_between()
        },
    },
    Rule {
        name: "of several values for one element the last one stays",
        test: ("opgrid-tensor/tests/views.rs", "later_values_stay_and_sums_add_up"),
        matches: |seen| {
            let is_put =
                seen.call.family() == "index_put" && !seen.call.args().any(|arg| *arg == Arg::Bool(true));
            is_put && seen.elements().is_some() && seen.names_elements_twice()
        },
    },
    Rule {
        name: "what is filled in has to fit the dtype, and so have the bounds of a sequence that does not reach them",
        test: (TESTS, "numbers_that_are_written_fit_the_dtype"),
        matches: |seen| {
            let families = ["fill", "full", "linspace", "masked_fill", "scalar_tensor"];
            let words = ["without overflow", "cannot be cast to dtype"];
            families.contains(&seen.call.family()) && words.iter().any(|words| seen.we_refuse(words))
        },
    },
    Rule {
        name: "distances of complex numbers that lie in rows lie in rows",
        test: (TESTS, "distances_of_complex_numbers_lie_in_rows"),
        matches: |seen| {
            let input = seen.call.tensors().first().and_then(|at| seen.case.tensors.get(*at));
            let is_abs = seen.part() == Part::Strides && seen.call.family() == "abs";
            is_abs && input.is_some_and(|input| input.sizes.iter().any(|size| *size < 2))
        },
    },
    Rule {
        name: "what is joined is written to outputs of any strides",
        test: (TESTS, "what_is_joined_is_written_to_outputs_of_any_strides"),
        matches: |seen| {
            let joins = matches!(seen.call.family(), "cat" | "stack") && seen.elements().is_some();
            joins && seen.out().is_some_and(|out| out.sizes.contains(&1))
        },
    },
    Rule {
        name: "an output that is read after it is written, of a product or a reduction",
        test: (TESTS, "products_into_their_own_factors"),
        matches: |seen| {
            let families =
                ["addmm", "all", "amax", "amin", "any", "argmax", "bmm", "matmul", "mean", "mm", "sum"];
            let is_such = !seen.call.positional.is_empty() && families.contains(&seen.call.family());
            let block = |at: usize| seen.case.tensors.get(at).map(|place| place.block);
            let inputs = seen.call.positional.iter().filter_map(|arg| match arg {
                Arg::Tensor(at) => block(*at),
                _ => None,
            });
            let out = seen.out().map(|out| out.block);
            is_such && out.is_some() && inputs.map(Some).any(|block| block == out)
        },
    },
    Rule {
        name: "and and or look at elements before they are converted, which may make them zero",
        test: (TESTS, "truth_is_that_of_the_whole_integer"),
        matches: |seen| {
            let mut dtypes = seen.call.tensors().into_iter().map(|at| seen.case.dtype(at));
            let first = dtypes.next();
            matches!(seen.call.family(), "logical_and" | "logical_or")
                && dtypes.any(|dtype| Some(dtype) != first)
                && seen.elements().is_some()
        },
    },
    Rule {
        name: "any and all look at elements before they become bytes",
        test: (TESTS, "any_and_all_look_at_elements_as_they_are"),
        matches: |seen| {
            let to_bytes = |(dtype, ..): &(DType, Complex64, Complex64)| *dtype == DType::U8;
            matches!(seen.call.family(), "any" | "all")
                && seen.elements().is_some_and(|mut each| each.all(to_bytes))
        },
    },
];

/// The rule that recognises something that differs.
pub fn explains(seen: &Seen<'_>) -> Option<&'static Rule> {
    RULES.iter().find(|rule| (rule.matches)(seen))
}

impl Seen<'_> {
    fn part(&self) -> Part {
        self.difference.part
    }

    fn text(&self, side: &str) -> &str {
        if side == "ours" { &self.difference.ours } else { &self.difference.torch }
    }

    /// Whether only we refuse the call, with these words.
    fn we_refuse(&self, words: &str) -> bool {
        let is_error = self.difference.ours.starts_with("aten::");
        self.part() == Part::Outcome && is_error && self.difference.ours.contains(words)
    }

    /// Whether only torch refuses the call, with these words.
    fn torch_refuses(&self, words: &str) -> bool {
        self.part() == Part::Outcome && self.difference.torch.contains(words)
    }

    /// Whether a tensor is written whose memory another argument sees otherwise.
    fn writes_between(&self) -> bool {
        let places: Vec<&Place> =
            self.call.tensors().into_iter().filter_map(|at| self.case.tensors.get(at)).collect();
        let shares = |(at, one): (usize, &&Place)| {
            places[at + 1..].iter().any(|other| other.block == one.block && other != one)
        };
        places.iter().enumerate().any(shares)
    }

    /// Whether an index list names an element of its tensor more than once.
    fn names_elements_twice(&self) -> bool {
        let mut case = self.case.clone();
        let [Arg::Tensor(input), indices @ Arg::Tensors(_), ..] = self.call.positional.as_slice() else {
            return false;
        };
        let place = &mut case.tensors[*input];
        let count = place.sizes.iter().product::<i64>();
        place.strides = vec![0; place.sizes.len()];
        let mut step = 1;
        for (stride, size) in place.strides.iter_mut().zip(&place.sizes).rev() {
            (*stride, step) = (step, step * size);
        }
        (place.block, place.offset) = (case.blocks.len(), 0);
        case.blocks.push(Block { dtype: DType::I64, bytes: (0..count).flat_map(i64::to_ne_bytes).collect() });
        let positional = vec![Arg::Tensor(*input), indices.clone()];
        case.calls = vec![Call { operator: "aten::index.Tensor".into(), positional, keyword: Vec::new() }];
        let answer = Ours::new().and_then(|ours| ours.run(&case, Device::CPU));
        let Some(named) = answer.ok().and_then(|answers| answers[0].tensor().cloned()) else { return false };
        let mut named: Vec<&[u8]> = named.bytes.chunks(8).collect();
        let all = named.len();
        named.sort_unstable();
        named.dedup();
        named.len() < all
    }

    /// Whether the result of a side is a tensor without elements.
    fn is_empty(&self, side: &str) -> bool {
        let sizes = self.text(side).split_once('[').and_then(|(_, rest)| rest.split_once(']'));
        sizes.is_some_and(|(sizes, _)| sizes.split(", ").any(|size| size == "0"))
    }

    /// The elements that differ, if elements do.
    fn elements(&self) -> Option<std::slice::Iter<'_, (DType, Complex64, Complex64)>> {
        let elements = &self.difference.elements;
        (!elements.is_empty()).then(|| elements.iter())
    }

    /// The output that was given.
    fn out(&self) -> Option<&Place> {
        match self.call.named("out") {
            Some(Arg::Tensor(at)) => self.case.tensors.get(*at),
            _ => None,
        }
    }

    /// Whether an argument has a float that an integer dtype cannot hold, whichever one it is.
    fn has_large_float(&self) -> bool {
        let is_large = |number: &Complex64| !number.re.is_finite() || number.re.abs() >= 128.0;
        let in_tensor = |at: usize| {
            let Some(dtype) = self.case.dtype(at).filter(|dtype| finfo(*dtype).is_ok()) else { return false };
            hex::numbers(dtype, &self.case.blocks[self.case.tensors[at].block].bytes).iter().any(is_large)
        };
        let is_number =
            |arg: &Arg| matches!(arg, Arg::Float(value) if is_large(&Complex64::new(*value, 0.0)));
        self.call.tensors().into_iter().any(in_tensor) || self.call.args().any(is_number)
    }

    /// Whether the strides of torch's result are those that come of inputs of another dtype than the result is
    /// computed in once they have been copied, for which torch makes those dense that are not.
    fn has_converted_input_apart(&self) -> bool {
        let inputs: Vec<_> = self.call.args().take(self.call.args().count()).collect();
        let mut places = Vec::new();
        for arg in inputs {
            match arg {
                Arg::Tensor(at) if self.call.named("out") != Some(arg) => {
                    let Some(place) = self.case.tensors.get(*at) else { return false };
                    places.push((self.case.blocks[place.block].dtype, place));
                }
                _ => {}
            }
        }
        let strides = |converted: &dyn Fn(DType) -> bool, number: bool, reversed: bool| -> Option<String> {
            let mut geometries = Vec::new();
            for (dtype, place) in &places {
                let geometry = Geometry::strided(&place.sizes, &place.strides, 0).ok()?;
                geometries.push(match converted(*dtype) {
                    true => geometry.like(MemoryFormat::Preserve).ok()?,
                    false => geometry,
                });
            }
            if number {
                geometries.push(Geometry::contiguous(&[]).ok()?);
            }
            if reversed {
                geometries.reverse();
            }
            let borrowed: Vec<&Geometry> = geometries.iter().collect();
            let spec = TensorSpec::elementwise(&borrowed, DType::F32, Device::CPU).ok()?;
            Some(format!("{:?}", spec.strides()))
        };
        let orders = [(false, false), (false, true), (true, false), (true, true)];
        let torch = Some(self.difference.torch.clone());
        let mut dtypes: Vec<DType> = places.iter().map(|(dtype, _)| *dtype).collect();
        dtypes.push(self.case.default);
        dtypes.push(DType::Bool);
        // The dtype that it is computed in is one of those, or none: then all are converted.
        let is_torch = |converted: &dyn Fn(DType) -> bool| {
            orders.iter().any(|(number, reversed)| strides(converted, *number, *reversed) == torch)
        };
        dtypes.into_iter().any(|computed| is_torch(&|dtype| dtype != computed)) || is_torch(&|_| true)
    }
}
