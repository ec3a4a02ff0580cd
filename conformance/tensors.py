"""Answers the cases of opgrid's comparison of tensors with what torch does: JSON lines in, JSON lines out.

A case has blocks of memory, tensors on them and calls of operators; see `src/tensors/case.rs`. Every call answers its
results with their bytes, and the blocks that it wrote.

This process answers nothing itself: it forks workers, so that one that dies is replaced at once by one whose memory no case
has spoilt. A case at which a worker dies, or at which it stands still, is asked again of the next one and answered as
`{"died": ANSWER}`, null where that dies too. `{"anew": CASE}` asks a new worker.
"""

import json
import os
import select
import signal
import struct
import sys
import warnings

import torch

def double(digits):
    return struct.unpack(">d", bytes.fromhex(digits))[0]


def digits(value):
    return struct.pack(">d", value).hex()


def value(arg, tensors):
    """The Python value of an argument."""
    if arg is None:
        return None
    kind, content = arg
    if kind == "tensor":
        return tensors[content]
    if kind == "tensors":
        return [None if place is None else tensors[place] for place in content]
    if kind == "float":
        return double(content)
    if kind == "floats":
        return [double(entry) for entry in content]
    if kind == "complex":
        return complex(double(content[0]), double(content[1]))
    if kind in ("dtype", "format", "layout"):
        return getattr(torch, content)
    if kind == "device":
        return torch.device(content)
    return content  # int, bool, str, ints, bools


LARGEST = 1 << 26  # of how many bytes elements are compared


def contents(tensor):
    """The bytes of the elements in row-major order."""
    if tensor.device.type == "meta" or tensor.numel() * tensor.itemsize > LARGEST:
        return ""
    flat = tensor.clone(memory_format=torch.contiguous_format).reshape(-1)
    return flat.view(torch.uint8).numpy().tobytes().hex() if flat.numel() else ""


def name(dtype):
    return str(dtype).removeprefix("torch.")


def storage(tensor):
    return tensor.untyped_storage()._cdata


def described(result, tensors, blocks):
    """A result as JSON."""
    if isinstance(result, torch.Tensor):
        same = next((at for at, tensor in enumerate(tensors) if tensor is result), None)
        own = storage(result)
        block = next((at for at, block in enumerate(blocks) if storage(block) == own), None)
        places = [list(result.size()), list(result.stride()), result.storage_offset(), same, block]
        return ["tensor", name(result.dtype), *places, contents(result)]
    if isinstance(result, bool):
        return ["bool", result]
    if isinstance(result, int):
        return ["int", result]
    if isinstance(result, float):
        return ["float", digits(result)]
    if isinstance(result, complex):
        return ["complex", [digits(result.real), digits(result.imag)]]
    if isinstance(result, list):
        return ["list", [described(entry, tensors, blocks) for entry in result]]
    return None


def results(result):
    """The results of a call, of which there may be several or none."""
    if result is None:
        return []
    return list(result) if isinstance(result, tuple) else [result]


def first_tensor(values):
    """The first tensor among results, of which one may be a list."""
    for value in values:
        if isinstance(value, list):
            value = first_tensor(value)
        if isinstance(value, torch.Tensor):
            return value
    return None


