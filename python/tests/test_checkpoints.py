"""Checkpoints: what torch wrote is read, values come back as they were, and nothing of a hostile file runs."""

from __future__ import annotations

import base64
import io
import os
import pickle
import struct
import time
import tracemalloc
import zipfile
import zlib
from collections import Counter, OrderedDict, defaultdict

import opgrid as og
import pytest
from opgrid import nn

# A dict that torch 2.15 wrote: as an archive, and in the format before 1.6.
ARCHIVE = (
    "c-o~^+i%-c7(a>ABp669T-p`r#>T~iE{*NhY1XX?-tdt8K<8;vRB5tY$211l&S#%=-K0sCM#}caB!u>ac;S6-@VGyK7v6Z-3z`t(iT?m`j-92pLmF6*;!EuF"
    "yL{g{-{%dL$strMqM<Q`W{}~VZF|>RY8lulcfN2Gxr8<oV?TQb5ZBBQz)i@Q*dvIt-o>^Pu)1$;b#14mW6KRZU*8p2$Z}k>Kqd!drm<}S6G2$T@eF(|ddNa9"
    "B&@(hlOb2L(}ld6$56PcA~mZr2T)WQHFE$j+&4|naV!(to*S^A`Yp@1T9<7Tv%sF!;6)5CY4CE$hN09Z>TRZ-YfrR8zDdf*sM!OUQZtlx`hJ_jW-z>>!K)#x"
    "1FwyUs$=-Zj)g6sh1VnIek^hr3@;7BnGKnEm?N@T3@5@cdN8kMdhkXh`6h<9G+4M7{yF&-oYLU!5Y>g#W3no;aOP0G+|Mj~-Nm;$R%>A5osdp|cOw(;Q4>V}"
    "eR|>|6KDGYbZwW|XW;`3A8N1|0!=uV2=bD*({Zf5<hqr^sUj>9jSPlLUxTM7A<_`<z;ZK32|f37Sh*KqkTj@<zyMbJ?APqugsw)jbiM~`8e9k`xNz|XtaEDS"
    "N+TET((v&f)J@&=T9z5GmP>C~Xf(6rjj;tEHS^@gF|h6OARoXb4KACyPIE{e={g%&WVd{L0~D1pdT>R9PpocvLoE~^{muUND`BC>#>hIEMP~+eQvS^IcMPoW"
    "T7E!wq#~b8mCMlJsnCyqJ-JKcpvP#Tc~m_V>aVhHIQF)?W4Tz7#c^8yHl$^0pnennr0L2YX<!=F2L`roVaucCrpRm0qx)<)HpY%cJ@hU<JwaD0f24;JT2FMP"
    "rHUe-KZb#bb-zwd4e}$$J~_T`P)D<0|M6gsyqFu~Xff%CS7h!#J9=D4kEvGS>gH3rrE_Dn8c8idkuMx4{hI|u)mOiKSQ@|nB_t=+MMYjemO9OUlzZx8_lJ6!"
    "$`+4wF^Sd&E(Ud0eO?<POO=25Zu|Q9_!p3HSb$*y0?W5a1>QF3_eZx|id_DmM)*p#x+)1(p;oQcR#%pJNm$`|sme>ziX@5Enj{LfiWpYu?|Y|z=7<k2beW-M"
    "2R`GyYHG-N`a7OR#~aXW0?9FGRCi00#GA-`g5*J*WT<ncdE$*=I>9rOL&FUy4UboCDFOdBhf=*Gjg41f63b1buzVUDuc0LNn>1EPW8*tNiJi%(uwoh;-@B6u"
    "?86v##G1vo)Iw6YfW~b04K<%%d{!FFxdD<*UGHY2>raK~N^s%bT7N?H)tksi7&e?A&HV=z{cr9"
)
LEGACY = (
    "c-nQ6*>2N76o$Q|DGaofowAlaWeG{zI1O7XK;^<>b8mc8S*|mxUAcCCdr}HgrQ9T>JOdY8@)&&`9s!99&e$oXQW)7I&za-%{r}AAYF}CS``hxbnT;Rsr^{XK"
    "%}<@?9VjJxN>P+{5{uZ2LuZR8X%I(HDZ!qgoiGq0<PMKofg3>^*o=bWQ=2<!@R_I3cTgzVV-!sNI1v~#HCv}u5D65`f?bd`;%FV?W}(yBXQ~wa2-OpD;`wE#"
    "BZ4qxPQuqZLD+HxkJ31CwrUJosbr7K;*{yGbLjamY&ncwv62TF3ic%BH0K+0%|@+Stv8$X8pbjmUb{m&if;wRKbVTCnR*{bOx;xbIJ)bR<&b-V9H;DE(&7nk"
    "y$U?Rz-BER6F6>RA`>ex>5~>;_eZi$_&H-rGIUex<D{ud)Tv!xmO3qP#=_aGR2%31<Gbx9?j{#JVK|@DhHhVEcB{r;!xs)j7?t_PLe;2LFij#f5^*sz+QTJN"
    "?cs7R;EKRi3)cqOV&)63Tey*_@o@7H>Sesy4*B-s^SyN#S22vbf!l;r33o^0h;&y@r5rcAgL~Q4dvUaZ`-4>AfrW<|F-3XETA>bNcqFw}dZ=2cWeE}HRxw{P"
    ")z?e11dS}bjk@P}af^E?<B|MeFl>!>+%+`pqHHu*1W^?WeKajR_8do^D}@|~rJQc{$ts?jy4%Au3(vXi##PykBh0Cz4p<v?^*S%B%Kqps(zK)vS9^=fUQzjX"
    "<ooo{+okvW(jVGP@!|"
)


