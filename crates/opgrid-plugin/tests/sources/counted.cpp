// A plugin whose kernels count their contexts.
#include <atomic>

#include <opgrid.hpp>

static std::atomic<int64_t> alive{0};

struct Counted {
    Counted() { ++alive; }
    Counted(const Counted&) { ++alive; }
    ~Counted() { --alive; }
    int64_t operator()(const opgrid::Tensor&) const { return alive; }
};

OPGRID_MODULE("counted", "0.1.0", "counted", "CPU")

OPGRID_LIBRARY(counted, m) {
    m.def("alive(Tensor self) -> int");
    m.impl("alive", "CPU", Counted());
}
