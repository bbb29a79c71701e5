// SPDX-License-Identifier: MIT
// Runs a kernel on the host and checks every access, or counts its traffic. All resident blocks
// share one OS thread, so that a seed alone decides who runs when: between two blocks, the contents
// of static shared memory are exchanged.
#include <link.h>
#include <pthread.h>

#include "block.hpp"
#include "callbacks.hpp"
#include "watch.hpp"
#include "workers.hpp"

CK_SIM_OWN const ck_sim::View* ck_sim_current = nullptr;

extern "C" void* __tls_get_addr(void* index);

struct ck_sim_options {
  uint64_t seed;
  uint32_t resident, most_resident;  ///< blocks side by side; when all wait for another one
  uint32_t checks, counts;
  ck_sim_buffer* buffers;
  uint32_t buffer_count;
  const uint32_t* pointers;  ///< three words each: byte of the parameters, buffer, offset in it
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

constexpr uint32_t kMostResident = 64;
constexpr uint32_t kMostStacks = 8192;
constexpr int kQuietRounds = 64;  // without progress, before states are compared
constexpr unsigned char kPoison = 0xFF;

void call_helpers(Launch*) {}
void thread_ended(Worker*) {}

struct Random {
  uint64_t state;
  uint32_t below(uint32_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>((state >> 33) * n >> 31);
  }
};

struct Rounds {
  Launch* launch;
  Random random;
  uint32_t limit, most;
  Worker* blocks[kMostResident];
  uint32_t count, live;
  Worker* current;
  // Without progress: how long, and the search for a cycle.
  uint64_t seen;
  int quiet;
  uint64_t marked, steps, span, since;
};

/// The block whose shared memory is in place.
static void enter(Rounds* r, Worker* w) {
  MemoryMap& m = memory_map;
  if (r->current != w) {
    if (r->current != nullptr) {
      memcpy(r->current->checked.shared_copy, m.shared, m.shared_bytes);
    }
    memcpy(m.shared, w->checked.shared_copy, m.shared_bytes);
    r->current = w;
  }
  m.dynamic = w->checked.dynamic_memory + kRedZone;
  m.dynamic_bytes = r->launch->shared_bytes;
  worker = w;
  fault_guard = &w->guard;
}

/// A new order of threads: mostly of warps, and of lanes within each, which keeps neighbours
/// together in memory; every fourth time of all threads alike.
static void shuffle(Rounds* r, Worker* w) {
  const uint32_t threads = r->launch->threads;
  const uint32_t unit = r->random.below(4) == 0 ? 1 : kLanes, units = (threads + unit - 1) / unit;
  uint16_t places[kMaxThreads];
  for (uint32_t i = 0; i < units; ++i) {
    const uint32_t k = r->random.below(i + 1);
    places[i] = places[k];
    places[k] = static_cast<uint16_t>(i * unit);
  }
  uint32_t done = 0;
  for (uint32_t i = 0; i < units; ++i) {
    const uint32_t count = threads - places[i] < unit ? threads - places[i] : unit;
    const uint32_t turn = r->random.below(count), flip = r->random.below(2) * (count - 1);
    for (uint32_t k = 0; k < count; ++k) {
      const uint32_t lane = (flip != 0 ? flip - k : k) + turn;
      w->order[done++] = static_cast<uint16_t>(places[i] + (lane < count ? lane : lane - count));
    }
  }
}

static void start_block(Rounds* r, Worker* w) {
  Launch* launch = r->launch;
  CheckedBlock& c = w->checked;
  const uint64_t block = launch->next_block++;
  w->group.block = block_at(launch, block);
  w->group.dynamic_shared = c.dynamic_memory + kRedZone;
  w->next_fresh = w->done = w->arrived = w->converging = 0;
  c.serial = launch->first_serial + block;
  c.base = 0;
  c.live = true;
  if (r->current == w) {
    r->current = nullptr;
  }
  memset(c.shared_copy, kPoison, memory_map.shared_bytes);
  memset(w->group.dynamic_shared - 64, kPoison, launch->shared_bytes + 128);
  for (uint32_t i = 0; i < launch->threads; ++i) {
    ThreadOrder& t = c.order[i];
    t.time = 1;
    memset(t.known, 0, sizeof t.known);
    t.published = nullptr;
    t.knowledge = t.released_knowledge = nullptr;
    t.released = 0;
    t.dirty = false;
    w->threads[i].state = State::kFresh;
    w->threads[i].polled = nullptr;
  }
  shuffle(r, w);
  ++r->live;
}

/// A worker with memory for one more resident block.
static bool add_resident(Rounds* r) {
  Launch* launch = r->launch;
  Worker* w = take_worker(launch);
  if (w == nullptr) {
    return false;
  }
  CheckedBlock& c = w->checked;
  const uint64_t shared = memory_map.shared_bytes;
  const size_t cells = shared / 4 + launch->shared_bytes / 4 + 4;
  if (c.cell_count < cells) {
    free(c.cells);
    c.cells = static_cast<Cell*>(calloc(cells, sizeof(Cell)));
    c.cell_count = cells;
  }
  if (c.shared_copy_bytes < shared + 1) {
    free(c.shared_copy);
    c.shared_copy = static_cast<char*>(malloc(shared + 1));
    c.shared_copy_bytes = shared + 1;
  }
  if (c.dynamic_memory == nullptr || c.dynamic_bytes < launch->shared_bytes) {
    free(c.dynamic_memory);
    const size_t bytes = (2 * kRedZone + launch->shared_bytes + 1023) / 512 * 512;
    c.dynamic_memory = static_cast<char*>(aligned_alloc(512, bytes));
    c.dynamic_bytes = launch->shared_bytes;
  }
  c.live = false;
  w->guard.handler = on_fault;
  w->guard.context = w;
  enter_guard(&w->guard);
  r->blocks[r->count++] = w;
  return c.cells != nullptr && c.shared_copy != nullptr && c.dynamic_memory != nullptr;
}

/// Gives every thread of a block a turn. Returns false when nobody in it can go on.
static bool pass(Rounds* r, Worker* w) {
  Launch* launch = r->launch;
  enter(r, w);
  const uint32_t done = w->done;
  const uint64_t progress = launch->progress + checker.writes;
  bool ran = false;
  if (w->next_fresh < launch->threads) {
    while (w->next_fresh < launch->threads && !has_failed(launch)) {
      start_fresh(w);
    }
    ran = true;
  } else {
    if (r->quiet < kQuietRounds) {
      shuffle(r, w);
    }
    for (uint32_t i = 0; i < launch->threads && !has_failed(launch); ++i) {
      Thread* thread = &w->threads[w->order[i]];
      if (thread->state == State::kReady) {
        resume(w, thread);
        ran = true;
      }
    }
  }
  if (has_failed(launch)) {
    return true;
  }
  const bool idle = w->done == done && progress == launch->progress + checker.writes;
  if (w->converging != 0 && release_converged(w, !ran || idle)) {
    ran = true;
  }
  launch->progress += w->done != done;
  if (w->done == launch->threads) {
    if (checker.counts) {
      flush_block(w);
    }
    w->checked.live = false;
    --r->live;
  }
  return ran;
}

/// After a round without progress: whether this can go on forever.
static bool is_deadlock(Rounds* r) {
  if (++r->quiet < kQuietRounds) {
    return false;
  }
  if (r->quiet == kQuietRounds) {
    r->marked = r->steps = 0;
    r->span = 1;
    r->since = nanoseconds();
  }
  uint64_t digest = 0;
  for (uint32_t i = 0; i < r->count; ++i) {
    if (r->blocks[i]->checked.live) {
      digest = (digest ^ digest_of(r->blocks[i])) * 0x9E3779B97F4A7C15u;
    }
  }
  ++r->steps;
  if (digest == r->marked) {
    return true;
  }
  if (r->steps >= r->span) {  // Brent's cycle search
    r->marked = digest;
    r->steps = 0;
    r->span *= 2;
  }
  return nanoseconds() - r->since > kGiveUpTime;
}

static void report_polling(Rounds* r) {
  for (uint32_t i = 0; i < r->count; ++i) {
    Worker* w = r->blocks[i];
    for (uint32_t k = 0; w->checked.live && k < r->launch->threads; ++k) {
      if (w->threads[k].state == State::kReady) {
        const Thread& thread = w->threads[k];
        if (thread.site.line != 0) {
          report_deadlock(r->launch, thread);
        } else {
          add_finding("deadlock", thread.view).site = reinterpret_cast<uint64_t>(thread.code);
          r->launch->failed = 1;
        }
        return;
      }
    }
  }
}

static void run_rounds(Rounds* r) {
  Launch* launch = r->launch;
  while (!has_failed(launch)) {
    while (r->count < r->limit && launch->next_block + r->count - r->live < launch->blocks) {
      if (!add_resident(r)) {
        launch->failed = 1;
        return;
      }
    }
    for (uint32_t i = 0; i < r->count && launch->next_block < launch->blocks; ++i) {
      if (!r->blocks[i]->checked.live) {
        start_block(r, r->blocks[i]);
      }
    }
    if (r->live == 0) {
      return;
    }
    // Once nothing happens any more, every turn alike: the search for a cycle needs one to find.
    const bool quiet = r->quiet >= kQuietRounds;
    const uint32_t first = quiet ? 0 : r->random.below(r->count);
    for (uint32_t i = 0; i < r->count && !has_failed(launch); ++i) {
      Worker* w = r->blocks[(first + i) % r->count];
      for (uint32_t turns = quiet ? 1 : 1 + r->random.below(3); turns > 0 && w->checked.live;
           --turns) {
        if (!pass(r, w)) {
          report_stuck(w);
        }
        if (has_failed(launch)) {
          break;
        }
      }
    }
    const uint64_t seen = launch->progress + checker.writes;
    if (seen != r->seen) {
      r->seen = seen;
      r->quiet = 0;
    } else if (is_deadlock(r)) {
      if (r->limit < r->most && launch->next_block < launch->blocks) {
        r->limit = 2 * r->limit < r->most ? 2 * r->limit : r->most;  // perhaps one of those helps
        r->quiet = 0;
      } else {
        report_polling(r);
      }
    }
  }
}

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

/// As ck_sim_launch; one at a time in a process. Fills in what the options leave open.
CK_SIM_EXPORT int ck_sim_launch_checked(void (*entry)(void**), const void* parameters,
                                        uint32_t bytes, const uint32_t* offsets, uint32_t count,
                                        const uint32_t* shape, ck_sim_options* options,
                                        ck_sim_report* report) {
  using namespace ck_sim;
  alignas(64) char copy[4096];
  void* addresses[512];
  MemoryMap& m = memory_map;
  Launch launch = {};
  launch.entry = entry;
  launch.parameters = addresses;
  launch.grid = {shape[0], shape[1], shape[2]};
  launch.block = {shape[3], shape[4], shape[5]};
  launch.threads = shape[3] * shape[4] * shape[5];
  launch.shared_bytes = shape[6];
  launch.blocks = static_cast<uint64_t>(shape[0]) * shape[1] * shape[2];
  launch.report = report;
  launch.active = 1;
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
    const uint32_t* p = options->pointers + 3 * i;
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
  run_rounds(&rounds);
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