def unpacked(text):
    return zlib.decompress(base64.b85decode(text))


@pytest.mark.parametrize("text", [ARCHIVE, LEGACY])
@pytest.mark.parametrize("way", ["file", "path", "mmap"])
def test_files_of_torch_are_read(tmp_path, text, way):
    if way == "mmap" and text is LEGACY:
        pytest.skip("only archives can be mapped")
    path = tmp_path / "torch.pt"
    path.write_bytes(unpacked(text))
    loaded = og.load(io.BytesIO(path.read_bytes())) if way == "file" else og.load(path, mmap=way == "mmap")
    w, t, p = loaded["w"], loaded["t"], loaded["p"]
    assert w.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]] and t.stride() == (1, 3) and t.data_ptr() == w.data_ptr()
    assert isinstance(p, nn.Parameter) and p.dtype is og.bfloat16 and p.requires_grad and p.tolist() == [1.5, -2.0]
    assert loaded["c"].tolist() == [1 - 2j] and loaded["s"] == og.Size([2]) and loaded["n"] == [1, 2.5, "x", b"ab", {3}]
    if text is ARCHIVE:
        assert loaded["u"].dtype is og.uint16 and loaded["u"].tolist() == [7]
    w.mul_(2)
    assert t.tolist() == [[0.0, 6.0], [2.0, 8.0], [4.0, 10.0]]
    # What is mapped does not change the file.
    assert path.read_bytes() == unpacked(text)


def round_trip(value):
    file = io.BytesIO()
    og.save(value, file)
    return og.load(io.BytesIO(file.getvalue()))


def test_plain_values_come_back():
    recursive = []
    recursive.append(recursive)
    assert round_trip(recursive)[0] is not None
    values = {
        "numbers": [None, True, False, 0, 255, 256, -1, 2**31, -(2**70), 1.5, float("inf"), 2 - 1j],
        "texts": ["", "\u00e4\ud800", b"", b"\x00\xff", bytearray(b"ab")],
        "containers": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), [], {}, set(), {1, "a"}],
        "counts": Counter("aab"),
        (1, "x"): og.Size([2, 3]),
        "dtypes": [og.float32, og.uint64, og.bool],
        "device": og.device("cpu"),
        "layout": og.strided,
    }
    loaded = round_trip(values)
    assert loaded == values
    assert [type(each) for each in loaded["texts"]] == [str, str, bytes, bytes, bytearray]
    long = list(range(1000))
    assert round_trip([long, "a" * 70000, {str(i): i for i in range(1000)}]) == [
        long,
        "a" * 70000,
        {str(i): i for i in range(1000)},
    ]
    shared = [1]
    first, second = round_trip((shared, shared))
    assert first is second


DTYPES = "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()


@pytest.mark.parametrize("name", DTYPES)
def test_tensors_of_every_dtype_come_back(name):
    x = og.tensor([[0, 1], [1, 0], [1, 1]]).to(getattr(og, name))
    loaded = round_trip([x, x.t(), x[1:, 1]])
    assert [y.dtype for y in loaded] == [x.dtype] * 3
    assert [y.tolist() for y in loaded] == [x.tolist(), x.t().tolist(), x[1:, 1].tolist()]
    assert [y.stride() for y in loaded] == [(2, 1), (1, 2), (2,)] and loaded[2].storage_offset() == 3
    loaded[0].fill_(0)
    assert not loaded[2].to(og.bool).any()


