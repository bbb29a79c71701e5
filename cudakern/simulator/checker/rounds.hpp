// SPDX-License-Identifier: MIT
// The turns that blocks and threads take in a checked launch. All resident blocks share one OS
// thread, so that a seed alone decides who runs when: between two blocks, the contents of static
// shared memory are exchanged.
#pragma once

#include "block.hpp"
#include "callbacks.hpp"
#include "checked_collectives.hpp"
#include "random.hpp"
#include "watch.hpp"
#include "workers.hpp"

namespace ck_sim {

constexpr uint32_t kMostResident = 64;
constexpr uint32_t kMostStacks = 8192;
constexpr int kQuietRounds = 64;  // without progress, before states are compared
constexpr uint32_t kMostWaiting = 16;
constexpr unsigned char kPoison = 0xFF;

inline void call_helpers(Launch*) {}
inline void thread_ended(Worker*) {}
inline void exit_thread(Worker*, Thread*) {}

struct Rounds {
  Launch* launch;
  Random random;
  uint32_t limit, most;
  Worker* blocks[kMostResident];
  uint32_t count, live;
  uint64_t waiting[kMostWaiting];  // blocks of which one will start next
  uint32_t waiting_count;
  Worker* current;
  // Without progress: how long, and the search for a cycle.
  uint64_t seen;
  int quiet;
  uint64_t marked, steps, span, since;
};

/// The block whose shared memory is in place.
inline void enter(Rounds* r, Worker* w) {
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
inline void shuffle(Rounds* r, Worker* w) {
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

inline uint64_t blocks_left(const Rounds* r) {
  return r->launch->blocks - r->launch->next_block + r->waiting_count;
}

/// The block to start next: in order, but for a few that overtake.
inline uint64_t take_block(Rounds* r) {
  while (r->waiting_count < kMostWaiting && r->launch->next_block < r->launch->blocks) {
    r->waiting[r->waiting_count++] = r->launch->next_block++;
  }
  const uint32_t k = r->random.below(r->waiting_count);
  const uint64_t block = r->waiting[k];
  r->waiting[k] = r->waiting[--r->waiting_count];
  return block;
}

inline void start_block(Rounds* r, Worker* w) {
  Launch* launch = r->launch;
  CheckedBlock& c = w->checked;
  const uint64_t block = take_block(r);
  w->group.block = block_at(launch, block);
  w->group.dynamic_shared = c.dynamic_memory + kRedZone;
  w->next_fresh = w->done = w->arrived = w->converging = 0;
  c.serial = launch->first_serial + started.size;
  started.push(block);
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
inline bool add_resident(Rounds* r) {
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
inline bool pass(Rounds* r, Worker* w) {
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
inline bool is_deadlock(Rounds* r) {
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

inline void report_polling(Rounds* r) {
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

inline void run_rounds(Rounds* r) {
  Launch* launch = r->launch;
  while (!has_failed(launch)) {
    while (r->count < r->limit && r->count - r->live < blocks_left(r)) {
      if (!add_resident(r)) {
        const Group group = {{0, 0, 0}, launch->block, launch->grid, nullptr};
        fail(launch, "out_of_memory", {{0, 0, 0}, 0, 0, &group},
             "a block needs more memory than there is");
        return;
      }
    }
    for (uint32_t i = 0; i < r->count && blocks_left(r) != 0; ++i) {
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
      if (r->limit < r->most && blocks_left(r) != 0) {
        r->limit = 2 * r->limit < r->most ? 2 * r->limit : r->most;  // perhaps one of those helps
        r->quiet = 0;
      } else {
        report_polling(r);
      }
    }
  }
}

}  // namespace ck_sim
