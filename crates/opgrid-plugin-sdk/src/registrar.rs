//! What a plugin registers: blocks of definitions and kernels, layers and backends.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_void};
use std::panic::Location;
use std::ptr;

use opgrid_abi::{
    OPGRID_BLOCK_FRAGMENT, OPGRID_BLOCK_IMPLEMENTATIONS, OPGRID_BLOCK_LIBRARY, OPGRID_KERNEL_ENGINE,
    OPGRID_KERNEL_FALLTHROUGH, OpgridBlock, OpgridDefinition, OpgridDevice, OpgridError, OpgridKernel,
    OpgridKeys, OpgridLayer, OpgridLibrary, OpgridOperator, OpgridResults, OpgridValue,
};

use crate::call::Call;
use crate::error::{Error, ErrorKind, Result, check};
use crate::host::{self, Keys, c_text, freeing, guarded};
use crate::tensor::Device;
use crate::value::{FromValue, IntoResults, ResultTypes, SchemaType};

/// The plugin while it registers itself.
pub struct Registrar(*mut OpgridLibrary);

/// A boxed kernel.
type Function = Box<dyn Fn(&mut Call<'_>) -> Result<()> + Send + Sync>;
/// A kernel's condition.
type Condition = Box<dyn Fn(&Call<'_>) -> Result<bool> + Send + Sync>;

/// What a context points to.
struct Context {
    function: Function,
    condition: Option<Condition>,
}

unsafe extern "C" fn run(
    context: *mut c_void,
    operator: *const OpgridOperator,
    keys: OpgridKeys,
    arguments: *const OpgridValue,
    count: usize,
    results: *mut OpgridResults,
    error: *mut *mut OpgridError,
) -> i32 {
    guarded(error, || {
        // SAFETY: the host gives the context of the registration, and what a kernel gets.
        let (context, mut call) =
            unsafe { (&*context.cast::<Context>(), Call::new(operator, keys, arguments, count, results)) };
        (context.function)(&mut call)
    })
}

unsafe extern "C" fn holds(
    context: *mut c_void,
    arguments: *const OpgridValue,
    count: usize,
    out: *mut i32,
    error: *mut *mut OpgridError,
) -> i32 {
    guarded(error, || {
        // SAFETY: the host gives the context of the registration, and what a condition gets.
        let (context, call) = unsafe {
            let call = Call::new(ptr::null(), OpgridKeys::default(), arguments, count, ptr::null_mut());
            (&*context.cast::<Context>(), call)
        };
        let holds = context.condition.as_ref().map_or(Ok(true), |condition| condition(&call))?;
        // SAFETY: as above.
        unsafe { out.write(i32::from(holds)) };
        Ok(())
    })
}

unsafe extern "C" fn release(context: *mut c_void) {
    // SAFETY: the host gives the context of the registration back once.
    freeing(|| drop(unsafe { Box::from_raw(context.cast::<Context>()) }));
}

/// A closure that can be a kernel: of values, or of a [`Call`]. `A` tells their forms apart.
pub trait Kernel<A>: Send + Sync + 'static {
    /// Runs it.
    ///
    /// # Errors
    ///
    /// Those of the kernel; arguments of other kinds than its parameters.
    fn run(&self, call: &mut Call<'_>) -> Result<()>;
}

impl<F> Kernel<Call<'static>> for F
where
    F: Fn(&mut Call<'_>) -> Result<()> + Send + Sync + 'static,
{
    fn run(&self, call: &mut Call<'_>) -> Result<()> {
        self(call)
    }
}

/// A kernel of values, whose types say what its schema is.
pub trait TypedKernel<A>: Kernel<A> {
    /// The schema behind the operator's name, with torch's names for arguments: `(Tensor _0, float _1) -> Tensor`.
    fn schema() -> String;
}

/// The text of parameters of these types.
fn parameters(types: &[String]) -> String {
    let each = types.iter().enumerate().map(|(place, text)| format!("{text} _{place}"));
    each.collect::<Vec<_>>().join(", ")
}

/// Implements kernels of so many values.
macro_rules! kernels {
    ($($count:literal: ($($name:ident $place:literal),*);)*) => {$(
        impl<F, R, $($name),*> Kernel<(R, $($name,)*)> for F
        where
            F: Fn($($name),*) -> Result<R> + Send + Sync + 'static,
            R: IntoResults,
            $($name: FromValue,)*
        {
            fn run(&self, call: &mut Call<'_>) -> Result<()> {
                if call.len() != $count {
                    let (name, found) = (call.name(), call.len());
                    let message = format!("{name}: a kernel takes {} arguments, the schema has {found}", $count);
                    return Err(Error::new(ErrorKind::Value, message));
                }
                let results = self($(call.argument::<$name>($place)?),*)?;
                results.leave(call)
            }
        }

        impl<F, R, $($name),*> TypedKernel<(R, $($name,)*)> for F
        where
            F: Fn($($name),*) -> Result<R> + Send + Sync + 'static,
            R: IntoResults + ResultTypes,
            $($name: FromValue + SchemaType,)*
        {
            fn schema() -> String {
                let types: [String; $count] = [$($name::text()),*];
                format!("({}) -> {}", parameters(&types), R::text())
            }
        }
    )*};
}

kernels! {
    0: ();
    1: (A 0);
    2: (A 0, B 1);
    3: (A 0, B 1, C 2);
    4: (A 0, B 1, C 2, D 3);
    5: (A 0, B 1, C 2, D 3, E 4);
    6: (A 0, B 1, C 2, D 3, E 4, G 5);
}

impl Registrar {
    pub(crate) fn new(library: *mut OpgridLibrary) -> Self {
        Self(library)
    }

    #[track_caller]
    fn open(&self, kind: u32, namespace: &str, key: Option<&str>) -> Result<Block> {
        let (api, place) = (host::api()?, Place::here()?);
        let (namespace, key) = (c_text(namespace)?, key.map(c_text).transpose()?);
        let (mut block, mut error) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: every pointer is of something here, or null.
        let status = unsafe {
            (api.block_open)(
                self.0,
                kind,
                namespace.as_ptr(),
                pointer(key.as_ref()),
                place.file.as_ptr(),
                place.line,
                &raw mut block,
                &raw mut error,
            )
        };
        check(status, error)?;
        Ok(Block(block))
    }

    /// The one block that owns a namespace.
    ///
    /// # Errors
    ///
    /// A name that is no identifier.
    #[track_caller]
    pub fn library(&self, namespace: &str) -> Result<Block> {
        self.open(OPGRID_BLOCK_LIBRARY, namespace, None)
    }

    /// A block that adds operators to a namespace of somebody else.
    ///
    /// # Errors
    ///
    /// A name that is no identifier.
    #[track_caller]
    pub fn fragment(&self, namespace: &str) -> Result<Block> {
        self.open(OPGRID_BLOCK_FRAGMENT, namespace, None)
    }

    /// A block that adds kernels for a key to a namespace, and fallbacks for it in the namespace `_`.
    ///
    /// # Errors
    ///
    /// No such key.
    #[track_caller]
    pub fn implementations(&self, namespace: &str, key: &str) -> Result<Block> {
        self.open(OPGRID_BLOCK_IMPLEMENTATIONS, namespace, Some(key))
    }

    /// Allocates a layer, or finds it; its key. It belongs to the process.
    ///
    /// # Errors
    ///
    /// No place fits.
    pub fn layer(&self, layer: &Layer<'_>) -> Result<Keys> {
        let (api, name) = (host::api()?, c_text(layer.name)?);
        let names = |keys: &[&str]| keys.iter().map(|key| c_text(key)).collect::<Result<Vec<CString>>>();
        let (above, below) = (names(layer.above)?, names(layer.below)?);
        let pointers =
            |names: &[CString]| names.iter().map(|name| name.as_ptr()).collect::<Vec<*const c_char>>();
        let (above, below) = (pointers(&above), pointers(&below));
        let description = OpgridLayer {
            struct_size: size_of::<OpgridLayer>(),
            name: name.as_ptr(),
            above: above.as_ptr(),
            above_count: above.len(),
            below: below.as_ptr(),
            below_count: below.len(),
            excludes_below: layer.excludes_below.0,
        };
        let (mut keys, mut error) = (OpgridKeys::default(), ptr::null_mut());
        // SAFETY: every pointer is of something here.
        check(unsafe { (api.layer)(&raw const description, &raw mut keys, &raw mut error) }, error)?;
        Ok(Keys(keys))
    }

    /// Allocates a backend, or finds it: its key and its current device. It belongs to the process.
    ///
    /// # Errors
    ///
    /// A name that cannot be; no place is free.
    pub fn backend(&self, name: &str) -> Result<(Keys, Device)> {
        let (api, name) = (host::api()?, c_text(name)?);
        let (mut keys, mut device) = (OpgridKeys::default(), OpgridDevice { kind: 0, index: -1 });
        let mut error = ptr::null_mut();
        // SAFETY: every pointer is of something here.
        let status = unsafe { (api.backend)(name.as_ptr(), &raw mut keys, &raw mut device, &raw mut error) };
        check(status, error)?;
        Ok((Keys(keys), Device(device)))
    }
}

/// A layer to be allocated.
#[derive(Clone, Copy, Debug, Default)]
pub struct Layer<'a> {
    /// Its name, an identifier.
    pub name: &'a str,
    /// The keys before which it runs.
    pub above: &'a [&'a str],
    /// The keys after which it runs.
    pub below: &'a [&'a str],
    /// What is skipped, beside the layer itself, while one of its kernels calls on.
    pub excludes_below: Keys,
}

