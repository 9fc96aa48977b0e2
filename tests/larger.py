#!/usr/bin/env python3
"""Exports ten programs of the size that people ship, with random weights, as cases for conformance.py and latency.py.

    larger.py --exportcase PATH/exportcase.py FOLDER [PATTERN]...

Needs what exportcase.py names, torchao and transformers; all ten take 3 GB and some minutes. Each case is
FOLDER/larger/NAME; one that is there already is left as it is. Exit 1 when one does not export.
"""
import math, sys

import torch
from torch import nn
from torch.export import Dim, export
from torch.nn import functional as F
from torch.nn.utils.parametrizations import weight_norm

import exporting
from exporting import tokens

MADE = {}


def larger(what, *inputs, dynamic=None, tolerance=1e-3):
    """The function below gives the module: inputs are its examples, or shapes of random ones."""
    def keep(f):
        MADE[f.__name__] = dict(what=what, make=f, inputs=inputs, dynamic=dynamic, tolerance=tolerance)
        return f
    return keep


class Of(nn.Module):
    """One tensor out of what a model of transformers gives."""
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(x, return_dict=True).last_hidden_state


def of(name, part=None, **settings):
    import transformers
    config = getattr(transformers, name + 'Config')(**settings, attn_implementation='eager')
    model = getattr(transformers, name + 'Model')(config)
    return Of(getattr(model, part) if part else model)


@larger('wav2vec 2.0 base, one second of sound', (1, 16000))
def wav2vec2_base():
    return of('Wav2Vec2')


@larger('Whisper tiny encoder, thirty seconds', (1, 80, 3000))
def whisper_tiny():
    return of('Whisper', 'encoder', d_model=384, encoder_layers=4, encoder_attention_heads=6, encoder_ffn_dim=1536, decoder_layers=1)


@larger('BERT of six layers, any length', tokens(1, 64, n=30522), dynamic=({1: Dim('length', min=2, max=128)},))
def bert_6():
    return of('Bert', num_hidden_layers=6)


# Convolutions

