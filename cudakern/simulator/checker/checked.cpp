// SPDX-License-Identifier: MIT
// Runs a kernel on the host and checks every access, or counts its traffic.
#include <link.h>
#include <pthread.h>

#include "rounds.hpp"
#include "watchdog.hpp"

CK_SIM_OWN const ck_sim::View* ck_sim_current = nullptr;

extern "C" void* __tls_get_addr(void* index);

struct ck_sim_options {
  uint64_t seed;
  uint32_t resident, most_resident;  ///< blocks side by side; when all wait for another one
  uint32_t checks, counts;
  uint32_t quiet_tenths;  ///< of a second that a thread may run without any access
  ck_sim_buffer* buffers;
  uint32_t buffer_count;
  const uint64_t* pointers;  ///< three words each: byte of the parameters, buffer, offset in it
  uint32_t pointer_count;
  const ck_sim_object* shared_objects;
  uint32_t shared_object_count;
  uint64_t image;  ///< filled in: where the kernel's library lies
  const ck_sim_finding* findings;
  uint64_t finding_count;
  const ck_sim_traffic* traffic;
  uint64_t traffic_count;
};

namespace ck_sim {

/// Finds the library that holds `code`: its image, its writable data, its thread-local block.
static int find_library(dl_phdr_info* info, size_t, void* code) {
  MemoryMap& m = memory_map;
  const uint64_t address = reinterpret_cast<uint64_t>(code);
  uint64_t end = 0, data = 0, data_end = 0;
  bool found = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& p = info->dlpi_phdr[i];
    const uint64_t start = info->dlpi_addr + p.p_vaddr;
    if (p.p_type != PT_LOAD) {
      continue;
    }
    found = found || address - start < p.p_memsz;
    end = start + p.p_memsz > end ? start + p.p_memsz : end;
    if ((p.p_flags & PF_W) != 0) {
      data = data == 0 || start < data ? start : data;
      data_end = start + p.p_memsz > data_end ? start + p.p_memsz : data_end;
    }
  }
  if (!found) {
    return 0;
  }
  m.image = reinterpret_cast<const char*>(info->dlpi_addr);
  m.image_bytes = end - info->dlpi_addr;
  m.data = reinterpret_cast<char*>(data & ~uint64_t{3});
  m.data_bytes = data_end - (data & ~uint64_t{3});
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type == PT_TLS) {
      size_t index[2] = {info->dlpi_tls_modid, 0};
      m.shared = static_cast<char*>(__tls_get_addr(index));  // allocates it if need be
      m.shared_bytes = info->dlpi_phdr[i].p_memsz;
    }
  }
  return 1;
}

/// Before serials run out: forgets every access of earlier launches.
static void renew_serials() {
  memory_map.arena_cells.release();
  memory_map.data_cells.release();
  for (Worker* w = free_workers; w != nullptr; w = w->next) {
    memset(static_cast<void*>(w->checked.cells), 0, w->checked.cell_count * sizeof(Cell));
  }
  checker.next_serial = 1;
}

static bool prepare(Launch* launch, const ck_sim_options* o) {
  MemoryMap& m = memory_map;
  checker.checks = o->checks != 0;
  checker.counts = o->counts != 0;
  checker.writes = 0;
  order.clear();
  sites.clear();
  split_cells.clear();
  started.clear();
  findings.clear();
  finding_keys.clear();
  traffic.sums.clear();
  memset(traffic.sum_of, 0, sizeof traffic.sum_of);
  if (checker.next_serial + launch->blocks > kMaxSerial) {
    renew_serials();
  }
  launch->first_serial = checker.next_serial;
  checker.next_serial += launch->blocks;
  m.buffers = o->buffers;
  m.buffer_count = o->buffer_count;
  m.recent = 0;
  memset(&recent, 0, sizeof recent);
  m.shared_objects = o->shared_objects;
  m.shared_object_count = o->shared_object_count;
  return m.copy_in() && m.data_cells.reserve((m.data_bytes / 4 + 2) * sizeof(Cell));
}

}  // namespace ck_sim

/// As ck_sim_launch_kernel of runtime.cpp, with a `shape` of grid, block and dynamic shared memory;
/// one at a time in a process. Fills in what the options leave open.
CK_SIM_EXPORT int ck_sim_launch_checked(void (*entry)(void**), const void* parameters,
                                        uint32_t bytes, const uint32_t* offsets, uint32_t count,
                                        const uint32_t* shape, ck_sim_options* options,
                                        ck_sim_report* report) {
  using namespace ck_sim;
  alignas(64) char copy[4096];
  void* addresses[512];
  MemoryMap& m = memory_map;
  Launch launch = make_launch(entry, addresses, shape, report);
  m.shared_bytes = 0;
  dl_iterate_phdr(find_library, reinterpret_cast<void*>(entry));
  const Group group = {{0, 0, 0}, launch.block, launch.grid, nullptr};
  if (bytes > sizeof copy || count > 512 || launch.blocks >= kMaxSerial) {
    fail(&launch, "launch", {{0, 0, 0}, 0, 0, &group},
         "the launch must keep to the checker's limits");
    return 1;
  }
  if (!prepare(&launch, options)) {
    fail(&launch, "out_of_memory", {{0, 0, 0}, 0, 0, &group},
         "checking needs more memory than there is");
    return 1;
  }
  memcpy(copy, parameters, bytes);
  for (uint32_t i = 0; i < options->pointer_count; ++i) {
    const uint64_t* p = options->pointers + 3 * i;
    const uint64_t address = options->buffers[p[1]].address + p[2];
    memcpy(copy + p[0], &address, sizeof address);
  }
  for (uint32_t i = 0; i < count; ++i) {
    addresses[i] = copy + offsets[i];
  }
  m.parameters = copy;
  m.parameter_bytes = sizeof copy;
  Rounds rounds = {};
  rounds.launch = &launch;
  rounds.random.state = options->seed * 0x9E3779B97F4A7C15u + 1;
  const uint32_t stacks = kMostStacks / launch.threads;
  const uint32_t room = stacks < kMostResident ? stacks : kMostResident;
  rounds.most = options->most_resident < room ? options->most_resident : room;
  rounds.limit = options->resident < rounds.most ? options->resident : rounds.most;
  rounds.seen = ~uint64_t{0};
  Worker* const outer = worker;
  start_watchdog(options->quiet_tenths);
  run_rounds(&rounds);
  stop_watchdog();
  while (rounds.count > 0) {
    Worker* w = rounds.blocks[--rounds.count];
    leave_guard(&w->guard);
    if (has_failed(&launch)) {
      clean_up(w);
      for (uint32_t i = 0; i < launch.threads; ++i) {
        w->checked.events[i].clear();
      }
    }
    give_fibers(w->idle_fibers);
    give_worker(w);
  }
  worker = outer;
  m.copy_out();
  flush_printed();
  options->image = reinterpret_cast<uint64_t>(m.image);
  options->findings = findings.data;
  options->finding_count = findings.size;
  options->traffic = traffic.sums.data;
  options->traffic_count = traffic.sums.size;
  return launch.failed;
}