/// A place in a source file.
struct Place {
    file: CString,
    line: u32,
}

impl Place {
    #[track_caller]
    fn here() -> Result<Self> {
        let location = Location::caller();
        Ok(Self { file: c_text(location.file())?, line: location.line() })
    }
}

fn pointer(text: Option<&CString>) -> *const c_char {
    text.map_or(ptr::null(), |text| text.as_ptr())
}

/// A block of registrations. It ends when the plugin's entry returns.
pub struct Block(*mut OpgridBlock);

impl Block {
    /// Lets kernels of the block replace those that are there.
    ///
    /// # Errors
    ///
    /// The entry has returned.
    pub fn allow_override(&self) -> Result<()> {
        let mut error = ptr::null_mut();
        // SAFETY: the host knows its blocks.
        check(unsafe { (host::api()?.block_allow_override)(self.0, &raw mut error) }, error)
    }

    /// Defines an operator by its schema.
    ///
    /// # Errors
    ///
    /// The entry has returned. Mistakes in the schema are reported when the plugin is loaded.
    #[track_caller]
    pub fn define(&self, schema: &str) -> Result<()> {
        self.define_tagged(schema, &[], None)
    }

    /// The same with tags, and with a kind whose defaults serve the operator, such as `pointwise unary`.
    ///
    /// # Errors
    ///
    /// As [`define`](Self::define); a kind that no operator is of.
    #[track_caller]
    pub fn define_tagged(&self, schema: &str, tags: &[&str], kind: Option<&str>) -> Result<()> {
        let (api, place, schema) = (host::api()?, Place::here()?, c_text(schema)?);
        let tags = tags.iter().map(|tag| c_text(tag)).collect::<Result<Vec<_>>>()?;
        let pointers: Vec<*const c_char> = tags.iter().map(|tag| tag.as_ptr()).collect();
        let kind = kind.map(c_text).transpose()?;
        let definition = OpgridDefinition {
            struct_size: size_of::<OpgridDefinition>(),
            schema: schema.as_ptr(),
            tags: pointers.as_ptr(),
            tag_count: pointers.len(),
            kind: pointer(kind.as_ref()),
            file: place.file.as_ptr(),
            line: place.line,
        };
        let mut error = ptr::null_mut();
        // SAFETY: every pointer is of something here, or null.
        check(unsafe { (api.define)(self.0, &raw const definition, &raw mut error) }, error)
    }

