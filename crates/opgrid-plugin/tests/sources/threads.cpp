// What kernels in C++ do on the host's threads.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include <opgrid.hpp>

using opgrid::Tensor;

OPGRID_MODULE("threads", "0.1.0", "threads", "CPU")

OPGRID_LIBRARY(threads, m) {
    m.def("sum(int n, int grain) -> (int, int)");
    m.impl("sum", "CompositeExplicitAutograd", [](int64_t n, int64_t grain) {
        std::atomic<int64_t> sum{0}, ranges{0};
        opgrid::parallel_for(static_cast<size_t>(n), static_cast<size_t>(grain), [&](size_t start, size_t end) {
            for (; start < end; ++start) sum += static_cast<int64_t>(start);
            ++ranges;
        });
        return std::tuple(int64_t{sum}, int64_t{ranges});
    });
    m.def("throws(int n, int at) -> int");
    m.impl("throws", "CompositeExplicitAutograd", [](int64_t n, int64_t at) {
        std::atomic<int64_t> ranges{0};
        opgrid::parallel_for(static_cast<size_t>(n), 1, [&](size_t start, size_t) {
            ++ranges;
            if (start == static_cast<size_t>(at)) throw opgrid::Error("range refused", OPGRID_ERROR_INDEX);
        });
        return int64_t{ranges};
    });
    // Every range waits until another thread has one, too, but not for ever.
    m.def("meets() -> int");
    m.impl("meets", "CompositeExplicitAutograd", [] {
        std::mutex mutex;
        std::condition_variable changed;
        int64_t here = 0;
        opgrid::parallel_for(2, 1, [&](size_t, size_t) {
            std::unique_lock<std::mutex> lock(mutex);
            ++here;
            changed.notify_all();
            if (!changed.wait_for(lock, std::chrono::minutes(1), [&] { return here == 2; }))
                throw opgrid::Error("the other range was not begun");
        });
        return here;
    });
    // Operators are those of the dispatcher that runs the kernel, on every thread, and keys are those of the caller.
    m.def("asks(int n) -> (int, bool)");
    m.impl("asks", "CompositeExplicitAutograd", [](int64_t n) {
        std::atomic<int64_t> sum{0};
        std::atomic<bool> excluded{true};
        const OpgridKeys key = opgrid::keys("TESTING_ONLY_GenericMode");
        const opgrid::ExcludeGuard guard(key);
        opgrid::parallel_for(static_cast<size_t>(n), 1, [&](size_t, size_t) {
            OpgridKeys included{}, now{};
            opgrid::api().local_keys(&included, &now);
            if (!(now.layers & key.layers)) excluded = false;
            sum += opgrid::Operator("asked::which").call<int64_t>();
        });
        return std::tuple(int64_t{sum}, bool{excluded});
    });
    m.def("null() -> ()");
    m.impl("null", "CompositeExplicitAutograd",
           [] { opgrid::invoke(opgrid::api().parallel_for, size_t{1}, size_t{1}, OpgridRangeFn{}, static_cast<void*>(nullptr)); });
    m.def("num() -> int");
    m.impl("num", "CompositeExplicitAutograd", [] { return static_cast<int64_t>(opgrid::api().num_threads()); });
}
