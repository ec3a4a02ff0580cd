//! Operators of every kind that `operator!` knows in a plugin, in a file that is one of the host as well: what it is written with is
//! the `use` line.

use super::api::*;

/// The key of the layer.
const LAYER: DispatchKey = DispatchKey::TestingOnlyGenericMode;

operator! {
    pub Plain = "forms::plain(int n, float x, bool flag, complex c, Scalar s, str name) -> str";
    pub Optional = "forms::optional(Tensor? x, int? n, str? name, int[]? sizes, Scalar? s, *, float? by=None) -> str";
    pub Lists = "forms::lists(int[2] n, float[] x, bool[] flags, Tensor[] tensors, Tensor?[] gaps) -> str";
    pub Properties = "forms::properties(ScalarType dtype, Layout layout, MemoryFormat format, Device device) -> \
                      (ScalarType, Layout, MemoryFormat, Device)";
    pub Several = "forms::several(Tensor self, int n) -> (Tensor, int[], float, str?, Tensor[], Scalar)";
    pub Nothing = "forms::nothing(int n) -> ()";
    /// The product with a number, in all forms.
    pub Scale = "forms::scale(Tensor self, float by) -> Tensor", in_place, out;
    pub Chosen = "forms::chosen(Tensor self) -> str";
    pub Captured = "forms::captured(int n) -> int";
    pub Keys = "forms::keys(Tensor self) -> bool";
    pub Shown = "forms::shown(Any x) -> str";
    pub Drawn = "forms::drawn(Tensor self, Generator? generator=None) -> Tensor";
    pub Through = "forms::through(Tensor self, Tensor[] more, int? n) -> str";
    pub Described = "forms::described(Tensor self) -> str";
    pub Read = "forms::read(Tensor self) -> str";
    pub Unknown = "forms::unknown() -> int";
    pub Missing = "missing::operator(int n) -> int";
    pub TooFew = "aten::mul.Tensor(Tensor self) -> Tensor";
    pub CallsTooFew = "forms::calls_too_few(Tensor self) -> Tensor";
    pub CallsMissing = "forms::calls_missing(int n) -> int";
    pub Refuses = "forms::refuses(Tensor self) -> Tensor";
    CloneTensor = "aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor";
    CopyInplace = "aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)";
    MulInplace = "aten::mul_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)";
    UniformInplace = "aten::uniform_(Tensor(a!) self, float from=0, float to=1, *, Generator? generator=None) -> Tensor(a!)";
    Max = "aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)";
}

fn named(s: Scalar) -> String {
    match s {
        Scalar::Int(n) => format!("int {n}"),
        Scalar::Float(x) => format!("float {x}"),
        Scalar::Bool(flag) => format!("bool {flag}"),
        Scalar::Complex(c) => format!("complex {} {}", c.re, c.im),
        // Integers above the largest `i64`, which plugins are not given.
        #[allow(unreachable_patterns)]
        other => format!("{other:?}"),
    }
}

fn optional(
    x: Option<&Tensor>,
    n: Option<i64>,
    name: Option<&str>,
    sizes: Option<&[i64]>,
    s: Option<Scalar>,
    by: Option<f64>,
) -> Result<String> {
    Ok(format!("{:?} {n:?} {name:?} {sizes:?} {:?} {by:?}", x.map(Tensor::sizes), s.map(named)))
}

fn lists(
    n: &[i64],
    x: &[f64],
    flags: &[bool],
    tensors: &[Tensor],
    gaps: &[Option<Tensor>],
) -> Result<String> {
    let sums: Result<Vec<f32>> = tensors.iter().map(|x| Ok(x.to_vec::<f32>()?.iter().sum())).collect();
    let gaps: Vec<_> = gaps.iter().map(|x| x.as_ref().map(Tensor::numel)).collect();
    Ok(format!("{n:?} {x:?} {flags:?} {:?} {gaps:?}", sums?))
}

type Six = (Tensor, Vec<i64>, f64, Option<String>, Vec<Tensor>, Scalar);

fn several(input: &Tensor, n: i64) -> Result<Six> {
    let (values, indices) = Max.call(input, 0, true)?;
    let name = (n > 0).then(|| format!("{} at {n}", indices.dim()));
    Ok((values, vec![n; 3], n as f64 / 2.0, name, vec![input.clone(); 2], Scalar::from(n > 0)))
}