def test_tensors_come_back_as_they_were():
    named = og.ones(2)
    named.note = [1]
    frozen = nn.Parameter(og.ones(1), requires_grad=False)
    values = [og.ones(1).expand(2, 3), og.empty(0, 3), og.tensor(2.5), og.ones(1, requires_grad=True), frozen, named]
    expanded, empty, number, leaf, parameter, same = round_trip(values)
    assert (expanded.shape, expanded.stride()) == ((2, 3), (0, 0)) and empty.shape == (0, 3) and number.item() == 2.5
    assert leaf.requires_grad and leaf.is_leaf and not parameter.requires_grad and isinstance(parameter, nn.Parameter)
    assert same.note == [1]
    big = og.ones(20000, dtype=og.complex64).conj()
    assert round_trip(big).shape == (20000,)
    meta = round_trip(og.empty(2, 3, device="meta"))
    assert meta.is_meta and meta.shape == (2, 3)


def test_models_and_optimizers_continue(tmp_path):
    def step(model, optimizer):
        optimizer.zero_grad()
        model(og.ones(2, 3)).pow(2).sum().backward()
        optimizer.step()

    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    optimizer = og.optim.Adam(model.parameters(), lr=0.1)
    step(model, optimizer)
    og.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, tmp_path / "model.ckpt")
    kept = og.load(tmp_path / "model.ckpt")
    assert isinstance(kept["model"], OrderedDict) and kept["model"]._metadata["1"] == {"version": 2}
    other = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    other.load_state_dict(kept["model"])
    continued = og.optim.Adam(other.parameters(), lr=0.5)
    continued.load_state_dict(kept["optimizer"])
    step(model, optimizer)
    step(other, continued)
    assert [p.tolist() for p in model.parameters()] == [p.tolist() for p in other.parameters()]


@pytest.mark.parametrize("place", ["cpu", og.device("cpu"), {"cuda:0": "cpu"}, lambda storage, location: storage, lambda *_: None])
def test_storages_go_where_they_are_sent(place):
    file = archive(
        tensor(location=b"cuda:0" if place != "cpu" and callable(place) is False and isinstance(place, dict) else b"cpu")
    )
    assert og.load(io.BytesIO(file), map_location=place).tolist() == [0.0, 0.0]


def test_devices_that_are_not_there_are_named():
    with pytest.raises(RuntimeError, match="saved from device cuda:0, which is not there; pass map_location='cpu'"):
        og.load(io.BytesIO(archive(tensor(location=b"cuda:0"))))


class Object:
    pass


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Object(), "found a value of class"),
        ({"a": [1, Object()]}, r"at \['a'\]\[1\], expected tensors"),
        (defaultdict(list), "class collections.defaultdict"),
        (print, "builtins.builtin_function_or_method"),
        (Object, "class builtins.type"),
        (2**3000, "an integer of 3001 bits"),
    ],
)
def test_what_cannot_be_read_is_not_written(value, text):
    with pytest.raises(TypeError, match=text):
        og.save(value, io.BytesIO())


# What hostile files hold. Pickles are written by hand.


def text(value):
    return b"X" + struct.pack("<I", len(value)) + value


def integer(value):
    raw = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(raw)]) + raw


def named(module, name):
    return b"c" + module + b"\n" + name + b"\n"


def call(function, *args):
    return function + b"(" + b"".join(args) + b"tR"


def storage(key=b"0", count=2, kind=b"FloatStorage", location=b"cpu"):
    return b"(" + text(b"storage") + named(b"torch", kind) + text(key) + text(location) + integer(count) + b"tQ"


HOOKS = named(b"collections", b"OrderedDict") + b")R"


def tensor(offset=0, size=(2,), stride=(1,), hooks=HOOKS, metadata=b"", **options):
    numbers = [b"(" + b"".join(map(integer, each)) + b"t" for each in (size, stride)]
    rebuild = named(b"torch._utils", b"_rebuild_tensor_v2")
    return call(rebuild, storage(**options), integer(offset), *numbers, b"\x89", hooks, metadata)


def archive(program, storages=None, change=lambda info: None, names=("data.pkl",), compress=zipfile.ZIP_STORED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compress) as written:
        for name in names:
            info = zipfile.ZipInfo("archive/" + name)
            info.compress_type = compress
            change(info)
            written.writestr(info, b"\x80\x02" + program + b".")
        for key, data in ({"0": bytes(8)} if storages is None else storages).items():
            written.writestr("archive/data/" + key, data)
    return file.getvalue()


