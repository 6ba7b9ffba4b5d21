/* SPDX-License-Identifier: MIT */
/* consumer.cc: the smallest user of the installed library in C++17: one cell, stepped until it answers. */
#include <cstdio>
#include <memory>
#include <sparc/sparc.h>
#include <vector>

int main() {
  sparc_cell_config config{};
  config.kind = "sparc";
  config.D = 3;
  config.H = 5;
  sparc_cell *raw = nullptr;
  sparc_status status = sparc_cell_create(&config, &raw);
  std::unique_ptr<sparc_cell, decltype(&sparc_cell_free)> cell(raw, sparc_cell_free);
  if (status != SPARC_OK) {
    std::fprintf(stderr, "consumer: %s\n", sparc_error());
    return 1;
  }

  const sparc_cell_sizes size = sparc_cell_sizes_of(cell.get());
  std::vector<float> params(size.params), prepared(size.prepared), state(size.state), tape(size.tape), y(size.output);
  const std::vector<float> x{1.0f, -2.0f, 0.5f};
  if (sparc_cell_init(cell.get(), SPARC_INIT_CONTROL, 1, nullptr, params.data()) != SPARC_OK ||
      sparc_prepare(cell.get(), params.data(), prepared.data()) != SPARC_OK ||
      sparc_step(cell.get(), prepared.data(), state.data(), x.data(), 1.0f, y.data(), tape.data()) != SPARC_OK) {
    std::fprintf(stderr, "consumer: %s\n", sparc_error());
    return 1;
  }

  float sum = 0;
  for (float value : y) sum += value * value;
  std::printf("sparc %s from C++: squared output %.3f\n", sparc_version(), static_cast<double>(sum));
  return sum > 0 ? 0 : 1;
}
