//! Measures how far points lie from each other.

declarations! {
    /// # Distances
    distances {
        cdist {
            /// The distances of all rows of one matrix from all rows of another.
            pub Cdist = "aten::cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor";
            /// What `cdist` is made of.
            pub CdistForward = "aten::_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor", out;
            /// The gradient of the first matrix of `cdist`.
            pub CdistBackward = "aten::_cdist_backward(Tensor grad_output, Tensor x1, Tensor x2, float p, Tensor cdist) -> Tensor", out;
        }

        dist {
            /// The norm of the difference of two tensors.
            pub Dist = "aten::dist(Tensor self, Tensor other, Scalar p=2) -> Tensor", out;
        }

        pairwise_distance {
            /// How far the points of two lists lie from each other.
            pub PairwiseDistance = "aten::pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=9.9999999999999995e-07, bool keepdim=False) -> Tensor";
        }

        pdist {
            /// The distances of all pairs of rows.
            pub Pdist = "aten::pdist(Tensor self, float p=2.) -> Tensor";
            /// What `pdist` is made of.
            pub PdistForward = "aten::_pdist_forward(Tensor self, float p=2.) -> Tensor", out;
            /// The gradient of `pdist`.
            pub PdistBackward = "aten::_pdist_backward(Tensor grad_output, Tensor self, float p, Tensor pdist) -> Tensor", out;
        }
    }
}
