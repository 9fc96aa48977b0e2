#!/usr/bin/env python3
"""Exports small programs of public architectures, with random weights, as cases for conformance.py.

    architectures.py --exportcase PATH/exportcase.py FOLDER [PATTERN]...

Needs torch, executorch and transformers (those that exportcase.py names, and any transformers that goes with
them). Each case is FOLDER/architectures/NAME; one that is there already is left as it is. Exit 1 when one does
not export.
"""
import sys

import torch
from torch import nn
from torch.export import Dim
from torch.nn import functional as F
from torch.nn.utils.parametrizations import weight_norm

import exporting
from exporting import tokens

MADE = {}


def architecture(what, *inputs, dynamic=None):
    """The function below gives the module: inputs are its examples, or shapes of random ones."""
    def keep(f):
        MADE[f.__name__] = (what, f, inputs, dynamic)
        return f
    return keep


# Convolutional networks, in plain torch

class Residual(nn.Module):
    def __init__(self, body, shortcut=nn.Identity(), last=nn.Identity()):
        super().__init__()
        self.body, self.shortcut, self.last = body, shortcut, last

    def forward(self, x):
        return self.last(self.shortcut(x) + self.body(x))


def trained(m):
    """Batch norms as if trained: statistics and factors that are not 0 and 1."""
    for b in m.modules():
        if isinstance(b, (nn.BatchNorm1d, nn.BatchNorm2d)):
            nn.init.uniform_(b.weight, 0.5, 1.5)
            nn.init.normal_(b.bias, std=0.1)
            b.running_mean.normal_(std=0.1)
            b.running_var.uniform_(0.5, 1.5)
    return m


