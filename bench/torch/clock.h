// What the programs that measure torch have in common: the clock, and calls in a loop. `bench/ours` does the same.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <type_traits>

using Clock = std::chrono::steady_clock;

inline double nanoseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::nano>(duration).count();
}

// How long `body` takes, in nanoseconds.
template <class Body>
double timed(Body body) {
  const auto start = Clock::now();
  body();
  return nanoseconds(Clock::now() - start);
}

// Makes the compiler believe that the value is read here.
template <class T>
inline void keep(const T& value) {
  asm volatile("" : : "r"(&value) : "memory");
}

// Makes a call `count` times; what it returns is dropped as a user's program would drop it.
template <class Call>
inline void times(uint32_t count, Call call) {
  for (uint32_t i = 0; i < count; ++i) {
    if constexpr (std::is_void_v<decltype(call())>) {
      call();
    } else {
      keep(call());
    }
  }
}

// The best time of one call; `batch` makes as many calls as it is told.
template <class Batch>
double best_of(int batches, uint32_t calls, Batch batch) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < batches; ++i) {
    best = std::min(best, timed([&] { batch(calls); }) / calls);
  }
  return best;
}

// The same for calls that may take some nanoseconds or some tenths of a second.
template <class Batch>
double best_of_any_length(Batch batch) {
  constexpr double kBatch = 100e3;
  constexpr double kTime = 30e6;
  // The first call pays for what later ones find ready.
  batch(1);
  const double call = timed([&] { batch(1); });
  const auto calls = static_cast<uint32_t>(std::clamp(kBatch / call, 1.0, 5000.0));
  return best_of(static_cast<int>(std::clamp(kTime / (call * calls), 3.0, 1000.0)), calls, batch);
}

inline void report(const char* name, double value) {
  std::printf("%s %.17g\n", name, value);
}
