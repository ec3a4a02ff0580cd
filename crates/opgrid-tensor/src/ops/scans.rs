//! Joins each element with all before it along a dimension.

declarations! {
    /// # Cumulative sums, products and extremes
    scans {
        cummax {
            /// The largest of all elements up to each one along a dimension, and where it is.
            pub Cummax = "aten::cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)", out, method;
        }

        cummaxmin_backward {
            /// The gradient of `cummax` and of `cummin`.
            pub CummaxminBackward = "aten::cummaxmin_backward(Tensor grad, Tensor input, Tensor indices, int dim) -> Tensor";
        }

        cummin {
            /// The smallest of all elements up to each one along a dimension, and where it is.
            pub Cummin = "aten::cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)", out, method;
        }

        cumprod {
            pub Cumprod = "aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", in_place, out, method;
            /// The gradient of `cumprod`.
            pub CumprodBackward = "aten::cumprod_backward(Tensor grad, Tensor input, int dim, Tensor output) -> Tensor";
        }

        cumsum {
            pub Cumsum = "aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", in_place, out, method;
        }

        diff {
            pub Diff = "aten::diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor", out, method, arguments(n, dim);
        }

        gradient {
            /// The slopes of a function at points of a grid, a step apart along each dimension.
            pub GradientScalarint = "aten::gradient.scalarint(Tensor self, *, Scalar? spacing=None, int? dim=None, int edge_order=1) -> Tensor[]";
            /// The slopes of a function at points of a grid, a step apart along some dimensions.
            pub GradientScalararray = "aten::gradient.scalararray(Tensor self, *, Scalar spacing, int[] dim, int edge_order=1) -> Tensor[]";
            /// The slopes of a function at points of a grid, one apart along some dimensions.
            pub GradientArray = "aten::gradient.array(Tensor self, *, int[] dim, int edge_order=1) -> Tensor[]";
            /// The slopes of a function at points of a grid, with a step for each dimension.
            pub GradientScalarrayint = "aten::gradient.scalarrayint(Tensor self, *, Scalar[] spacing, int? dim=None, int edge_order=1) -> Tensor[]";
            /// The slopes of a function at points of a grid, with a step for each of some dimensions.
            pub GradientScalarrayarray = "aten::gradient.scalarrayarray(Tensor self, *, Scalar[] spacing, int[] dim, int edge_order=1) -> Tensor[]";
            /// The slopes of a function at points of a grid, with coordinates along each dimension.
            pub GradientTensorarrayint = "aten::gradient.tensorarrayint(Tensor self, *, Tensor[] spacing, int? dim=None, int edge_order=1) -> Tensor[]";
            /// The slopes of a function at points of a grid, with coordinates along some dimensions.
            pub GradientTensorarray = "aten::gradient.tensorarray(Tensor self, *, Tensor[] spacing, int[] dim, int edge_order=1) -> Tensor[]";
        }

        logcumsumexp {
            /// The logarithms of the sums of exponentials of all elements up to each one along a dimension.
            pub Logcumsumexp = "aten::logcumsumexp(Tensor self, int dim) -> Tensor", out, method;
        }

        trapezoid {
            /// The area below lines from point to point.
            pub TrapezoidX = "aten::trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor";
            /// The area below lines between points at one distance.
            pub TrapezoidDx = "aten::trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor";
            /// As `trapezoid`.
            pub TrapzX = "aten::trapz.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor";
            /// As `trapezoid`.
            pub TrapzDx = "aten::trapz.dx(Tensor y, *, float dx=1., int dim=-1) -> Tensor";
            /// The area below lines from the first point to each other one.
            pub CumulativeTrapezoidX = "aten::cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor";
            /// The area below lines from the first point to each other one, all at one distance.
            pub CumulativeTrapezoidDx = "aten::cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor";
        }
    }
}