def conv_bn(i, o, k=3, s=1, groups=1, act=None):
    c = [nn.Conv2d(i, o, k, s, k // 2, groups=groups, bias=False), nn.BatchNorm2d(o)]
    return nn.Sequential(*c, act) if act else nn.Sequential(*c)


@architecture('residual network with basic blocks', (1, 3, 48, 48))
def resnet():
    def block(i, o, s):
        short = nn.Identity() if i == o and s == 1 else conv_bn(i, o, 1, s)
        return Residual(nn.Sequential(conv_bn(i, o, 3, s, act=nn.ReLU()), conv_bn(o, o)), short, nn.ReLU())
    return trained(nn.Sequential(conv_bn(3, 16, 7, 2, act=nn.ReLU()), nn.MaxPool2d(3, 2, 1), block(16, 16, 1), block(16, 32, 2),
                                 block(32, 64, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)))


@architecture('inverted residuals with ReLU6', (1, 3, 48, 48))
def mobilenet_v2():
    def block(i, o, s, t):
        body = nn.Sequential(conv_bn(i, i * t, 1, act=nn.ReLU6()), conv_bn(i * t, i * t, 3, s, i * t, nn.ReLU6()), conv_bn(i * t, o, 1))
        return Residual(body) if i == o and s == 1 else body
    return trained(nn.Sequential(conv_bn(3, 16, 3, 2, act=nn.ReLU6()), block(16, 24, 2, 4), block(24, 24, 1, 4), block(24, 32, 2, 4),
                                 conv_bn(32, 64, 1, act=nn.ReLU6()), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2),
                                 nn.Linear(64, 10)))


class SqueezeExcite(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.scale = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(n, n // 4, 1), nn.ReLU(), nn.Conv2d(n // 4, n, 1), nn.Hardsigmoid())

    def forward(self, x):
        return x * self.scale(x)


@architecture('inverted residuals with squeeze-excite and hardswish', (2, 3, 40, 40))
def mobilenet_v3():
    def block(i, o, k, s, t):
        body = nn.Sequential(conv_bn(i, t, 1, act=nn.Hardswish()), conv_bn(t, t, k, s, t, nn.Hardswish()), SqueezeExcite(t), conv_bn(t, o, 1))
        return Residual(body) if i == o and s == 1 else body
    return trained(nn.Sequential(conv_bn(3, 16, 3, 2, act=nn.Hardswish()), block(16, 16, 3, 1, 32), block(16, 24, 5, 2, 64),
                                 conv_bn(24, 48, 1, act=nn.Hardswish()), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(48, 64),
                                 nn.Hardswish(), nn.Linear(64, 10)))


class ChannelNorm(nn.LayerNorm):
    def forward(self, x):
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class ConvNextBlock(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.depth, self.norm = nn.Conv2d(n, n, 7, padding=3, groups=n), nn.LayerNorm(n, eps=1e-6)
        self.wide, self.narrow = nn.Linear(n, 4 * n), nn.Linear(4 * n, n)
        self.gamma = nn.Parameter(torch.rand(n))

    def forward(self, x):
        y = self.norm(self.depth(x).permute(0, 2, 3, 1))
        return x + (self.gamma * self.narrow(F.gelu(self.wide(y)))).permute(0, 3, 1, 2)


@architecture('ConvNeXt', (1, 3, 64, 64))
def convnext():
    return nn.Sequential(nn.Conv2d(3, 16, 4, 4), ChannelNorm(16), ConvNextBlock(16), ConvNextBlock(16), ChannelNorm(16),
                         nn.Conv2d(16, 32, 2, 2), ConvNextBlock(32), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LayerNorm(32),
                         nn.Linear(32, 10))


class UNet(nn.Module):
    def __init__(self, up):
        super().__init__()
        two = lambda i, o: nn.Sequential(conv_bn(i, o, act=nn.ReLU()), conv_bn(o, o, act=nn.ReLU()))
        self.down = nn.ModuleList([two(3, 8), two(8, 16), two(16, 32)])
        self.up = nn.ModuleList([nn.ConvTranspose2d(32, 16, 2, 2), nn.ConvTranspose2d(16, 8, 2, 2)]) if up == 'deconvolution' else \
            nn.ModuleList([nn.Sequential(nn.Upsample(scale_factor=2, mode=up), nn.Conv2d(i, i // 2, 1)) for i in (32, 16)])
        self.join = nn.ModuleList([two(32, 16), two(16, 8)])
        self.last = nn.Conv2d(8, 2, 1)

    def forward(self, x):
        a = self.down[0](x)
        b = self.down[1](F.max_pool2d(a, 2))
        c = self.down[2](F.max_pool2d(b, 2))
        c = self.join[0](torch.cat([b, self.up[0](c)], 1))
        return self.last(self.join[1](torch.cat([a, self.up[1](c)], 1)))


@architecture('U-Net with deconvolutions', (1, 3, 32, 48))
def unet():
    return trained(UNet('deconvolution'))


@architecture('U-Net with bilinear upsampling', (1, 3, 32, 32))
def unet_bilinear():
    return trained(UNet('bilinear'))


@architecture('dilated causal convolutions with weight norm', (1, 8, 64), dynamic={2: Dim('time', min=8, max=128)})
def tcn():
    class Causal(nn.Module):
        def __init__(self, i, o, d):
            super().__init__()
            self.pad, self.conv = 2 * d, weight_norm(nn.Conv1d(i, o, 3, dilation=d))

        def forward(self, x):
            return F.relu(self.conv(F.pad(x, (self.pad, 0))))
    level = lambda i, o, d: Residual(nn.Sequential(Causal(i, o, d), Causal(o, o, d)), nn.Conv1d(i, o, 1) if i != o else nn.Identity(), nn.ReLU())
    return nn.Sequential(level(8, 16, 1), level(16, 16, 2), level(16, 24, 4))


# Speech and sound, in plain torch

@architecture('HiFi-GAN generator: transposed convolutions and residual stacks, weight norm kept', (1, 20, 24))
def hifigan():
    class Stack(nn.Module):
        def __init__(self, n, k):
            super().__init__()
            self.a = nn.ModuleList([weight_norm(nn.Conv1d(n, n, k, padding=d * (k - 1) // 2, dilation=d)) for d in (1, 3)])
            self.b = nn.ModuleList([weight_norm(nn.Conv1d(n, n, k, padding=(k - 1) // 2)) for _ in self.a])

        def forward(self, x):
            for a, b in zip(self.a, self.b):
                x = x + b(F.leaky_relu(a(F.leaky_relu(x, 0.1)), 0.1))
            return x

    class Generator(nn.Module):
        def __init__(self):
            super().__init__()
            self.pre, self.post = weight_norm(nn.Conv1d(20, 32, 7, padding=3)), weight_norm(nn.Conv1d(8, 1, 7, padding=3))
            self.up = nn.ModuleList([weight_norm(nn.ConvTranspose1d(i, i // 2, k, s, (k - s) // 2)) for i, k, s in ((32, 8, 4), (16, 4, 2))])
            self.stacks = nn.ModuleList([nn.ModuleList([Stack(n, 3), Stack(n, 7)]) for n in (16, 8)])

        def forward(self, x):
            x = self.pre(x)
            for up, stacks in zip(self.up, self.stacks):
                x = up(F.leaky_relu(x, 0.1))
                x = (stacks[0](x) + stacks[1](x)) / 2
            return torch.tanh(self.post(F.leaky_relu(x)))
    return Generator()


@architecture('EnCodec-like encoder: reflected padding, weight norm, ELU, an LSTM', (1, 1, 320))
def encodec():
    class Padded(nn.Module):
        def __init__(self, i, o, k, s=1):
            super().__init__()
            self.pad, self.conv = k - s, weight_norm(nn.Conv1d(i, o, k, s))

        def forward(self, x):
            return self.conv(F.pad(x, (self.pad, 0), mode='reflect'))

    class Steps(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.lstm = nn.LSTM(n, n, 2)

        def forward(self, x):
            y, _ = self.lstm(x.permute(2, 0, 1))
            return (y + x.permute(2, 0, 1)).permute(1, 2, 0)
    unit = lambda n: Residual(nn.Sequential(nn.ELU(), Padded(n, n // 2, 3), nn.ELU(), Padded(n // 2, n, 1)))
    return nn.Sequential(Padded(1, 8, 7), unit(8), nn.ELU(), Padded(8, 16, 8, 4), unit(16), nn.ELU(), Padded(16, 32, 16, 8), Steps(32),
                         nn.ELU(), Padded(32, 16, 7))


class Recurrent(nn.Module):
    def __init__(self, kind, both):
        super().__init__()
        self.embed = nn.Embedding(64, 16)
        self.rnn = kind(16, 24, 2, batch_first=True, bidirectional=both)
        self.last = nn.Linear(24 * (1 + both), 5)

    def forward(self, x):
        return self.last(self.rnn(self.embed(x))[0][:, -1])


@architecture('embedding, two LSTM layers in both directions, a linear', tokens(2, 7))
def lstm():
    return Recurrent(nn.LSTM, True)


@architecture('embedding, two GRU layers, a linear', tokens(2, 6))
def gru():
    return Recurrent(nn.GRU, False)


# Others in plain torch

@architecture('MLP-Mixer', (1, 3, 32, 32))
def mixer():
    class Mixer(nn.Module):
        def __init__(self, n, p):
            super().__init__()
            mlp = lambda i, h: nn.Sequential(nn.Linear(i, h), nn.GELU(), nn.Linear(h, i))
            self.norm = nn.ModuleList([nn.LayerNorm(n), nn.LayerNorm(n)])
            self.token, self.channel = mlp(p, 32), mlp(n, 64)

        def forward(self, x):
            x = x + self.token(self.norm[0](x).transpose(1, 2)).transpose(1, 2)
            return x + self.channel(self.norm[1](x))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.patch, self.mix = nn.Conv2d(3, 32, 8, 8), nn.Sequential(Mixer(32, 16), Mixer(32, 16))
            self.norm, self.head = nn.LayerNorm(32), nn.Linear(32, 10)

        def forward(self, x):
            return self.head(self.norm(self.mix(self.patch(x).flatten(2).transpose(1, 2))).mean(1))
    return Net()


@architecture('torch transformer encoder, sequence of any length', (1, 12, 32), dynamic={1: Dim('time', min=2, max=40)})
def transformer_encoder():
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, activation='gelu'), 2, enable_nested_tensor=False)


# From transformers

class Of(nn.Module):
    """One tensor out of what a model of transformers gives."""
    def __init__(self, model, field='last_hidden_state', **options):
        super().__init__()
        self.model, self.field, self.options = model, field, options

    def forward(self, x):
        return self.model(x, return_dict=True, **self.options)[self.field]


SMALL = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)
TEXT = dict(SMALL, vocab_size=64, max_position_embeddings=32)


def of(name, config, field='last_hidden_state', part=None, **options):
    import transformers
    model = getattr(transformers, name)(config)
    return Of(getattr(model, part) if part else model, field, **options)


def config(name, **settings):
    import transformers
    return getattr(transformers, name + 'Config')(**settings, attn_implementation='eager')


@architecture('BERT', tokens(1, 12))
def bert():
    return of('BertModel', config('Bert', **TEXT))


@architecture('RoBERTa', tokens(2, 9, n=60))
def roberta():
    return of('RobertaModel', config('Roberta', **dict(TEXT, max_position_embeddings=40)))


@architecture('DistilBERT', tokens(1, 10))
def distilbert():
    return of('DistilBertModel', config('DistilBert', vocab_size=64, max_position_embeddings=32, dim=32, n_layers=2, n_heads=4, hidden_dim=64))


@architecture('GPT-2, its logits tied to the embedding', tokens(1, 10))
def gpt2():
    return of('GPT2LMHeadModel', config('GPT2', vocab_size=64, n_positions=32, n_embd=32, n_layer=2, n_head=4), 'logits', use_cache=False)


@architecture('Llama with grouped keys, logits', tokens(1, 10))
def llama():
    return of('LlamaForCausalLM', config('Llama', **TEXT, num_key_value_heads=2), 'logits', use_cache=False)


@architecture('Qwen2', tokens(1, 8))
def qwen2():
    return of('Qwen2ForCausalLM', config('Qwen2', **TEXT, num_key_value_heads=2, tie_word_embeddings=True), 'logits', use_cache=False)


@architecture('T5 encoder', tokens(1, 10))
def t5():
    return of('T5EncoderModel', config('T5', vocab_size=64, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4))


@architecture('CLIP text model', tokens(1, 10))
def clip_text():
    return of('CLIPTextModel', config('CLIPText', **TEXT, eos_token_id=2))


@architecture('ViT', (1, 3, 32, 32))
def vit():
    return of('ViTModel', config('ViT', **SMALL, image_size=32, patch_size=8))


@architecture('DeiT classifier', (1, 3, 32, 32))
def deit():
    return of('DeiTForImageClassification', config('DeiT', **SMALL, image_size=32, patch_size=8, num_labels=7), 'logits')


@architecture('Swin', (1, 3, 64, 64))
def swin():
    return of('SwinModel', config('Swin', image_size=64, patch_size=4, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4))


@architecture('SegFormer, logits of its all-MLP head', (1, 3, 64, 64))
def segformer():
    return of('SegformerForSemanticSegmentation', config('Segformer', num_encoder_blocks=2, depths=[1, 1], sr_ratios=[4, 2],
              hidden_sizes=[16, 32], patch_sizes=[7, 3], strides=[4, 2], num_attention_heads=[1, 2], mlp_ratios=[2, 2],
              decoder_hidden_size=32, num_labels=5), 'logits')


@architecture('wav2vec 2.0', (1, 800))
def wav2vec2():
    return of('Wav2Vec2Model', config('Wav2Vec2', **SMALL, vocab_size=32, conv_dim=(16, 16, 16), conv_stride=(5, 2, 2), conv_kernel=(10, 3, 3),
              num_feat_extract_layers=3, num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4))


@architecture('Whisper encoder', (1, 20, 60))
def whisper_encoder():
    return of('WhisperModel', config('Whisper', vocab_size=64, num_mel_bins=20, d_model=32, encoder_layers=2, decoder_layers=1,
              encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, max_source_positions=30,
              max_target_positions=16, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1), part='encoder')


def export(case, root, name):
    what, make, inputs, dynamic = MADE[name]
    module = make().eval()
    args = exporting.example(module, inputs)
    case(root, name, what, module, args, dynamic=(dynamic,) if dynamic else None)


sys.exit(exporting.main(__doc__, 'architectures', MADE, export))
