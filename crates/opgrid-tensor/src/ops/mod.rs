//! The operators, in groups, one file for each family; to add one, write its file and its line in the list below.
//!
//! A file declares overloads with [`operator!`](macro@opgrid_core::operator), registers their kernels and gives samples of them in its
//! module `samples`, which is compiled with the feature of that name. Its header gives the formula, shapes, dtypes, aliasing, errors and source. The slope of an operator, where torch has an
//! operator for it, has a file of its own: `sigmoid_backward`. What the operators of a kind share stands in `kinds/`.

mod kinds;
mod prelude;

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use opgrid_core::schema::OperatorName;
use opgrid_core::{Dispatcher, ErrorKind, OnDemand, Registration, Result};

/// Declares the modules, re-exports their overloads and lists their registrations.
///
/// `operators! { pointwise { add, mul } }` expands to `pub mod pointwise { pub mod add; pub mod mul; }`, whose files are
/// `pointwise/add.rs` and `pointwise/mul.rs`, to `pub use pointwise::add::*;` and the same for `mul`, to a list `GROUPS` of the
/// [`OnDemand`] group of each file, and to a function `sample_all` that collects the samples of each, with the
/// feature `samples`.
macro_rules! operators {
    ($($(#[$about:meta])* $group:ident { $($name:ident),* $(,)? })*) => {
        $(
            $(#[$about])*
            pub mod $group {
                $(pub mod $name;)*
            }
            $(pub use $group::$name::*;)*
        )*

        static GROUPS: &[&OnDemand] = &[$($(&$group::$name::OPERATORS,)*)*];

        #[cfg(feature = "samples")]
        fn sample_all(samples: &mut crate::samples::Samples) {
            $($(samples.collect($group::$name::samples::collect);)*)*
        }
    };
}

operators! {
    /// Computes each element from the elements at its place.
    pointwise {
        abs,
        acos,
        acosh,
        add,
        addcdiv,
        addcmul,
        asin,
        asinh,
        atan,
        atan2,
        atanh,
        bitwise_and,
        bitwise_left_shift,
        bitwise_not,
        bitwise_or,
        bitwise_right_shift,
        bitwise_xor,
        ceil,
        clamp,
        clamp_max,
        clamp_min,
        copysign,
        cos,
        cosh,
        deg2rad,
        digamma,
        div,
        div_mode,
        erf,
        erfc,
        erfinv,
        exp,
        exp2,
        expm1,
        float_power,
        floor,
        floor_divide,
        fmax,
        fmin,
        fmod,
        frac,
        gcd,
        heaviside,
        hypot,
        isfinite,
        isinf,
        isnan,
        isneginf,
        isposinf,
        lcm,
        ldexp,
        lerp,
        lgamma,
        log,
        log10,
        log1p,
        log2,
        logaddexp,
        logaddexp2,
        logical_and,
        logical_not,
        logical_or,
        logical_xor,
        logit,
        maximum,
        minimum,
        mul,
        nan_to_num,
        neg,
        nextafter,
        positive,
        pow,
        rad2deg,
        reciprocal,
        relu,
        remainder,
        round,
        round_decimals,
        rsqrt,
        rsub,
        sgn,
        sigmoid,
        sigmoid_backward,
        sign,
        signbit,
        sin,
        sinc,
        sinh,
        sqrt,
        square,
        sub,
        tan,
        tanh,
        tanh_backward,
        trunc,
        where_self,
        xlogy,
    }

    /// Compares elements, or whole tensors.
    comparisons {
        allclose,
        eq,
        equal,
        ge,
        gt,
        isclose,
        le,
        lt,
        ne,
    }

    /// Makes one element of many.
    reductions {
        all,
        amax,
        amin,
        aminmax,
        any,
        argmax,
        argmin,
        count_nonzero,
        cov,
        linalg_vector_norm,
        logsumexp,
        max,
        mean,
        min,
        nanmean,
        nansum,
        norm,
        prod,
        std,
        std_mean,
        sum,
        var,
        var_mean,
    }

    /// Joins each element with all before it along a dimension.
    scans {
        cummax,
        cummin,
        cumprod,
        cumsum,
        diff,
        logcumsumexp,
    }

    /// Divides exponentials by their sum.
    softmaxes {
        log_softmax,
        softmax,
    }

    /// Puts elements in order, or looks for them where they are so.
    sorting {
        argsort,
        bincount,
        bucketize,
        histc,
        isin,
        kthvalue,
        median,
        mode,
        msort,
        nanmedian,
        nonzero,
        searchsorted,
        sort,
        topk,
        unique,
        unique_consecutive,
        unique_dim,
    }

    /// Multiplies matrices.
    products {
        addbmm,
        addmm,
        addmv,
        addr,
        baddbmm,
        bilinear,
        bmm,
        dot,
        einsum,
        inner,
        kron,
        linalg_cross,
        linalg_matmul,
        linalg_multi_dot,
        linear,
        matmul,
        matrix_power,
        mm,
        mv,
        outer,
        tensordot,
    }

    /// Gives other sizes and strides to the same memory.
    views {
        alias,
        as_strided,
        atleast,
        broadcast_tensors,
        diagonal,
        expand,
        flatten,
        matrix_transpose,
        meshgrid,
        movedim,
        narrow,
        permute,
        reshape,
        resize,
        select,
        set,
        slice,
        split,
        squeeze,
        tensor_split,
        transpose,
        unbind,
        unflatten,
        unfold,
        unsqueeze,
        view,
        view_dtype,
    }

    /// Makes tensors from sizes and options.
    factories {
        arange,
        empty,
        empty_like,
        empty_strided,
        eye,
        full,
        full_like,
        linspace,
        logspace,
        new_empty,
        new_full,
        ones,
        scalar_tensor,
        tril_indices,
        zeros,
    }

    /// Draws random numbers.
    random {
        bernoulli,
        cauchy,
        dropout,
        exponential,
        geometric,
        log_normal,
        multinomial,
        normal,
        normal_of_tensors,
        rand,
        rand_like,
        randint,
        randint_like,
        randn,
        randn_like,
        random_integers,
        randperm,
        uniform,
    }

    /// Copies elements, between tensors or from and to numbers.
    copies {
        clone,
        contiguous,
        copy,
        fill,
        local_scalar_dense,
        pin_memory,
        to,
        to_copy,
    }

    /// Reads or writes the elements that indices or masks choose.
    indexing {
        argwhere,
        combinations,
        diag,
        flip,
        gather,
        index,
        index_add,
        index_copy,
        index_fill,
        index_put,
        index_reduce,
        index_select,
        masked_fill,
        masked_scatter,
        masked_select,
        one_hot,
        put,
        repeat,
        repeat_interleave,
        roll,
        rot90,
        scatter,
        scatter_add,
        scatter_reduce,
        take,
        take_along_dim,
        trace,
        tril,
        view_scatter,
    }

    /// Puts tensors together.
    joining {
        block_diag,
        cartesian_prod,
        cat,
        hstack,
        stack,
        vander,
    }

    /// Activation functions of networks, and their slopes.
    activations {
        celu,
        elu,
        elu_backward,
        gelu,
        gelu_backward,
        glu,
        hardshrink,
        hardsigmoid,
        hardswish,
        hardtanh,
        hardtanh_backward,
        leaky_relu,
        leaky_relu_backward,
        log_sigmoid,
        log_sigmoid_forward,
        mish,
        prelu,
        relu6,
        selu,
        silu,
        silu_backward,
        softplus,
        softplus_backward,
        softshrink,
        threshold,
        threshold_backward,
    }

    /// Takes complex numbers apart and puts them together.
    complex {
        angle,
        complex_tensor,
        conj,
        conj_physical,
        conj_physical_kernel,
        imag,
        polar,
        real,
        resolve_conj,
        view_as_complex,
        view_as_real,
    }

    /// Says how far predictions are from what they should be.
    losses {
        binary_cross_entropy,
        binary_cross_entropy_with_logits,
        cosine_similarity,
        cross_entropy_loss,
        hinge_embedding_loss,
        huber_loss,
        kl_div,
        l1_loss,
        margin_ranking_loss,
        mse_loss,
        nll_loss,
        poisson_nll_loss,
        smooth_l1_loss,
        soft_margin_loss,
        triplet_margin_loss,
    }

    /// Asks what a tensor is like.
    questions {
        dtypes,
        is_nonzero,
        sizes,
    }

    /// Puts a frame around tensors.
    padding {
        constant,
        pad,
        reflection,
        replication,
    }

    /// Sums products of filters with the patches of images.
    convolutions {
        conv,
        conv_transpose,
        convolution,
        convolution_backward,
    }

    /// Measures how far points lie from each other.
    distances {
        cdist,
        dist,
        pairwise_distance,
        pdist,
    }

    /// Transforms numbers to frequencies, and back.
    fourier {
        fft,
        fft_c2c,
        fftfreq,
        fftn,
        fftshift,
        hfft,
        hfftn,
    }

    /// Makes one element of those under a window that moves over images.
    pooling {
        adaptive_avg_pool,
        adaptive_max_pool,
        avg_pool,
        max_pool,
    }

    /// Computes images of other sizes, or puts their elements elsewhere.
    resampling {
        affine_grid_generator,
        grid_sampler,
        im2col,
        pixel_shuffle,
        upsample_aa,
        upsample_bicubic2d,
        upsample_linear,
        upsample_nearest,
    }

    /// Takes averages away from elements and divides by deviations.
    normalisations {
        batch_norm,
        native_batch_norm,
        native_group_norm,
        native_group_norm_backward,
        native_layer_norm,
        native_layer_norm_backward,
        rms_norm,
    }

    /// Adds up values by how well queries fit keys.
    attention {
        flash_attention,
        safe_softmax,
        scaled_dot_product_attention,
    }

    /// Goes through sequences step by step.
    recurrent {
        gru,
        lstm,
        rnn,
    }

    /// Looks up rows of tables.
    embeddings {
        embedding,
        embedding_bag,
        embedding_dense_backward,
        embedding_renorm,
    }
    /// Updates parameters by their gradients.
    optimizers {
        foreach,
        fused_adam,
        fused_sgd,
    }
}

/// The differences from torch that come of what operators share.
#[cfg(feature = "samples")]
pub(crate) const DIFFERENCES: [&[crate::samples::Difference]; 5] = [
    crate::samples::departures::result::DIFFERENCES,
    kinds::pointwise::samples::DIFFERENCES,
    kinds::factory::samples::DIFFERENCES,
    kinds::draws::samples::DIFFERENCES,
    kinds::fourier::samples::DIFFERENCES,
];

/// Gives a dispatcher the operators of this crate, the namespace `aten`; dropping the registration takes them back. Those of a
/// file are registered when one of them is needed.
///
/// # Errors
///
/// The namespace is taken.
pub fn register(dispatcher: &Dispatcher) -> Result<Registration> {
    let mut library = dispatcher.library("aten");
    library.on_demand(GROUPS);
    library.finish()
}

/// The samples of the operators of this crate, for the suite of `opgrid-testing`: with the feature `samples`.
#[cfg(feature = "samples")]
pub fn samples() -> crate::samples::Samples {
    let mut samples = crate::samples::Samples::new();
    sample_all(&mut samples);
    samples
}

/// Gives the global dispatcher all operators, unless it has them.
///
/// Typed overloads of this crate register their own on their first call, and with the feature `all-operators` do this. With the
/// operators comes the layer that records gradients. Threads that ask meanwhile wait; a listener that is told of the operators may
/// call them.
///
/// # Errors
///
/// Somebody else has taken the namespace `aten`, or the fallback for autograd.
pub fn home() -> Result<()> {
    layers()?;
    ALL.once(|| {
        let mut library = Dispatcher::global().fragment("aten");
        library.on_demand(GROUPS);
        match library.finish() {
            Ok(registration) => registration.keep(),
            // Somebody has given them to the global dispatcher himself.
            Err(error) if error.kind() == ErrorKind::Duplicate => {}
            Err(error) => return Err(error),
        }
        Ok(())
    })
}

/// Gives the global dispatcher the operators of one file, and what a program has with them.
///
/// # Errors
///
/// As [`home`], and those of the file's registration.
pub(crate) fn home_of(group: &'static OnDemand) -> Result<()> {
    // Without the feature nothing leads from here to the list of all files, so that programs link those that they name.
    if cfg!(feature = "all-operators") {
        home()?
    } else {
        layers()?
    }
    Dispatcher::global().demand(group)
}

/// Gives the global dispatcher the namespace and the layer that records gradients, without operators.
///
/// # Errors
///
/// As [`home`].
pub(crate) fn layers() -> Result<()> {
    LAYERS.once(|| {
        let global = Dispatcher::global();
        // Who registers the operators himself installs layers himself. Others may have operators of their own in the namespace.
        let is_ours = |name: &OperatorName| name.name == "aten::empty" && name.overload == "memory_format";
        if global.names().iter().any(is_ours) {
            return Ok(());
        }
        let mut registration = crate::layers::autograd::install(global)?;
        let mut library = global.library("aten");
        if !cfg!(feature = "all-operators") {
            library.hint(
                "a program without the feature `all-operators` holds the operators that it names in Rust, by \
                 `Dispatcher::operator(AddTensor)` or a call; `opgrid::dispatcher()` registers all",
            );
        }
        registration.join(library.finish()?);
        registration.keep();
        Ok(())
    })
}

/// The first use of the operators, and of the layer that records gradients.
static ALL: Step = Step::new();
static LAYERS: Step = Step::new();

/// What is held while the process forks. A thread that forks in a step of its own has it already.
pub(crate) fn hold_at_fork(held: &mut opgrid_core::fork::Held) {
    if !IS_MAKING.get() {
        held.lock(&ALL.alone);
        held.lock(&LAYERS.alone);
    }
}

/// Something that is done once for the process.
struct Step {
    is_done: AtomicBool,
    alone: Mutex<()>,
}

thread_local! {
    /// Whether a step is done on this thread.
    static IS_MAKING: Cell<bool> = const { Cell::new(false) };
}

impl Step {
    const fn new() -> Self {
        Self { is_done: AtomicBool::new(false), alone: Mutex::new(()) }
    }

    /// Takes the step, unless it was taken. Who comes meanwhile waits, and who comes from within goes on: a listener that calls
    /// what it is told of.
    fn once(&self, take: impl FnOnce() -> Result<()>) -> Result<()> {
        /// Says that the thread is through, also where a listener panicked.
        struct Through;
        impl Drop for Through {
            fn drop(&mut self) {
                IS_MAKING.set(false);
            }
        }
        if self.is_done.load(Ordering::Acquire) || IS_MAKING.get() {
            return Ok(());
        }
        crate::forking::prepare();
        let _alone = self.alone.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.is_done.load(Ordering::Acquire) {
            IS_MAKING.set(true);
            let _through = Through;
            take()?;
            self.is_done.store(true, Ordering::Release);
        }
        Ok(())
    }
}
