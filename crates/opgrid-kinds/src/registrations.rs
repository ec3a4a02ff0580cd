//! How a crate declares the operators that it implements.

/// Declares the modules of operator files and exports their registrations to the declarations of `opgrid-tensor`.
///
/// `operators! { pointwise { add, mul } }` expands to `pub mod pointwise { pub mod add; pub mod mul; }`, whose files are
/// `pointwise/add.rs` and `pointwise/mul.rs`; to `pub use pointwise::add::*` and the same for `mul`; to an exported function for
/// each, which calls `add::register`; and, with the feature `samples`, to a function `samples` that collects those of each.
///
/// A program that names an operator links its function, and with it its implementation. Nothing else keeps implementations, so that
/// it has the operators that it names; it needs this crate in its graph (`use opgrid_operators as _;`, or `opgrid`).
#[macro_export]
macro_rules! operators {
    ($($(#[$about:meta])* $group:ident { $($name:ident),* $(,)? })*) => {
        $(
            $(#[$about])*
            pub mod $group {
                $(pub mod $name;)*

                // An attribute at a call of `global_asm!` is not heeded, so that the lint is allowed here.
                #[allow(unsafe_code)]
                mod registrations {
                    $(
                        // SAFETY: `declarations!` of `opgrid-tensor` says the same signature for this name; nothing else has it.
                        #[unsafe(export_name = ::opgrid_tensor::__registration_symbol!($group, $name))]
                        fn $name(library: &mut ::opgrid_core::Library) {
                            super::$name::register(library)
                        }
                        // A dynamic library would export the symbol, and so keep all operators; and one that is loaded with all
                        // its names global would be given the operators of another.
                        #[cfg(all(unix, not(target_vendor = "apple")))]
                        ::core::arch::global_asm!(concat!(
                            ".hidden \"", ::opgrid_tensor::__registration_symbol!($group, $name), "\""
                        ));
                        #[cfg(target_vendor = "apple")]
                        ::core::arch::global_asm!(concat!(
                            ".private_extern \"_", ::opgrid_tensor::__registration_symbol!($group, $name), "\""
                        ));
                    )*
                }
            }
            $(pub use $group::$name::*;)*
        )*

        /// The samples of the operators of this crate.
        #[cfg(feature = "samples")]
        pub fn samples(samples: &mut ::opgrid_samples::Samples) {
            $($(samples.collect($group::$name::samples::collect);)*)*
        }
    };
}
