//! The kinds of operators that this crate knows. Libraries add their own, under these or beside them.

use opgrid_core::Kind;

/// Computes each element of the result from the elements at the same place of its inputs, which broadcast.
pub static POINTWISE: Kind = Kind::new("pointwise");
/// Pointwise operators of one input.
pub static POINTWISE_UNARY: Kind = Kind::under("pointwise unary", &POINTWISE);
/// Pointwise operators of two inputs.
pub static POINTWISE_BINARY: Kind = Kind::under("pointwise binary", &POINTWISE);
/// Pointwise operators of three inputs.
pub static POINTWISE_TERNARY: Kind = Kind::under("pointwise ternary", &POINTWISE);
/// Pointwise operators of two inputs with a bool result.
pub static COMPARISON: Kind = Kind::under("comparison", &POINTWISE_BINARY);
/// Lets channels or halves of a tensor pass through a function of others.
pub static GATE: Kind = Kind::new("gate");
/// Says how far predictions are from what they should be.
pub static LOSS: Kind = Kind::new("loss");
/// Makes one element of many, along dimensions or over all of them.
pub static REDUCTION: Kind = Kind::new("reduction");
/// Computes lines of the result from lines of its inputs along a dimension.
pub static ALONG_DIMENSION: Kind = Kind::new("along a dimension");
/// Divides exponentials by their sum, and what belongs to it.
pub static SOFTMAX: Kind = Kind::under("softmax", &ALONG_DIMENSION);
/// Joins each element with all before it.
pub static SCAN: Kind = Kind::under("scan", &ALONG_DIMENSION);
/// Puts elements in order, or looks for them where they are so.
pub static SORTING: Kind = Kind::new("sorting");
/// Multiplies matrices.
pub static PRODUCT: Kind = Kind::new("product");
/// Multiplies stacks of as many matrices.
pub static PRODUCT_OF_STACKS: Kind = Kind::under("product of stacks", &PRODUCT);
/// Takes matrices apart, or solves equations with them: the last two dimensions are theirs, those before count them.
pub static FACTORIZATION: Kind = Kind::new("factorization");
/// Sums products of filters with the patches of images.
pub static CONVOLUTION: Kind = Kind::new("convolution");
/// Makes one element of those under a window that moves over images.
pub static POOLING: Kind = Kind::new("pooling");
/// Computes images of other sizes, or the same elements in other places of images.
pub static RESAMPLING: Kind = Kind::new("resampling");
/// Measures how far points lie from each other.
pub static DISTANCE: Kind = Kind::new("distance");
/// Fourier transforms along dimensions.
pub static FOURIER: Kind = Kind::new("fourier");
/// Fourier transforms of overlapping parts of signals, multiplied by a window.
pub static SHORT_TIME_TRANSFORM: Kind = Kind::new("short-time transform");
/// Gives other sizes and strides to the memory of its first input.
pub static VIEW: Kind = Kind::new("view");
/// Makes a new tensor of sizes and options.
pub static FACTORY: Kind = Kind::new("factory");
/// Draws random numbers.
pub static RANDOM: Kind = Kind::under("random", &FACTORY);
/// Copies elements, to a new tensor or another one, perhaps to another dtype or device.
pub static COPY: Kind = Kind::new("copy");
/// Reads or writes elements that indices choose.
pub static INDEXING: Kind = Kind::new("indexing");
/// Puts a frame around a tensor.
pub static PADDING: Kind = Kind::new("padding");
/// Puts tensors together along a dimension.
pub static JOINING: Kind = Kind::new("joining");
/// Looks at elements and answers with a number instead of a tensor.
pub static QUESTION: Kind = Kind::new("question");
/// Takes averages away and divides by deviations.
pub static NORMALISATION: Kind = Kind::new("normalisation");
/// Adds up values by how well queries fit keys.
pub static ATTENTION: Kind = Kind::new("attention");
/// Goes through a sequence step by step, with a state.
pub static RECURRENT: Kind = Kind::new("recurrent");
/// Updates parameters by their gradients.
pub static OPTIMIZER: Kind = Kind::new("optimizer");