def conv_bn(i, o, k=3, s=1, groups=1, act=nn.ReLU6):
    m = [nn.Conv2d(i, o, k, s, k // 2, groups=groups, bias=False), nn.BatchNorm2d(o)]
    m[1].running_mean.normal_(std=0.1)
    m[1].running_var.uniform_(0.5, 1.5)
    return nn.Sequential(*m, *([act()] if act else []))


class Residual(nn.Module):
    def __init__(self, body, shortcut=None, act=None):
        super().__init__()
        self.body, self.shortcut, self.act = body, shortcut or nn.Identity(), act or nn.Identity()

    def forward(self, x):
        return self.act(self.body(x) + self.shortcut(x))


@larger('MobileNet v2, 224 x 224', (1, 3, 224, 224))
def mobilenet():
    def block(i, o, s, t):
        body = nn.Sequential(*([conv_bn(i, i * t, 1)] if t > 1 else []), conv_bn(i * t, i * t, 3, s, i * t), conv_bn(i * t, o, 1, act=None))
        return Residual(body) if i == o and s == 1 else body
    blocks, i = [conv_bn(3, 32, 3, 2)], 32
    for t, o, n, s in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
        for k in range(n):
            blocks.append(block(i, o, s if not k else 1, t))
            i = o
    return nn.Sequential(*blocks, conv_bn(320, 1280, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(1280, 1000))


@larger('U-Net of four levels, 128 x 128', (1, 3, 128, 128))
def unet():
    two = lambda i, o: nn.Sequential(conv_bn(i, o, act=nn.ReLU), conv_bn(o, o, act=nn.ReLU))

    class Level(nn.Module):
        def __init__(self, n, inner):
            super().__init__()
            self.inner, self.join, self.up = inner, two(2 * n, n), nn.ConvTranspose2d(2 * n, n, 2, 2)

        def forward(self, x):
            return self.join(torch.cat([x, self.up(self.inner(F.max_pool2d(x, 2)))], 1))
    net = two(128, 256)
    for n in (128, 64, 32):
        net = nn.Sequential(two(n // 2 if n > 32 else 32, n), Level(n, net))
    return nn.Sequential(conv_bn(3, 32, act=nn.ReLU), net, nn.Conv2d(32, 4, 1))


@larger('HiFi-GAN generator, weight norm kept, any length', (1, 80, 32), dynamic=({2: Dim('time', min=4, max=64)},))
def hifigan():
    class Stack(nn.Module):
        def __init__(self, n, k):
            super().__init__()
            self.a = nn.ModuleList([weight_norm(nn.Conv1d(n, n, k, padding=d * (k - 1) // 2, dilation=d)) for d in (1, 3, 5)])
            self.b = nn.ModuleList([weight_norm(nn.Conv1d(n, n, k, padding=(k - 1) // 2)) for _ in self.a])

        def forward(self, x):
            for a, b in zip(self.a, self.b):
                x = x + b(F.leaky_relu(a(F.leaky_relu(x, 0.1)), 0.1))
            return x

    class Generator(nn.Module):
        def __init__(self):
            super().__init__()
            ups, n = ((8, 16), (8, 16), (2, 4), (2, 4)), 128
            self.pre, self.post = weight_norm(nn.Conv1d(80, n, 7, padding=3)), weight_norm(nn.Conv1d(n >> 4, 1, 7, padding=3))
            self.up = nn.ModuleList([weight_norm(nn.ConvTranspose1d(n >> i, n >> (i + 1), k, s, (k - s) // 2)) for i, (s, k) in enumerate(ups)])
            self.stacks = nn.ModuleList([nn.ModuleList([Stack(n >> (i + 1), k) for k in (3, 7, 11)]) for i in range(4)])

        def forward(self, x):
            x = self.pre(x)
            for up, stacks in zip(self.up, self.stacks):
                x = up(F.leaky_relu(x, 0.1))
                x = (stacks[0](x) + stacks[1](x) + stacks[2](x)) / 3
            return torch.tanh(self.post(F.leaky_relu(x)))
    return Generator()


@larger('residual network, int8 by pt2e', (1, 3, 112, 112), tolerance=0.2)
def resnet_int8():
    def block(i, o, s):
        short = None if i == o and s == 1 else conv_bn(i, o, 1, s, act=None)
        return Residual(nn.Sequential(conv_bn(i, o, 3, s, act=nn.ReLU), conv_bn(o, o, act=None)), short, nn.ReLU())
    m = nn.Sequential(conv_bn(3, 64, 7, 2, act=nn.ReLU), nn.MaxPool2d(3, 2, 1), block(64, 64, 1), block(64, 64, 1), block(64, 128, 2),
                      block(128, 128, 1), block(128, 256, 2), block(256, 256, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 100))
    return pt2e(m.eval(), (torch.randn(1, 3, 112, 112),))


def pt2e(m, args):
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
    g = prepare_pt2e(export(m, args, strict=True).module(), quantizer)
    g(*args)
    return convert_pt2e(g)


# Sequences

@larger('three LSTM layers in both directions over thirty steps', (1, 30, 80))
def lstm_stack():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.last = nn.LSTM(80, 128, 3, batch_first=True, bidirectional=True), nn.Linear(256, 40)

        def forward(self, x):
            return self.last(self.lstm(x)[0])
    return Net()


class Attention(nn.Module):
    """Over a cache of all positions so far; `at` is where the new token stands."""
    def __init__(self, n, heads, length):
        super().__init__()
        self.heads, self.length = heads, length
        self.qkv, self.out = nn.Linear(n, 3 * n), nn.Linear(n, n)
        for c in ('k', 'v'):
            self.register_buffer(c, torch.zeros(1, heads, length, n // heads))

    def forward(self, x, at):
        q, k, v = self.qkv(x).view(1, 1, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        self.k.index_copy_(2, at, k)
        self.v.index_copy_(2, at, v)
        score = q @ self.k.transpose(2, 3) / math.sqrt(q.shape[-1])
        score = torch.where(torch.arange(self.length) <= at, score, torch.tensor(-1e9))
        return self.out((score.softmax(-1) @ self.v).transpose(1, 2).reshape(1, 1, -1))


@larger('GPT-2 of six layers with a cache, its logits tied to the embedding', tokens(1, 1, n=8000), lambda: torch.tensor([0]))
def gpt2_cached():
    class Layer(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.a, self.b, self.attend = nn.LayerNorm(n), nn.LayerNorm(n), Attention(n, n // 64, 128)
            self.mlp = nn.Sequential(nn.Linear(n, 4 * n), nn.GELU(approximate='tanh'), nn.Linear(4 * n, n))

        def forward(self, x, at):
            x = x + self.attend(self.a(x), at)
            return x + self.mlp(self.b(x))

    class Net(nn.Module):
        def __init__(self, n=384):
            super().__init__()
            self.token, self.place = nn.Embedding(8000, n), nn.Embedding(128, n)
            self.layer, self.norm = nn.ModuleList([Layer(n) for _ in range(6)]), nn.LayerNorm(n)

        def forward(self, x, at):
            x = self.token(x) + self.place(at)
            for layer in self.layer:
                x = layer(x, at)
            return F.linear(self.norm(x), self.token.weight)
    return Net()


@larger('two Llama blocks, int4 weights in groups of 32, int8 activations', (1, 16, 512), tolerance=0.1)
def llama_int4():
    class RMS(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.weight = nn.Parameter(torch.rand(n))

        def forward(self, x):
            return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * self.weight

    class Block(nn.Module):
        def __init__(self, n, heads=8, length=16):
            super().__init__()
            line = lambda i, o: nn.Linear(i, o, bias=False)
            self.heads, self.a, self.b = heads, RMS(n), RMS(n)
            self.q, self.k, self.v, self.o = line(n, n), line(n, n // 4), line(n, n // 4), line(n, n)
            self.gate, self.up, self.down = line(n, 3 * n), line(n, 3 * n), line(3 * n, n)
            t = torch.arange(length)[:, None] / 10000 ** (torch.arange(0, n // heads, 2) / (n // heads))
            self.register_buffer('cos', t.cos())
            self.register_buffer('sin', t.sin())
            self.register_buffer('mask', torch.full((length, length), -1e9).triu(1))

        def turn(self, x):
            a, b = x.chunk(2, -1)
            return torch.cat([a * self.cos - b * self.sin, b * self.cos + a * self.sin], -1)

        def forward(self, x):
            h = self.a(x)
            split = lambda y: y.view(1, h.shape[1], -1, h.shape[2] // self.heads).transpose(1, 2)
            q, k, v = self.turn(split(self.q(h))), self.turn(split(self.k(h))), split(self.v(h))
            k, v = k.repeat_interleave(4, 1), v.repeat_interleave(4, 1)
            w = (q @ k.transpose(2, 3) / math.sqrt(q.shape[-1]) + self.mask).softmax(-1)
            x = x + self.o((w @ v).transpose(1, 2).reshape(x.shape))
            h = self.b(x)
            return x + self.down(F.silu(self.gate(h)) * self.up(h))
    from torchao.quantization import Int8DynamicActivationIntxWeightConfig, PerGroup, quantize_
    from torchao.utils import unwrap_tensor_subclass
    m = nn.Sequential(Block(512), Block(512), RMS(512)).eval()
    quantize_(m, Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerGroup(32)))
    return unwrap_tensor_subclass(m)


def write_case(case, root, name):
    made = MADE[name]
    module = made['make']()
    args = exporting.example(module, made['inputs'])
    case(root, name, made['what'], module, args, dynamic=made['dynamic'], tol=made['tolerance'])


sys.exit(exporting.main(__doc__, 'larger', MADE, write_case))