fn scale(input: &Tensor, by: f64) -> Result<Tensor> {
    let result = CloneTensor.call(input, Some(MemoryFormat::Contiguous))?;
    ScaleInplace.call(&result, by)?;
    Ok(result)
}

fn scale_out(input: &Tensor, by: f64, out: &Tensor) -> Result<()> {
    CopyInplace.call(out, input, false)?;
    ScaleInplace.call(out, by)
}

/// The operators, each with its kernels.
///
/// # Errors
///
/// The namespace is taken.
pub fn register(dispatcher: &Dispatcher) -> Result<Registration> {
    let everywhere = DispatchKey::CompositeExplicitAutograd;
    let mut library = dispatcher.library("forms");
    library.define(Plain).tag("core").kernel(everywhere, |n, x, flag, c, s, name| {
        Ok(format!("{n} {x} {flag} {} {} {} {name}", c.re, c.im, named(s)))
    });
    library.define(Optional).kernel(everywhere, optional);
    library.define(Lists).kernel(everywhere, lists);
    library
        .define(Properties)
        .kernel(everywhere, |dtype, layout, format, device| Ok((dtype, layout, format, device)));
    library.define(Several).kernel(DispatchKey::CompositeImplicitAutograd, several);
    library.define(Nothing).kernel(everywhere, |_| Ok(()));
    library.define(Scale).kernel(DispatchKey::Cpu, scale).layer(LAYER, |next, (input, by)| {
        assert!(next.keys().contains(LAYER));
        next.call((&next.call((input, by))?, 2.0))
    });
    library.define(ScaleInplace).kernel(DispatchKey::Cpu, |input, by| MulInplace.call(input, by.into()));
    library
        .define(ScaleOut)
        .kernel(DispatchKey::Cpu, scale_out)
        .layer(LAYER, |next, (input, by, out)| next.call((input, 10.0 * by, out)));
    library
        .define(Chosen)
        .provider(DispatchKey::Cpu, "even", |x| Ok(format!("{:?} is even", x.sizes())))
        .when("the number of elements is even", |x| Ok(x.numel() % 2 == 0))
        .provider(DispatchKey::Cpu, "odd", |x| Ok(format!("{:?} is odd", x.sizes())));
    let name = String::from("aten::add.Tensor");
    library.define(Captured).closure(everywhere, move |(n,)| {
        let found = Dispatcher::current().find(&name)?;
        Ok(n + found.name().to_string().len() as i64)
    });
    library.define(Keys).kernel_with_keys(DispatchKey::Cpu, |keys, _| {
        Ok(keys.contains(DispatchKey::Cpu) && !keys.is_empty())
    });
    library.define(Shown).kernel(everywhere, |x| Ok(x.to_string()));
    library.define(Drawn).kernel(everywhere, |input, generator| {
        let result = CloneTensor.call(input, None)?;
        UniformInplace.call(&result, 0.0, 1.0, generator)?;
        Ok(result)
    });
    library.define(Through).kernel(everywhere, |input, more, n| {
        let gaps: Vec<_> = [None].into_iter().chain(more.iter().cloned().map(Some)).collect();
        let lists = Lists.call(&[n.unwrap_or(5), 6], &[0.5], &[true, false], more, &gaps)?;
        let optional = Optional.call(Some(input), n, Some("größer"), None, Some(true.into()), Some(1.0))?;
        Nothing.call(7)?;
        Ok(format!("{lists} {optional}"))
    });
    library.define(Described).kernel(everywhere, |x| {
        Ok(format!("{:?} {:?} {} {} {}", x.sizes(), x.strides(), x.dim(), x.numel(), x.is_contiguous()))
    });
    library.define(Read).kernel(everywhere, |x| Ok(format!("{:?}", x.to_vec::<f32>()?)));
    library.define(Unknown);
    library.define(CallsTooFew).kernel(everywhere, |x| TooFew.call(x));
    library.define(CallsMissing).kernel(everywhere, |n| Missing.call(n));
    library.define(Refuses).kernel(everywhere, |x| {
        Err(Error::new(ErrorKind::Argument, format!("{} dimensions are too many", x.dim())))
    });
    library.finish()
}
