"""Pictures in another style: a network of residual blocks with instance norms, trained by features of a fixed network."""

from collections import namedtuple

import torch
import torch.nn as nn


class Features(nn.Module):
    """Four slices of a fixed network, whose results are named as those of VGG."""

    def __init__(self, requires_grad=False):
        super().__init__()
        widths = [3, 6, 8, 10, 12]
        layers = []
        for a, b in zip(widths, widths[1:]):
            layers += [nn.Conv2d(a, b, 3, padding=1), nn.ReLU(inplace=False), nn.AvgPool2d(2)]
        features = nn.Sequential(*layers)
        self.slice1, self.slice2, self.slice3, self.slice4 = (torch.nn.Sequential() for _ in range(4))
        for part, places in zip((self.slice1, self.slice2, self.slice3, self.slice4), (range(2), range(2, 5), range(5, 8), range(8, 11))):
            for x in places:
                part.add_module(str(x), features[x])
        if not requires_grad:
            for param in self.parameters():
                param.requires_grad = False

    def forward(self, X):
        results = []
        for part in self.children():
            X = part(X)
            results.append(X)
        vgg_outputs = namedtuple("VggOutputs", ["relu1_2", "relu2_2", "relu3_3", "relu4_3"])
        return vgg_outputs(*results)


class ConvLayer(torch.nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, upsample=None):
        super().__init__()
        self.upsample = upsample
        self.reflection_pad = torch.nn.ReflectionPad2d(kernel_size // 2)
        self.conv2d = torch.nn.Conv2d(in_channels, out_channels, kernel_size, stride)

    def forward(self, x):
        if self.upsample:
            x = torch.nn.functional.interpolate(x, mode="nearest", scale_factor=self.upsample)
        return self.conv2d(self.reflection_pad(x))


class ResidualBlock(torch.nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1, self.conv2 = (ConvLayer(channels, channels, kernel_size=3, stride=1) for _ in range(2))
        self.in1, self.in2 = (torch.nn.InstanceNorm2d(channels, affine=True) for _ in range(2))
        self.relu = torch.nn.ReLU()

    def forward(self, x):
        out = self.relu(self.in1(self.conv1(x)))
        return self.in2(self.conv2(out)) + x


class TransformerNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.in1 = ConvLayer(3, 4, 5, 1), torch.nn.InstanceNorm2d(4, affine=True, track_running_stats=True)
        self.conv2, self.in2 = ConvLayer(4, 8, 3, 2), torch.nn.InstanceNorm2d(8, affine=True)
        self.res1, self.res2 = ResidualBlock(8), ResidualBlock(8)
        self.deconv1, self.in3 = ConvLayer(8, 4, 3, 1, upsample=2), torch.nn.InstanceNorm2d(4, affine=True)
        self.deconv2 = ConvLayer(4, 3, 5, stride=1)
        self.relu = torch.nn.ReLU()

    def forward(self, X):
        y = self.relu(self.in2(self.conv2(self.relu(self.in1(self.conv1(X))))))
        y = self.res2(self.res1(y))
        return self.deconv2(self.relu(self.in3(self.deconv1(y))))


def gram_matrix(y):
    (b, ch, h, w) = y.size()
    features = y.view(b, ch, w * h)
    return features.bmm(features.transpose(1, 2)) / (ch * h * w)


def normalize_batch(batch):
    mean = batch.new_tensor([0.485, 0.456, 0.406]).view(-1, 1, 1)
    std = batch.new_tensor([0.229, 0.224, 0.225]).view(-1, 1, 1)
    return (batch.div_(255.0) - mean) / std


def total_variation(image):
    return image.diff(dim=-1).abs().mean() + torch.diff(image, dim=-2).abs().mean()


def main(record):
    torch.manual_seed(42)
    torch.set_default_dtype(torch.float64)
    transformer, vgg = TransformerNet(), Features()
    optimizer, mse_loss = torch.optim.Adam(transformer.parameters(), 1e-2), torch.nn.MSELoss()
    ramp = torch.linspace(0, 255, 16)
    style = torch.stack([ramp.expand(16, 16), ramp[:, None].expand(16, 16), (ramp * 8).remainder(255).expand(16, 16)]).repeat(4, 1, 1, 1)
    gram_style = [gram_matrix(y) for y in vgg(normalize_batch(style.clone()))]
    transformer.train()
    for batch_id in range(20):
        n_batch = 4
        x = torch.rand(n_batch, 3, 16, 16).mul(255).to(memory_format=torch.channels_last)
        optimizer.zero_grad()
        y = transformer(x)
        x, y = normalize_batch(x), normalize_batch(y)
        features_y, features_x = vgg(y), vgg(x)
        content_loss = mse_loss(features_y.relu2_2, features_x.relu2_2)
        style_loss = 0.0
        for ft_y, gm_s in zip(features_y, gram_style):
            gm_y = gram_matrix(ft_y.contiguous())
            style_loss += mse_loss(gm_y, gm_s[:n_batch, :, :])
        total_loss = content_loss + 1e2 * style_loss + 1e-2 * total_variation(y)
        total_loss.backward()
        optimizer.step()
        record(batch_id, content=content_loss.item(), style=style_loss.item(), total=total_loss.item())
    record("end", mean=transformer.in1.running_mean, var=transformer.in1.running_var, tracked=transformer.in1.num_batches_tracked)
    state_dict = transformer.state_dict()
    # Old models have statistics that newer ones do not keep.
    for key in list(state_dict.keys()):
        if key.endswith(("running_mean", "running_var")):
            del state_dict[key]
    loaded = TransformerNet().eval()
    found = loaded.load_state_dict(state_dict, strict=False)
    record("end", missing=found.missing_keys, text=str(found))
    with torch.no_grad():
        output = transformer.eval()(style[:1])
    record("end", pixels=output.clamp(0, 255).mul(0.1).round()[0, 0, 0], names=list(dict(transformer.named_children())))
    # The picture itself is optimized.
    image = style[:1].flip(-1).clone().div(255).requires_grad_(True)
    optimizer = torch.optim.LBFGS([image], max_iter=4, history_size=5)
    for step in range(5):

        def closure():
            with torch.no_grad():
                image.clamp_(0, 1)
            optimizer.zero_grad()
            loss = sum(mse_loss(gram_matrix(f), g[:1]) for f, g in zip(vgg(image), gram_style)) * 1e3
            loss.backward()
            return loss

        record(f"image {step}", loss=optimizer.step(closure).item(), mean=image.mean())
