//! What runs when torch loads a library with operators.
#![allow(unsafe_code)]

use std::panic::catch_unwind;

/// Runs a function when the library is loaded, as by `torch.ops.load_library`: one that defines operators and
/// [exports](crate::Export) them. It gives `opgrid::Result<()>`.
///
/// There is nobody to whom an error could be returned, so it is printed to the standard error, and torch does not find the
/// operators. In a process without torch, such as that of tests, nothing runs.
///
/// The macro is for the root of a crate of type `cdylib`:
///
/// ```
/// use opgrid_torch::Export;
///
/// fn load() -> opgrid::Result<()> {
///     Export::new(&opgrid::dispatcher()?.find("aten::square")?).named("mine::square")?.register()?;
///     Ok(())
/// }
///
/// opgrid_torch::on_load!(load);
/// # fn main() {}
/// ```
///
/// Expands to a function without arguments and its address in the section `.init_array`, which the loader calls.
#[macro_export]
macro_rules! on_load {
    ($function:path) => {
        #[allow(unsafe_code)]
        const _: () = {
            extern "C" fn __on_load() {
                $crate::__load(env!("CARGO_PKG_NAME"), $function)
            }

            // SAFETY: the section holds addresses of such functions, and nothing else.
            #[used]
            #[unsafe(link_section = ".init_array")]
            static ON_LOAD: extern "C" fn() = __on_load;
        };
    };
}

/// Runs the function of a library; for the macro.
#[doc(hidden)]
pub fn __load(library: &str, function: fn() -> opgrid::Result<()>) {
    if !crate::abi::is_loaded() {
        return;
    }
    match catch_unwind(function) {
        Ok(Ok(())) => {}
        Ok(Err(error)) => eprintln!("{library}: cannot give torch its operators: {error}"),
        Err(_) => eprintln!("{library}: cannot give torch its operators: the function panicked, see above"),
    }
}
