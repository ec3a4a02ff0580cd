//! Takes complex numbers apart and puts them together.

declarations! {
    /// # Complex numbers
    complex {
        angle {
            /// The angles of complex numbers.
            pub Angle = "aten::angle(Tensor self) -> Tensor", out, method;
        }

        complex_tensor {
            /// Complex numbers from their parts.
            pub ComplexParts = "aten::complex(Tensor real, Tensor imag) -> Tensor", out;
        }

        conj {
            /// Complex numbers with the other sign of the imaginary part.
            pub Conj = "aten::conj(Tensor(a) self) -> Tensor(a)", method;
            pub ConjKernel = "aten::_conj(Tensor(a) self) -> Tensor(a)";
            /// Complex numbers with the other sign of the imaginary part, and real ones, in a new tensor.
            pub ConjCopy = "aten::_conj_copy(Tensor self) -> Tensor", out;
        }

        conj_physical {
            /// Complex numbers with the other sign of the imaginary part, in memory of their own.
            pub ConjPhysical = "aten::conj_physical(Tensor self) -> Tensor", in_place, out, method;
        }

        conj_physical_kernel {
            pub ConjPhysicalKernel = "aten::_conj_physical(Tensor self) -> Tensor";
            pub ConjPhysicalKernelOut = "aten::_conj_physical.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)";
        }

        imag {
            /// The imaginary parts.
            pub Imag = "aten::imag(Tensor(a) self) -> Tensor(a)", method;
        }

        polar {
            /// Complex numbers from distances and angles.
            pub Polar = "aten::polar(Tensor abs, Tensor angle) -> Tensor", out;
        }

        real {
            /// The real parts.
            pub Real = "aten::real(Tensor(a) self) -> Tensor(a)", method;
        }

        resolve_conj {
            /// The tensor itself: conjugates are computed when they are asked for.
            pub ResolveConj = "aten::resolve_conj(Tensor(a) self) -> Tensor(a)", method;
            /// The tensor itself: negatives are computed when they are asked for.
            pub ResolveNeg = "aten::resolve_neg(Tensor(a) self) -> Tensor(a)", method;
            pub IsConj = "aten::is_conj(Tensor self) -> bool";
            pub IsNeg = "aten::is_neg(Tensor self) -> bool";
        }

        view_as_complex {
            /// Pairs of numbers as complex ones.
            pub ViewAsComplex = "aten::view_as_complex(Tensor(a) self) -> Tensor(a)", method;
            /// Pairs of numbers as complex ones in a new tensor.
            pub ViewAsComplexCopy = "aten::view_as_complex_copy(Tensor self) -> Tensor", out;
        }

        view_as_real {
            /// The parts of complex numbers as a dimension more.
            pub ViewAsReal = "aten::view_as_real(Tensor(a) self) -> Tensor(a)", method;
            /// The parts of complex numbers as a dimension more, in a new tensor.
            pub ViewAsRealCopy = "aten::view_as_real_copy(Tensor self) -> Tensor", out;
        }
    }
}
