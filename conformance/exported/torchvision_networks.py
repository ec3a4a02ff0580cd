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
