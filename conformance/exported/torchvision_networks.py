"""One small member of every family of torchvision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from networks import Inputs, Network, image, patterns

CLASSES = 20
"""Fewer than ImageNet's 1000, so that files are small."""

CLASSIFIERS = {
    "alexnet": 96,
    "vgg11_bn": 64,
    "resnet18": 64,
    "resnext50_32x4d": 64,
    "wide_resnet50_2": 64,
    "densenet121": 64,
    "googlenet": 96,
    "inception_v3": 128,
    "mobilenet_v2": 64,
    "mobilenet_v3_small": 64,
    "mobilenet_v3_large": 64,
    "mnasnet0_5": 64,
    "shufflenet_v2_x0_5": 64,
    "squeezenet1_1": 64,
    "efficientnet_b0": 64,
    "efficientnet_v2_s": 64,
    "regnet_x_400mf": 64,
    "regnet_y_400mf": 64,
    "convnext_tiny": 64,
    "swin_t": 64,
    "swin_v2_t": 64,
}
"""Those that take images of any size, with the size."""

SEGMENTERS = ["fcn_resnet50", "deeplabv3_mobilenet_v3_large", "deeplabv3_resnet50", "lraspp_mobilenet_v3_large"]

VIDEOS = {"r3d_18": (4, 32), "mc3_18": (4, 32), "r2plus1d_18": (4, 32), "s3d": (16, 224)}
"""With frames and size."""

ONE_STAGE = {"score_thresh": 0.02, "detections_per_img": 20, "topk_candidates": 60}

WHOLE_DETECTORS = {
    "ssdlite320_mobilenet_v3_large": ONE_STAGE,
    "fcos_resnet50_fpn": ONE_STAGE | {"min_size": 64, "max_size": 96},
    "fasterrcnn_mobilenet_v3_large_fpn": {"min_size": 64, "max_size": 96, "rpn_pre_nms_top_n_test": 80, "rpn_post_nms_top_n_test": 40, "box_detections_per_img": 20},
}
"""Those that are exported with the choice of boxes, with their settings."""

QUICK = {"resnet18", "mobilenet_v3_small", "swin_v2_t", "lraspp_mobilenet_v3_large", "r3d_18"}


def networks() -> list[Network]:
    found = [classifier(name, size) for name, size in CLASSIFIERS.items()]
    found.append(Network("torchvision.vit", vit, image(64)))
    found.append(Network("torchvision.maxvit", maxvit, image(64)))
    found += [segmenter(name) for name in SEGMENTERS]
    found += [video(name, *shape) for name, shape in VIDEOS.items()]
    found.append(Network("torchvision.mvit", mvit, clip(8, 32)))
    found.append(Network("torchvision.swin3d", swin3d, clip(4, 32)))
    found.append(Network("torchvision.raft_small", raft, pair_of_images, batch=1))
    found.append(Network("torchvision.fpn_resnet18", pyramid, image(64)))
    found += [detector(name) for name in ("ssdlite320_mobilenet_v3_large", "retinanet_resnet50_fpn", "fcos_resnet50_fpn")]
    found.append(Network("torchvision.deformable", deformable, image(24)))
    found.append(Network("torchvision.chosen_boxes", chosen_boxes, image(32), batch=1, dynamic=False))
    found += [whole_detector(name, settings) for name, settings in WHOLE_DETECTORS.items()]
    found += [detector("fasterrcnn_mobilenet_v3_large_320_fpn"), detector("maskrcnn_resnet50_fpn"), detector("keypointrcnn_resnet50_fpn")]
    return found


def classifier(name: str, size: int) -> Network:
    def make() -> Any:
        from torchvision import models

        more = {"init_weights": True, "aux_logits": False} if name in ("googlenet", "inception_v3") else {}
        return getattr(models, name)(weights=None, num_classes=CLASSES, **more)

    return Network(f"torchvision.{name}", make, image(size), is_quick=name in QUICK)


def segmenter(name: str) -> Network:
    def make() -> Any:
        from torchvision.models import segmentation

        return getattr(segmentation, name)(weights=None, weights_backbone=None, num_classes=5)

    return Network(f"torchvision.{name}", make, image(64), is_quick=name in QUICK)


def clip(frames: int, size: int) -> Callable[[int], Inputs]:
    return lambda batch: ((patterns(batch, 3, frames, size, size),), {})


def video(name: str, frames: int, size: int) -> Network:
    def make() -> Any:
        from torchvision.models import video

        return getattr(video, name)(weights=None, num_classes=CLASSES)

    return Network(f"torchvision.{name}", make, clip(frames, size), is_quick=name in QUICK)


def vit() -> Any:
    from torchvision.models import VisionTransformer

    return VisionTransformer(64, 16, num_layers=3, num_heads=4, hidden_dim=64, mlp_dim=128, num_classes=CLASSES)


def maxvit() -> Any:
    from torchvision.models import MaxVit

    return MaxVit((64, 64), 16, 2, [16, 32], [1, 1], 8, 0.0, num_classes=CLASSES)


def mvit() -> Any:
    from torchvision.models.video.mvit import MSBlockConfig, MViT

    def block(before: int, after: int, heads: int, kernel: list[int], stride: list[int]) -> Any:
        return MSBlockConfig(heads, before, after, kernel, [3, 3, 3], stride, [1, 2, 2])

    blocks = [block(16, 16, 1, [], []), block(16, 32, 2, [3, 3, 3], [1, 2, 2]), block(32, 32, 2, [3, 3, 3], [1, 1, 1])]
    return MViT((32, 32), 8, blocks, False, True, True, True, num_classes=CLASSES)