    /// Defines an operator with a kernel of its own, which every key takes that has no other. Of a name without parentheses
    /// the kernel's types give the schema.
    ///
    /// # Errors
    ///
    /// As [`define`](Self::define).
    ///
    /// # Examples
    ///
    /// ```
    /// use opgrid_plugin_sdk::{Registrar, Result, Tensor};
    ///
    /// fn register(registrar: &Registrar) -> Result<()> {
    ///     let library = registrar.library("myops")?;
    ///     // myops::first(Tensor _0, int? _1) -> (Tensor, int)
    ///     library.operator("first", |x: Tensor, n: Option<i64>| Ok((x, n.unwrap_or(1))))?;
    ///     library.operator("half(float x) -> float", |x: f64| Ok(x / 2.0))
    /// }
    /// ```
    #[track_caller]
    pub fn operator<A, K: TypedKernel<A>>(&self, schema: &str, kernel: K) -> Result<()> {
        let name = schema.split('(').next().unwrap_or(schema).trim();
        match name.len() == schema.len() {
            true => self.define(&format!("{name}{}", K::schema()))?,
            false => self.define(schema)?,
        }
        let context =
            Context { function: Box::new(move |call: &mut Call<'_>| kernel.run(call)), condition: None };
        self.add(Some(name), None, Some(context), 0, None)
    }

    /// Gives an operator a kernel for a key.
    ///
    /// # Errors
    ///
    /// No such key; the entry has returned.
    #[track_caller]
    pub fn implement<A, K: Kernel<A>>(&self, name: &str, key: &str, kernel: K) -> Result<()> {
        let context =
            Context { function: Box::new(move |call: &mut Call<'_>| kernel.run(call)), condition: None };
        self.add(Some(name), Some(key), Some(context), 0, None)
    }

    /// Gives an operator a kernel for a key that joins others of its cell by the name `provider`, for calls only for which the
    /// condition holds. `when` completes "runs when …".
    ///
    /// # Errors
    ///
    /// As [`implement`](Self::implement).
    #[track_caller]
    pub fn provider<A, K: Kernel<A>>(
        &self,
        name: &str,
        key: &str,
        provider: &str,
        kernel: K,
        when: &str,
        condition: impl Fn(&Call<'_>) -> Result<bool> + Send + Sync + 'static,
    ) -> Result<()> {
        let function: Function = Box::new(move |call: &mut Call<'_>| kernel.run(call));
        let context = Context { function, condition: Some(Box::new(condition)) };
        self.add(Some(name), Some(key), Some(context), 0, Some((provider, when)))
    }

    /// Lets calls of an operator step over a key.
    ///
    /// # Errors
    ///
    /// As [`implement`](Self::implement).
    #[track_caller]
    pub fn fallthrough(&self, name: &str, key: &str) -> Result<()> {
        self.add(Some(name), Some(key), None, OPGRID_KERNEL_FALLTHROUGH, None)
    }

    /// Serves every operator that has no kernel for the block's key.
    ///
    /// # Errors
    ///
    /// The entry has returned.
    #[track_caller]
    pub fn fallback(
        &self,
        kernel: impl Fn(&mut Call<'_>) -> Result<()> + Send + Sync + 'static,
    ) -> Result<()> {
        self.add(None, None, Some(Context { function: Box::new(kernel), condition: None }), 0, None)
    }

    /// The same for a layer that is meant to serve every operator, and is not counted as a slow path.
    ///
    /// # Errors
    ///
    /// As [`fallback`](Self::fallback).
    #[track_caller]
    pub fn engine(&self, kernel: impl Fn(&mut Call<'_>) -> Result<()> + Send + Sync + 'static) -> Result<()> {
        let context = Context { function: Box::new(kernel), condition: None };
        self.add(None, None, Some(context), OPGRID_KERNEL_ENGINE, None)
    }

    #[track_caller]
    fn add(
        &self,
        name: Option<&str>,
        key: Option<&str>,
        context: Option<Context>,
        flags: u32,
        provider: Option<(&str, &str)>,
    ) -> Result<()> {
        let (api, place) = (host::api()?, Place::here()?);
        let (name, key) = (name.map(c_text).transpose()?, key.map(c_text).transpose()?);
        let provider = provider.map(|(name, when)| Ok((c_text(name)?, c_text(when)?))).transpose()?;
        let (has_function, has_condition) =
            (context.is_some(), context.as_ref().is_some_and(|context| context.condition.is_some()));
        let text = |text: Option<&CString>| text.map_or(ptr::null(), |text| CStr::as_ptr(text));
        let description = OpgridKernel {
            struct_size: size_of::<OpgridKernel>(),
            key: pointer(key.as_ref()),
            kernel: if has_function { Some(run) } else { None },
            context: context.map_or(ptr::null_mut(), |context| Box::into_raw(Box::new(context)).cast()),
            release: if has_function { Some(release) } else { None },
            flags,
            line: place.line,
            file: place.file.as_ptr(),
            provider: text(provider.as_ref().map(|(name, _)| name)),
            condition: if has_condition { Some(holds) } else { None },
            condition_text: text(provider.as_ref().map(|(_, when)| when)),
            description: ptr::null(),
        };
        let mut error = ptr::null_mut();
        // SAFETY: every pointer is of something here, or null; the host takes the context.
        let status = unsafe {
            match &name {
                Some(name) => (api.implement)(self.0, name.as_ptr(), &raw const description, &raw mut error),
                None => (api.fallback)(self.0, &raw const description, &raw mut error),
            }
        };
        check(status, error)
    }
}