def legacy(program, keys=b"]" + text(b"0") + b"a", data=struct.pack("<q", 2) + bytes(8), magic=0x1950A86A20F9469CFC6C):
    head = {"little_endian": True, "protocol_version": 1001, "type_sizes": {}}
    pickles = [pickle.dumps(value, 2) for value in (magic, 1001, head)]
    return b"".join(pickles) + b"\x80\x02" + program + b"." + b"\x80\x02" + keys + b"." + data


def edited(data, before, after):
    assert before in data
    return data.replace(before, after)


def overlapping():
    """An archive with an entry that lies in the bytes of another one."""
    plain = archive(tensor(), {"0": bytes(8), "1": bytes(8)})
    inner = plain[plain.find(b"PK\x03\x04", plain.find(b"archive/data/0")) : plain.find(b"PK\x01\x02")]
    data = bytearray(archive(tensor(), {"0": inner, "1": bytes(8)}))
    last = data.rfind(b"PK\x01\x02")
    data[last + 42 : last + 46] = struct.pack("<I", data.find(inner))
    return bytes(data)


def lying_header():
    data = bytearray(archive(tensor()))
    last = data.rfind(b"PK\x01\x02")
    data[last + 20 : last + 28] = struct.pack("<II", 2**31, 2**31)
    return bytes(data)


class Runs:
    def __init__(self, *reduced):
        self.reduced = reduced

    def __reduce__(self):
        return self.reduced


MARKER = "marker-of-checkpoints"
NESTED = b")q\x000" + b"".join(b"h%ch%c\x86q%c0" % (i, i, i + 1) for i in range(100)) + b"hd"
LIST = b"](" + b"K\x01" * 20000 + b"eq\x00"
SETS = LIST + b"0](" + b"".join(named(b"builtins", b"set") + b"h\x00\x85R" for _ in range(2000)) + b"e"
UNSAFE = {
    "os.system": named(b"os", b"system") + text(f"touch {MARKER}".encode()) + b"\x85R",
    "posix.system": named(b"posix", b"system") + text(f"touch {MARKER}".encode()) + b"\x85R",
    "subprocess": pickle.dumps(Runs(__import__("subprocess").check_call, (["touch", MARKER],)), 2)[2:-1],
    "eval": pickle.dumps(Runs(eval, (f"open({MARKER!r}, 'w')",)), 2)[2:-1],
    "exec": pickle.dumps(Runs(exec, (f"open({MARKER!r}, 'w')",)), 2)[2:-1],
    "open": pickle.dumps(Runs(open, (MARKER, "w")), 2)[2:-1],
    "getattr": named(b"builtins", b"getattr") + HOOKS + text(b"__class__") + b"\x86R",
    "dotted name": named(b"collections", b"OrderedDict.__init__.__globals__") + b")R",
    "copyreg": named(b"copyreg", b"_reconstructor") + named(b"builtins", b"object") + b"\x85R",
    "extension": b"\x82\x01",
    "an object": b"(" + b"i" + b"os\nsystem\n",
    "a new object": named(b"torch._utils", b"_rebuild_tensor_v2") + b")\x81",
    "a nested function": call(named(b"torch._tensor", b"_rebuild_from_type_v2"), named(b"os", b"system"), b"N", b")", b"}"),
    "a function of a value": b"K\x01" + b")R",
    "the result of a function": HOOKS + b")R",
    "attributes of a function": named(b"torch._utils", b"_rebuild_tensor_v2") + b"}b",
    "attributes of a class": HOOKS + b"}" + text(b"__class__") + b"Nsb",
    "methods of a dict": HOOKS + b"}" + text(b"items") + b"Nsb",
    "slots of a dict": HOOKS + b"N}" + text(b"x") + b"Ns\x86b",
    "attributes of a tensor": call(
        named(b"torch._tensor", b"_rebuild_from_type_v2"),
        named(b"torch._utils", b"_rebuild_tensor_v2"),
        named(b"torch", b"Tensor"),
        b"(" + storage() + b"K\x00K\x02\x85K\x01\x85\x89" + HOOKS + b"t",
        b"}" + text(b"__class__") + b"Ns",
    ),
    "hooks": tensor(hooks=b"}K\x01Ns"),
    "a module of torch": named(b"torch.nn.modules.linear", b"Linear") + b")R",
    "torch.load": named(b"torch", b"load") + text(b"x") + b"\x85R",
    "opgrid": named(b"opgrid", b"load") + text(b"x") + b"\x85R",
    "quantized": named(b"torch._utils", b"_rebuild_qtensor") + b")R",
    "sparse": named(b"torch._utils", b"_rebuild_sparse_tensor") + b")R",
    "keys that hash forever": b"}" + NESTED + b"Ns",
    "sets that hash forever": b"\x8f(" + NESTED + b"\x90",
    "a tensor as a key": b"}" + tensor() + b"Ns",
    "many copies": SETS,
    "a memo of large indices": b"Nr\xff\xff\xff\xffj\xfe\xff\xff\xff",
    "a large text": b"X\xff\xff\xff\xffabc",
    "large bytes": b"\x8e" + struct.pack("<Q", 2**62) + b"abc",
    "a large integer": b"\x8b" + struct.pack("<i", 2**30) + b"abc",
    "a negative integer length": b"\x8b" + struct.pack("<i", -5),
    "nothing on the stack": b"0",
    "a mark that is missing": b"t",
    "values below a mark": b"K\x01(a",
    "a value too many": b"K\x01K\x01",
    "an unknown instruction": b"\xff",
    "a name without an end": b"c" + b"a" * 5000,
    "a protocol of the future": b"\x80\x63N",
    "an empty pickle": b"",
    "a storage that is missing": tensor(key=b"1"),
    "a storage outside": tensor(key=b"../../secret"),
    "a storage with fewer bytes": tensor(count=2**40),
    "a storage with more bytes": tensor(count=1, size=(1,)),
    "a storage of negative size": tensor(count=-2),
    "a size outside of the storage": tensor(size=(3,)),
    "an absurd size": tensor(size=(2**62, 2**62), stride=(0, 0)),
    "a large size": tensor(size=(2**40,)),
    "a negative size": tensor(size=(-1,)),
    "a negative offset": tensor(offset=-1),
    "a large offset": tensor(offset=2**62),
    "an offset outside of the storage": tensor(offset=3, size=(0,)),
    "a large stride": tensor(stride=(2**61,)),
    "an absurd stride": tensor(stride=(2**70,)),
    "a negative stride": tensor(stride=(-1,), offset=1),
    "strides of another length": tensor(stride=(1, 1)),
    "many dimensions": tensor(size=(1,) * 200, stride=(1,) * 200),
    "a conjugate of an expanded tensor": tensor(size=(2**40,), stride=(0,), metadata=b"}" + text(b"conj") + b"\x88s"),
    "no storage": call(named(b"torch._utils", b"_rebuild_tensor"), b"K\x01", b"K\x00", b")", b")"),
    "a reference that is no storage": b"K\x01Q",
    "an unknown class of storages": tensor(kind=b"EvilStorage"),
    "an unknown layout": call(named(b"torch.serialization", b"_get_layout"), text(b"__loader__")),
    "arguments that are too many": named(b"torch", b"Size") + b"K\x01K\x02\x86R",
}


