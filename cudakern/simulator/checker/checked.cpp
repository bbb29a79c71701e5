// Runs a kernel on the host and checks all accesses, or counts its traffic.
#include "reach.hpp"
#include "rounds.hpp"
#include "shuffles.hpp"

namespace ck_sim {

/// Has the parameters point to the checker's copies of the arrays.
static void write_pointers(const Launch& launch, uint32_t bytes, const ck_sim_options* o) {
  if (o->pointers_alone == 0) {
    memory_map.enter_addresses(launch.parameter_bytes, bytes);
  }
  for (uint32_t i = 0; i < o->pointer_count; ++i) {
    const ck_sim_pointer& p = o->pointers[i];
    const uint64_t address = o->buffers[p.buffer].address + p.offset;
    memcpy(launch.parameter_bytes + p.place, &address, sizeof address);
  }
  memory_map.parameters = launch.parameter_bytes;
  memory_map.parameter_bytes = bytes;
}

static void run_all(Launch* launch, uint64_t seed) {
  Rounds rounds = {};
  rounds.launch = launch;
  rounds.random = seed * 0x9E3779B97F4A7C15u + 1;
  rounds.seen = ~uint64_t{0};
  rounds.wanted = launch->wanted;
  Worker* const outer = worker;
  enter_runner(&rounds.runner, launch, true);
  run_rounds(&rounds);
  worker = outer;
  Vector<Worker*>& workers = checker.residents;
  while (workers.size > 0) {
    leave_worker(workers[--workers.size]);
  }
  leave_guard(&rounds.runner.guard);
  trim_fibers();
  flush_printed();
}

static bool prepare_launch(Launch* launch, const ck_sim_kernel* kernel, const ck_sim_shape* shape,
                           ck_sim_options* options) {
  if (!accept_launch(launch, kernel, shape)) return false;
  if (options->sample != 0 && options->sample < launch->blocks) {  // rounded up to whole clusters
    launch->blocks = (options->sample + launch->ranks - 1) / launch->ranks * launch->ranks;
  }
  options->sample = launch->blocks;
  if (!count_resident(launch, options->resident, options->most_resident)) return false;
  if (launch->blocks >= kMaxSerial) {
    return refuse(launch, "a checked launch must have fewer than 2**21 - 1 blocks");
  }
  return begin_launch(launch, options);
}

}  // namespace ck_sim

/// As ck_sim_launch_kernel of runtime.cpp, but one at a time in a process, and the options say how
/// many blocks are resident. Fills in the options.
CK_SIM_EXPORT int ck_sim_launch_checked(const ck_sim_kernel* kernel, const void* parameters,
                                        uint32_t bytes, const uint32_t* offsets, uint32_t count,
                                        const ck_sim_shape* shape, ck_sim_options* options,
                                        ck_sim_report* report) {
  using namespace ck_sim;
  Launch launch = {};
  launch.report = report;
  launch.strict = options->strict != 0;
  begin_ticks(&launch);
  if (copy_parameters(&launch, parameters, bytes, offsets, count) &&
      prepare_launch(&launch, kernel, shape, options)) {
    write_pointers(launch, bytes, options);
    run_all(&launch, options->seed);
    end_launch(&launch, options);
  }
  end_ticks();
  free(launch.parameter_bytes);
  return launch.failed;
}

/// Marks the arrays that a launch reaches: by addresses in its parameters, in variables, in memory
/// that malloc gave, or in arrays that it reaches. `parameters` have no addresses of arguments.
CK_SIM_EXPORT void ck_sim_reach(ck_sim_known* known, uint32_t count, const void* parameters,
                                uint32_t bytes, const ck_sim_variable* variables,
                                uint32_t variable_count) {
  using namespace ck_sim;
  Reach reach = {known, count, {}, {}};
  memory_map.given_variables = variables;
  memory_map.given_count = variable_count;
  survives([&] { reach.run(parameters, bytes); });  // if not, the launch says what is missing
  reach.release();
}
