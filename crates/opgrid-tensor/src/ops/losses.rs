//! Says how far predictions are from what they should be.

declarations! {
    /// # Losses
    losses {
        binary_cross_entropy {
            /// How unlikely targets are under probabilities of two classes.
            pub BinaryCrossEntropy = "aten::binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor", out;
            /// The gradient of `binary_cross_entropy` by the probabilities.
            pub BinaryCrossEntropyBackward = "aten::binary_cross_entropy_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor", out("grad_input", grad_input);
        }

        binary_cross_entropy_with_logits {
            /// How unlikely targets are under probabilities of two classes, of which the logits are given.
            pub BinaryCrossEntropyWithLogits = "aten::binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int reduction=1) -> Tensor", out;
        }

        cosine_similarity {
            /// The cosine of the angle between vectors along a dimension.
            pub CosineSimilarity = "aten::cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor";
            pub CosineEmbeddingLoss = "aten::cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor";
        }

        cross_entropy_loss {
            /// How unlikely classes, or distributions over classes, are under logits.
            pub CrossEntropyLoss = "aten::cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100, float label_smoothing=0.) -> Tensor";
        }

        ctc_loss {
            /// How unlikely sequences of labels are, whatever the steps are at which they are emitted.
            pub CtcLossIntList = "aten::ctc_loss.IntList(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, int reduction=1, bool zero_infinity=False) -> Tensor";
            pub CtcLossTensor = "aten::ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0, int reduction=1, bool zero_infinity=False) -> Tensor";
            /// The loss of each sequence, and the probabilities of beginnings of alignments, which gradients need.
            pub CtcLossForward = "aten::_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, bool zero_infinity=False) -> (Tensor, Tensor)", out;
            pub CtcLossForwardTensor = "aten::_ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0, bool zero_infinity=False) -> (Tensor, Tensor)", out;
            /// The gradient by the probabilities that `_ctc_loss` gives.
            pub CtcLossBackward = "aten::_ctc_loss_backward(Tensor grad, Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, Tensor neg_log_likelihood, Tensor log_alpha, int blank, bool zero_infinity=False) -> Tensor", out;
            pub CtcLossBackwardTensor = "aten::_ctc_loss_backward.Tensor(Tensor grad, Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, Tensor neg_log_likelihood, Tensor log_alpha, int blank, bool zero_infinity=False) -> Tensor";
        }

        hinge_embedding_loss {
            /// Distances of what is alike, and what those of others lack to a margin.
            pub HingeEmbeddingLoss = "aten::hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int reduction=1) -> Tensor";
        }

        huber_loss {
            /// Squares of small differences, sizes of large ones.
            pub HuberLoss = "aten::huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.) -> Tensor", out;
            /// The gradient of `huber_loss` by its input.
            pub HuberLossBackward = "aten::huber_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float delta) -> Tensor", out("out", grad_input);
        }

        kl_div {
            /// How far distributions are from others, of which the logarithms are given.
            pub KlDiv = "aten::kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor";
        }

        l1_loss {
            /// The sizes of differences.
            pub L1Loss = "aten::l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor";
        }

        margin_ranking_loss {
            /// What the difference of two inputs lacks to a margin, in the order that is wanted.
            pub MarginRankingLoss = "aten::margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor";
        }

        mse_loss {
            /// The squares of differences.
            pub MseLoss = "aten::mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor", out;
            /// The gradient of `mse_loss` by its input.
            pub MseLossBackward = "aten::mse_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor", out("grad_input", grad_input);
        }

        multi_margin_loss {
            /// What the scores of other classes lack to being a margin below that of the target.
            pub MultiMarginLoss = "aten::multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int reduction=1) -> Tensor", out;
            /// The gradient of `multi_margin_loss`.
            pub MultiMarginLossBackward = "aten::multi_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, Scalar p, Scalar margin, Tensor? weight=None, int reduction=1) -> Tensor", out("grad_input", grad_input);
        }

        multilabel_margin_loss {
            /// What the scores of other classes lack to being 1 below those of all targets.
            pub MultilabelMarginLoss = "aten::multilabel_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor", out;
            /// The loss, and which classes are targets.
            pub MultilabelMarginLossForward = "aten::multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction) -> (Tensor output, Tensor is_target)";
            pub MultilabelMarginLossForwardOutput = "aten::multilabel_margin_loss_forward.output(Tensor self, Tensor target, int reduction, *, Tensor(a!) output, Tensor(b!) is_target) -> (Tensor(a!), Tensor(b!))";
            /// The gradient of `multilabel_margin_loss`.
            pub MultilabelMarginLossBackward = "aten::multilabel_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, Tensor is_target) -> Tensor", out("grad_input", grad_input);
        }

        nll_loss {
            /// How unlikely classes are, of which the logarithms of probabilities are given.
            pub NllLoss = "aten::nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> Tensor", out;
            pub NllLossForward = "aten::nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index) -> (Tensor output, Tensor total_weight)";
            pub NllLossForwardOutput = "aten::nll_loss_forward.output(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index, *, Tensor(a!) output, Tensor(b!) total_weight) -> (Tensor(a!), Tensor(b!))";
            /// The negative log-likelihood loss for any number of dimensions.
            pub NllLossNd = "aten::nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> Tensor";
            /// The negative log-likelihood loss of images.
            pub NllLoss2d = "aten::nll_loss2d(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> Tensor", out;
            pub NllLoss2dForward = "aten::nll_loss2d_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index) -> (Tensor output, Tensor total_weight)";
            pub NllLoss2dForwardOutput = "aten::nll_loss2d_forward.output(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index, *, Tensor(a!) output, Tensor(b!) total_weight) -> (Tensor(a!), Tensor(b!))";
        }

        nll_loss_backward {
            /// The gradient of `nll_loss` by its input.
            pub NllLossBackward = "aten::nll_loss_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index, Tensor total_weight) -> Tensor", out("grad_input", grad_input);
            /// The gradient of `nll_loss2d` by its input.
            pub NllLoss2dBackward = "aten::nll_loss2d_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index, Tensor total_weight) -> Tensor", out("grad_input", grad_input);
        }

        poisson_nll_loss {
            /// How unlikely counts are under Poisson distributions.
            pub PoissonNllLoss = "aten::poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> Tensor";
        }

        smooth_l1_loss {
            /// Sizes of differences, squares of small ones.
            pub SmoothL1Loss = "aten::smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.) -> Tensor", out;
            /// The gradient of `smooth_l1_loss` by its input.
            pub SmoothL1LossBackward = "aten::smooth_l1_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float beta) -> Tensor", out("grad_input", grad_input);
        }

        soft_margin_loss {
            /// Logistic losses of two classes.
            pub SoftMarginLoss = "aten::soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor", out;
            /// The gradient of `soft_margin_loss` by its input.
            pub SoftMarginLossBackward = "aten::soft_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor", out("grad_input", grad_input);
        }

        triplet_margin_loss {
            /// What the distance from something else lacks to that from what is alike, and a margin.
            pub TripletMarginLoss = "aten::triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1., float p=2., float eps=9.9999999999999995e-07, bool swap=False, int reduction=1) -> Tensor";
        }
    }
}