def called(call, tensors, blocks, before):
    """The answer to a call; its first result becomes the next tensor, or else the last one again."""
    operator, positional, keyword = call
    family, _, overload = operator.removeprefix("aten::").partition(".")
    function = getattr(getattr(torch.ops.aten, family), overload or "default")
    values = []
    try:
        positional = [value(arg, tensors) for arg in positional]
        keyword = {name: value(arg, tensors) for name, arg in keyword.items()}
        values = results(function(*positional, **keyword))
        answer = {"returns": [described(result, tensors, blocks) for result in values]}
    except Exception as error:  # whatever torch refuses
        answer = {"error": f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"}
    following = first_tensor(values)
    tensors.append(following if following is not None else (tensors[-1] if tensors else None))
    answer["written"] = []
    for at, block in enumerate(blocks):
        now = block.view(torch.uint8).numpy().tobytes() if block.numel() else b""
        if now != before[at]:
            answer["written"].append([at, now.hex()])
            before[at] = now
    return answer


def memory(dtype, text):
    """A block: a tensor of one dimension with memory of its own."""
    dtype = getattr(torch, dtype)
    if not text:
        return torch.empty(0, dtype=dtype)
    return torch.frombuffer(bytearray.fromhex(text), dtype=dtype).clone()


def placed(block, sizes, strides, offset):
    """A tensor on the memory of a block, which torch does not take for a view of another one."""
    return torch.empty(0, dtype=block.dtype).set_(block.untyped_storage(), offset, sizes, strides)


def ran(case):
    torch.set_default_dtype(getattr(torch, case["default"]))
    torch.default_generator.manual_seed(case["stream"])
    blocks = [memory(*block) for block in case["blocks"]]
    before = [bytes.fromhex(text) for _, text in case["blocks"]]
    tensors = [placed(blocks[block], *place) for block, *place in case["tensors"]]
    return [called(call, tensors, blocks, before) for call in case["calls"]]


def printed(case):
    (block, *place), options = case["print"], case["options"]
    tensor = memory(*case["blocks"][block]).as_strided(*place)
    torch.set_default_dtype(getattr(torch, case["default"]))
    torch.set_printoptions(profile="default")
    torch.set_printoptions(**options)
    try:
        return str(tensor)
    finally:
        torch.set_default_dtype(torch.float32)
        torch.set_printoptions(profile="default")


def stand_in(category):
    """Something of a kind and dtype that takes part in promotion."""
    kind, dtype = category
    if kind == "number":
        return {"bool": True, "int64": 1, "float64": 1.5, "complex128": 1.5j}[dtype]
    return torch.empty([1] if kind == "tensor" else [], dtype=getattr(torch, dtype))


def promoted(case):
    """The result type of each pair of categories."""
    torch.set_default_dtype(getattr(torch, case["default"]))
    inputs = [stand_in(category) for category in case["promotion"]]
    result = [[name(torch.result_type(one, other)) for other in inputs] for one in inputs]
    torch.set_default_dtype(torch.float32)
    return result


def pairs(case):
    """What two dtypes promote to, and whether the first may be written to the second."""
    dtypes = [getattr(torch, dtype) for dtype in case["pairs"]]
    return [
        [[name(torch.promote_types(one, other)), torch.can_cast(one, other)] for other in dtypes] for one in dtypes
    ]


def overloads(case):
    """The overloads on tensors that torch has of families of operators, in place or not."""
    found = []
    for family in case["overloads"]:
        for name in (family, family + "_"):
            packet = getattr(torch.ops.aten, name, None)
            for overload in packet.overloads() if packet is not None else []:
                if "Tensor" in str(getattr(packet, overload)._schema) and "hacked_twin" not in overload:
                    found.append(f"aten::{name}" + ("" if overload == "default" else f".{overload}"))
    return found


# The seconds after which a worker is taken to stand still: one whose memory is spoilt may wait for a lock forever.
PATIENCE = 60


class Worker:
    """A process that answers cases, forked off one that has answered none."""

    def __init__(self):
        self.process = None

    def start(self):
        questions, self.questions = os.pipe()
        self.answers, answers = os.pipe()
        self.process = os.fork()
        if self.process == 0:
            os.close(self.questions)
            os.close(self.answers)
            try:
                answer_all(os.fdopen(questions), os.fdopen(answers, "w"))
            finally:
                # Nothing that the parent would do at its end: its output is not to be written twice.
                os._exit(0)
        os.close(questions)
        os.close(answers)
        self.questions, self.answers = os.fdopen(self.questions, "w"), os.fdopen(self.answers)

    def ask(self, line):
        """The line that answers a line; none where the process dies."""
        if self.process is None:
            self.start()
        try:
            self.questions.write(line)
            self.questions.flush()
            # One line answers one line, so none of the answer can wait in a buffer.
            ready, _, _ = select.select([self.answers], [], [], PATIENCE)
            answer = self.answers.readline() if ready else ""
        except BrokenPipeError:
            answer = ""
        if not answer.endswith("\n"):
            self.end()
            return None
        return answer.rstrip("\n")

    def end(self):
        if self.process is not None:
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)
            self.process = None
            self.answers.close()
            try:
                self.questions.close()
            except BrokenPipeError:
                pass


def answer_all(questions, answers):
    kinds = [("calls", ran), ("print", printed), ("promotion", promoted), ("pairs", pairs), ("overloads", overloads)]
    for line in questions:
        case = json.loads(line)
        answer = next(function for kind, function in kinds if kind in case)(case)
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


ANEW = '{"anew":'


def main():
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    warnings.simplefilter("ignore")
    worker = Worker()
    for line in sys.stdin:
        if line.startswith(ANEW):
            worker.end()
            line = json.dumps(json.loads(line)["anew"]) + "\n"
        answer = worker.ask(line)
        if answer is None:
            # A case before may have spoilt the memory in which this one was computed.
            again = worker.ask(line)
            answer = '{"died": %s}' % ("null" if again is None else again)
        sys.stdout.write(answer + "\n")
        sys.stdout.flush()
    worker.end()


main()