def swin3d() -> Any:
    from torchvision.models.video.swin_transformer import SwinTransformer3d

    return SwinTransformer3d([2, 4, 4], 16, [2, 2], [2, 4], [2, 4, 4], num_classes=CLASSES)


def raft() -> Any:
    from torch import nn
    from torchvision.models.optical_flow import raft_small

    class Flow(nn.Module):
        """RAFT with two updates instead of twelve."""

        def __init__(self) -> None:
            super().__init__()
            self.raft = raft_small(weights=None)

        def forward(self, one: Any, other: Any) -> Any:
            return self.raft(one, other, num_flow_updates=2)

    return Flow()


def pair_of_images(batch: int) -> Inputs:
    one = patterns(batch, 3, 128, 128).tanh()
    return (one, one.roll(2, 3)), {}


def pyramid() -> Any:
    from torchvision.models.detection.backbone_utils import resnet_fpn_backbone

    return resnet_fpn_backbone(backbone_name="resnet18", weights=None, trainable_layers=5)


def deformable() -> Any:
    """Two deformable convolutions, one with a mask and groups, whose offsets are computed."""
    from torch import nn
    from torchvision.ops import DeformConv2d

    class Deformable(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.offset = nn.Conv2d(3, 18, 3, padding=1)
            self.first = DeformConv2d(3, 8, 3, padding=1)
            self.more = nn.Conv2d(8, 2 * 3 * 9, 3, 2, 1)
            self.second = DeformConv2d(8, 12, 3, 2, 1, groups=2)
            self.head = nn.Linear(12, CLASSES)

        def forward(self, x: Any) -> Any:
            x = self.first(x, self.offset(x)).relu()
            offset, mask = self.more(x).split([36, 18], 1)
            x = self.second(x, offset, mask.sigmoid()).relu()
            return self.head(x.mean((2, 3)))

    return Deformable()


def chosen_boxes() -> Any:
    """What a detector with two stages does: boxes for each place, the best that do not overlap, and a class for what they cut out."""
    import torch
    from torch import nn
    from torchvision import ops

    class Detector(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.features = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 16, 3, 2, 1), nn.ReLU())
            self.scores = nn.Conv2d(16, 1, 1)
            self.boxes = nn.Conv2d(16, 4, 1)
            self.head = nn.Sequential(nn.Flatten(), nn.Linear(16 * 9, 32), nn.ReLU(), nn.Linear(32, CLASSES))

        def forward(self, images: Any) -> Any:
            features = self.features(images)
            height, width = features.shape[-2:]
            rows, columns = torch.meshgrid(torch.arange(height) * 4.0 + 2, torch.arange(width) * 4.0 + 2, indexing="ij")
            sides = self.boxes(features)[0].sigmoid() * 10 + 1
            boxes = torch.stack([columns - sides[0], rows - sides[1], columns + sides[2], rows + sides[3]], -1).flatten(0, 1)
            boxes = ops.clip_boxes_to_image(boxes, images.shape[-2:])
            scores, order = self.scores(features)[0].flatten().sort(descending=True)
            boxes = boxes[order]
            kept = ops.nms(boxes, scores, 0.3)
            boxes = boxes[kept]
            cut = ops.roi_align(features, [boxes], 3, 0.25, 2, True)
            return boxes, scores[kept].sigmoid(), self.head(cut).softmax(-1)

    return Detector()


def detector(name: str) -> Network:
    """What a detector gives before boxes are chosen: the features of its backbone and what its heads say of them."""

    def make() -> Any:
        from torch import nn
        from torchvision.models import detection

        whole = getattr(detection, name)(weights=None, weights_backbone=None, num_classes=5)

        class Heads(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.backbone = whole.backbone
                self.head = whole.rpn.head if hasattr(whole, "rpn") else whole.head

            def forward(self, images: Any) -> Any:
                features = self.backbone(images)
                return features, self.head(list(features.values()))

        return Heads()

    return Network(f"torchvision.{name}", make, image(64))


def whole_detector(name: str, settings: dict[str, Any]) -> Network:
    """A detector from the image to the boxes that it chooses."""

    def make() -> Any:
        from torch import nn
        from torchvision.models import detection

        let_torch_export()

        class Detector(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.whole = getattr(detection, name)(weights=None, weights_backbone=None, num_classes=5, **settings)

            def forward(self, images: Any) -> Any:
                return self.whole(list(images.unbind()))

        return Detector()

    return Network(f"torchvision.{name}_whole", make, image(64), batch=1, dynamic=False)


def let_torch_export() -> None:
    """Takes out of torchvision what asks for a number of boxes as a number, which torch 2.15 does not export: a faster way for few boxes, a
    test for none, and `len` of tensors."""
    import torch
    from torchvision.models.detection import roi_heads, rpn
    from torchvision.ops import boxes, poolers

    def batched_nms(found: Any, scores: Any, groups: Any, threshold: float) -> Any:
        # Boxes of different groups do not overlap: no image is as large.
        return boxes.nms(found + 512 * groups[:, None], scores, threshold)

    boxes.batched_nms = batched_nms
    for module in (boxes, poolers, roi_heads, rpn):
        module.len = lambda items: items.shape[0] if isinstance(items, torch.Tensor) else len(items)
