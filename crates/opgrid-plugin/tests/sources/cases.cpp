// What kernels in C++ do, well and badly.
#include <algorithm>
#include <atomic>
#include <numeric>
#include <optional>

#include <opgrid.hpp>

using opgrid::Tensor;

OPGRID_MODULE("cases", "0.1.0", "cases", "CPU CasesLayer")

static std::atomic<int64_t> layered{0};

static Tensor scaled(const Tensor& x, double factor, double more) {
    Tensor out = opgrid::empty_like(x);
    const float* from = x.data<float>();
    float* to = out.mutable_data<float>();
    for (int64_t i = 0; i < x.numel(); ++i) to[i] = static_cast<float>(factor * from[i] + more);
    return out;
}

OPGRID_LIBRARY(cases, m) {
    m.def("inferred", [](const Tensor& x, int64_t n, std::optional<double> more) {
        return std::tuple<Tensor, std::string>(
            scaled(x, static_cast<double>(n), more.value_or(0)),
            std::to_string(n) + " and " + (more ? std::to_string(*more) : "nothing"));
    });
    m.def("lists(int[] a, float[] b, str c, bool d) -> (int[], float, str, bool)");
    m.impl("lists", "CompositeExplicitAutograd",
           [](std::vector<int64_t> a, const std::vector<double>& b, std::string_view c, bool d) {
               std::reverse(a.begin(), a.end());
               return std::tuple(a, std::accumulate(b.begin(), b.end(), 0.0), std::string(c) + "!", !d);
           });
    m.def("tensors(Tensor[] all) -> Tensor[]");
    m.impl("tensors", "CPU", [](std::vector<Tensor> all) {
        std::reverse(all.begin(), all.end());
        return all;
    });
    m.def("twice(Tensor self) -> Tensor", {"pointwise"}, "pointwise unary");
    m.impl("twice", "CPU", [](const Tensor& x) {
        static const opgrid::Operator add("aten::add.Tensor");
        return add.call<Tensor>(x, x, int64_t{1});
    });
    m.def("product(Tensor a, Tensor b) -> Tensor");
    m.impl("product", "CPU", [](const Tensor& a, const Tensor& b) {
        static const opgrid::Operator mm("aten::mm");
        return mm.call<Tensor>(a, b);
    });
    m.cast_policy("product", "cpu", OPGRID_CAST_LOWER);
    m.def("product_of_batches(Tensor a, Tensor b, int[] dims) -> Tensor");
    m.impl("product_of_batches", "CPU", [](const Tensor& a, const Tensor& b, const std::vector<int64_t>& dims) {
        static const opgrid::Operator matmul("aten::matmul");
        if (dims.size() != 2 || std::max(dims[0], dims[1]) != 0) throw opgrid::Error("expected a batch");
        return matmul.call<Tensor>(a, b);
    });
    m.batched_by("product", "cases::product_of_batches");
    m.def("square_in_full(Tensor self) -> Tensor");
    m.impl("square_in_full", "CPU", [](const Tensor& x) {
        static const opgrid::Operator mul("aten::mul.Tensor");
        return mul.call<Tensor>(x, x);
    });
    m.cast_policy("square_in_full", "cpu", OPGRID_CAST_TO, OPGRID_DTYPE_FLOAT64);
    m.def("identity(Tensor self) -> Tensor");
    m.impl("identity", "CPU", [](const Tensor& x) { return x; });
    m.impl("identity", "AutogradCPU", opgrid::fallthrough);
    m.def("hand_on(Any value) -> Any");
    m.impl("hand_on", "CompositeExplicitAutograd", [](const opgrid::Call& call) {
        opgrid::invoke(opgrid::api().push, call.results(), &call[0]);
    });

    m.def("sum(Tensor self) -> (float, int)", {}, nullptr, "The sum of all elements, and how often others were refused.");
    m.impl("sum", "CPU", [](const Tensor& x) {
        const auto refused = [](const auto& body) -> int64_t {
            try {
                body();
                return 0;
            } catch (const opgrid::Error&) {
                return 1;
            }
        };
        int64_t count = 0;
        double sum = 0;
        {
            const auto elements = x.elements<float>();
            for (const float element : elements) sum += element;
            count += refused([&] { x.mutable_elements<float>(); });
            count += refused([&] { x.elements<int64_t>(); });
        }
        const auto writable = x.mutable_elements<float>();
        for (size_t i = 0; i < writable.size(); ++i) writable[i] += 1;
        count += refused([&] { x.elements<float>(); });
        return std::tuple(sum, count);
    });
    m.def("says", [](const std::string& text) {
        opgrid::note(text);
        opgrid::warn(text + "!");
    }, "Tells people a text.");
    m.def("narrow", [](int n) { return int64_t{n}; });

    for (const char* name : {"throws", "throws_int", "wrong_count", "wrong_kind", "nothing", "wrong_signature",
                             "unknown_operator", "misfit", "endless"})
        m.def((std::string(name) + "(Tensor self) -> Tensor").c_str());
    m.impl("throws", "CPU", [](const Tensor&) -> Tensor { throw std::runtime_error("thrown by a kernel"); });
    m.impl("throws_int", "CPU", [](const Tensor&) -> Tensor { throw 7; });
    m.impl("wrong_count", "CPU", [](const Tensor& x) { return std::tuple(x, x); });
    m.impl("wrong_kind", "CPU", [](const Tensor&) { return int64_t{1}; });
    m.impl("nothing", "CPU", [](const Tensor&) {});
    m.impl("wrong_signature", "CPU", [](int64_t) { return int64_t{1}; });
    m.impl("unknown_operator", "CPU",
           [](const Tensor& x) { return opgrid::Operator("aten::does_not_exist").call<Tensor>(x); });
    m.impl("misfit", "CPU", [](const Tensor& x) {
        const Tensor other = opgrid::empty({5}, opgrid::DType::Float32);
        return opgrid::Operator("aten::add.Tensor").call<Tensor>(x, other, int64_t{1});
    });
    m.impl("endless", "CPU", [](const opgrid::Call& call) { call.redispatch_anew(); });

    m.def("chosen(Tensor self, int n) -> str");
    m.provider("chosen", "CPU", "even", [](const Tensor&, int64_t) { return std::string("even"); }, "n is even",
               [](const opgrid::Call& call) { return call.argument<int64_t>(1) % 2 == 0; });
    m.provider("chosen", "CPU", "general", [](const Tensor&, int64_t) { return std::string("general"); },
               "always", [](const opgrid::Call&) { return true; });

    OpgridLayer layer{};
    const char* above[] = {"Autograd"};
    layer.struct_size = sizeof layer;
    layer.name = "CasesLayer";
    layer.above = above;
    layer.above_count = 1;
    OpgridKeys key{};
    opgrid::invoke(opgrid::api().layer, static_cast<const OpgridLayer*>(&layer), &key);
    m.def("layered_calls", [] { return int64_t{layered}; });
    m.def("guarded(Tensor self) -> (bool, bool, bool)");
    m.impl("guarded", "CPU", [key](const Tensor&) {
        const auto included = [key] {
            OpgridKeys now{}, excluded{};
            opgrid::api().local_keys(&now, &excluded);
            return (now.layers & key.layers) != 0 && (excluded.layers & key.layers) == 0;
        };
        const opgrid::IncludeGuard outer(key);
        const bool first = included();
        bool second;
        {
            const opgrid::ExcludeGuard inner(key);
            second = included();
        }
        return std::tuple(first, second, included());
    });

    // Guards that are kept from one call to another.
    m.def("keep", [key](bool on) {
        static std::optional<opgrid::IncludeGuard> included;
        static std::optional<opgrid::ExcludeGuard> excluded;
        if (on) {
            included.emplace(key);
            excluded.emplace(opgrid::keys("Tracer"));
        } else {
            included.reset();
            excluded.reset();
        }
        return on;
    });

    opgrid::Library everything(OPGRID_BLOCK_IMPLEMENTATIONS, "_", "CasesLayer", __FILE__, __LINE__);
    everything.fallback([key](const opgrid::Call& call) {
        ++layered;
        const opgrid::ExcludeGuard guard(key);
        call.redispatch(opgrid::without(call.keys(), key));
    });
}