def refuses(data, kinds=(pickle.UnpicklingError, RuntimeError)):
    """Reads a hostile file, which is refused soon and with little memory; returns the message."""
    tracemalloc.start()
    begin = time.process_time()
    try:
        with pytest.raises(kinds) as raised:
            og.load(io.BytesIO(data))
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()
    assert time.process_time() - begin < 5
    assert not os.path.exists(MARKER)
    message = str(raised.value)
    assert message.startswith("load(): ") and len(message) > 20
    return message


@pytest.mark.parametrize("name", UNSAFE)
def test_hostile_pickles_are_refused(tmp_path, monkeypatch, resident, name):
    monkeypatch.chdir(tmp_path)
    before = resident()
    for file in (archive(UNSAFE[name]), legacy(edited(UNSAFE[name], b"tQ", b"NtQ") if b"tQ" in UNSAFE[name] else UNSAFE[name])):
        refuses(file, pickle.UnpicklingError)
    assert resident() - before < 50_000_000


GOOD = archive(tensor())
ARCHIVES = {
    "a directory that is missing": GOOD[:-30],
    "half of the file": GOOD[: len(GOOD) // 2],
    "more behind the end": GOOD + b"more",
    "a comment that is longer": edited(GOOD, GOOD[-22:], GOOD[-22:-2] + b"\x05\x00"),
    "a directory outside": edited(GOOD, GOOD[-6:-2], struct.pack("<I", 2**31)),
    "a large directory": edited(GOOD, GOOD[-10:-6], struct.pack("<I", 2**31)),
    "more entries than there are": edited(GOOD, GOOD[-14:-10], struct.pack("<HH", 60000, 60000)),
    "several parts": edited(GOOD, GOOD[-18:-14], struct.pack("<HH", 1, 1)),
    "large sizes without a locator": edited(GOOD, GOOD[-14:-10], struct.pack("<HH", 0xFFFF, 0xFFFF)),
    "overlapping entries": overlapping(),
    "an entry with a lying size": lying_header(),
    "one name twice": archive(tensor(), names=("data.pkl", "data.pkl")),
    "a path that leads out": archive(tensor(), names=("data.pkl", "../../evil")),
    "an absolute path": edited(archive(tensor(), names=("data.pkl", "evil")), b"archive/evil", b"/etc/passwd1"),
    "backslashes": edited(archive(tensor(), names=("data.pkl", "evil")), b"archive/evil", b"archive\\evil"),
    "compressed": archive(tensor(), {"0": bytes(10_000_000)}, compress=zipfile.ZIP_DEFLATED),
    "a zip bomb": archive(b"N" * 10_000_000, compress=zipfile.ZIP_DEFLATED),
    "encrypted": edited(GOOD, b"PK\x01\x02\x14\x03\x14\x00\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01\x00"),
    "another name in the header": GOOD.replace(b"archive/data.pkl", b"archive/evil.pkl", 1),
    "no value": archive(tensor(), names=("other.pkl",)),
    "a program of TorchScript": archive(tensor(), names=("data.pkl", "constants.pkl")),
    "several folders": edited(GOOD, b"archive/data/0", b"another/data/0"),
    "big-endian": archive(b"N", names=("data.pkl", "byteorder")),
}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("name", ARCHIVES)
def test_hostile_archives_are_refused(name):
    message = refuses(ARCHIVES[name], RuntimeError)
    assert "invalid archive" in message or name in ("no value", "a program of TorchScript", "big-endian")
    assert name != "overlapping entries" or "overlap" in message


@pytest.mark.parametrize(
    "data",
    [
        legacy(tensor().replace(b"tQ", b"NtQ"), magic=7),
        legacy(tensor().replace(b"tQ", b"NtQ"), keys=b"]"),
        legacy(tensor().replace(b"tQ", b"NtQ"), data=struct.pack("<q", 3) + bytes(12)),
        legacy(tensor().replace(b"tQ", b"NtQ"), data=struct.pack("<q", 2) + bytes(7)),
        legacy(tensor(count=2**40, size=(2**40,)).replace(b"tQ", b"NtQ")),
        legacy(tensor().replace(b"tQ", b"(ttQ")),
        b"not a file of torch",
        bytes(257) + b"ustar" + bytes(100),
    ],
)
def test_hostile_files_of_the_old_format_are_refused(data):
    refuses(data)


def test_good_files_of_these_programs_are_read():
    assert og.load(io.BytesIO(GOOD)).tolist() == [0.0, 0.0]
    assert og.load(io.BytesIO(legacy(tensor().replace(b"tQ", b"NtQ")))).tolist() == [0.0, 0.0]


def test_every_truncation_is_refused():
    for end in range(1, len(GOOD)):
        with pytest.raises((pickle.UnpicklingError, RuntimeError)):
            og.load(io.BytesIO(GOOD[:end]))


def test_changed_bytes_are_read_or_refused():
    for data in (GOOD, legacy(tensor().replace(b"tQ", b"NtQ"))):
        for place in range(len(data)):
            for value in (0, 0x7F, 0xFF, data[place] ^ 1):
                changed = data[:place] + bytes([value]) + data[place + 1 :]
                try:
                    og.load(io.BytesIO(changed))
                except (pickle.UnpicklingError, RuntimeError):
                    pass


def test_mistakes_of_callers_are_named(tmp_path):
    with pytest.raises(EOFError, match="the file is empty"):
        og.load(io.BytesIO(b""))
    with pytest.raises(ValueError, match="mmap needs the path of a file"):
        og.load(io.BytesIO(GOOD), mmap=True)
    with pytest.raises(TypeError, match="open it with 'rb'"):
        og.load(io.StringIO("text"))
    with pytest.raises(TypeError, match="map_location should be a device"):
        og.load(io.BytesIO(GOOD), map_location=3)
    with pytest.raises(FileNotFoundError):
        og.load(tmp_path / "none.pt")
    x = og.ones(4)
    with pytest.raises(RuntimeError, match="different dtypes"):
        og.save([x, x.view(og.int32)], io.BytesIO())
