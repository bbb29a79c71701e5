// Runs the threads of a block by loops on one fiber: a call of the kernel's entry runs all of them.
// It asks for a team again and again, which are threads that go on from the same point, and runs
// each of them up to its next point. Lanes of a warp that come to the same points go on together,
// and their collectives cost little. Otherwise each lane is a thread that waits as a fiber would.
#pragma once

#include "block.hpp"

namespace ck_sim {

constexpr uint32_t kRoundsPerTurn = 256;  // while others of the OS thread wait for theirs
constexpr uint32_t kRoundsPerLook = 16;
constexpr uint32_t kGoesPerRound = 256;  // while threads may wait for others of the block

/// Starts the other runners if the first one has run for long.
static void look_for_helpers(const Runner* r);

inline const ck_sim_point& point_of(const Worker* w, uint16_t point) {
  return w->launch->kernel->points[point];
}
inline char* saved_of(const Worker* w, uint32_t thread) {
  return w->saved + uint64_t{thread} * w->launch->kernel->saved_bytes;
}
inline BlockMeeting* meeting_of(const Worker* w, uint32_t thread) {
  return reinterpret_cast<BlockMeeting*>(saved_of(w, thread) + kGivenOffset);
}
inline uint32_t lanes_of(const Worker* w, uint32_t warp) {
  const uint32_t left = w->launch->threads - warp * kWarpSize;
  return left < kWarpSize ? left : kWarpSize;
}
inline uint32_t warps_of(const Worker* w) {
  return (w->launch->threads + kWarpSize - 1) / kWarpSize;
}

inline void* data_of_lane(const Worker* w, uint32_t thread, const ck_sim_point& at) {
  void* const given = saved_of(w, thread) + kGivenOffset;
  if (at.is_fixed != 0) {
    static_cast<Shuffle*>(given)->by = at.by;
    static_cast<Shuffle*>(given)->within = at.within;
  }
  return given;
}

inline bool all_at(const uint16_t* points, uint32_t count, uint16_t point) {
  uint32_t differ = 0;
  for (uint32_t i = 0; i < count; ++i) {
    differ |= static_cast<uint32_t>(points[i] ^ point);
  }
  return differ == 0;
}

// Threads that go on alone

/// Has a thread that was left at a point wait there as a fiber would.
inline void come_alone(Worker* w, uint32_t thread) {
  w->turn = thread;
  Thread* self = current()->running;
  const uint16_t point = w->points[thread];
  if (point == kEnded) {
    end_thread(w, self);
    return;
  }
  const ck_sim_point& at = point_of(w, point);
  self->site = at.site;
  self->turns = false;
  self->state = State::kReady;
  // A thread that polls may do so between collectives.
  w->moved |= at.block != Meets::kNot || w->launch->kernel->has_polls == 0;
  if (at.block != Meets::kNot) {
    const bool plain = at.block == Meets::kFixed && at.meeting.kind == Barrier::kPlain;
    come_to_barrier(w, plain ? at.meeting : *meeting_of(w, thread), at.site);
  } else if (at.meet != nullptr) {
    const uint32_t own = *reinterpret_cast<const uint32_t*>(saved_of(w, thread));
    come_to_collective(w, at.mask != 0 ? at.mask : own, data_of_lane(w, thread, at), at.meet,
                       at.site);
    if (all_present(w, *self)) {
      carry_out(w, *self);
    } else {
      ++w->waiting;
    }
  }
}

/// Whether threads at a point get a result from a barrier.
inline bool votes(const ck_sim_point& at) {
  return at.block != Meets::kNot && at.meeting.kind != Barrier::kPlain;
}

/// Gives a thread that goes on its result from a barrier.
inline void take_result(Worker* w, uint32_t thread) {
  if (votes(point_of(w, w->points[thread]))) {
    meeting_of(w, thread)->predicate = w->threads[thread].predicate;
  }
}

/// Has the lanes of a warp go on alone from where the warp is.
inline void part(Worker* w, uint32_t warp) {
  const Warp& own = w->warps[warp];
  w->warps[warp].apart = true;
  for (uint32_t i = warp * kWarpSize; i < warp * kWarpSize + lanes_of(w, warp); ++i) {
    w->points[i] = own.point;
    if (own.point == kEnded) {
      w->threads[i].state = State::kDone;
    } else if (own.waits) {
      come_alone(w, i);
    } else {
      Thread& thread = w->threads[i];
      thread.state = State::kReady;
      thread.site = point_of(w, own.point).site;
      thread.turns = false;
      if (votes(point_of(w, own.point))) {
        thread.predicate = meeting_of(w, i)->predicate;
      }
    }
  }
}

/// Has the lanes of a warp go on together, if all can go on from the same point.
inline bool join_again(Worker* w, uint32_t warp) {
  const uint32_t first = warp * kWarpSize, count = lanes_of(w, warp);
  if (w->launch->apart || !all_at(w->points + first, count, w->points[first])) return false;
  for (uint32_t i = first; i < first + count; ++i) {
    if (w->threads[i].state != State::kReady) return false;
  }
  for (uint32_t i = first; i < first + count; ++i) {
    take_result(w, i);
  }
  w->warps[warp].apart = w->warps[warp].waits = false;
  w->warps[warp].point = w->points[first];
  return true;
}

// Warps whose lanes go on together

/// Carries out a collective of all lanes of a warp; false if it is not of all.
inline bool meet_together(Worker* w, uint32_t warp, const ck_sim_point& at) {
  const uint32_t count = lanes_of(w, warp), bytes = w->launch->kernel->saved_bytes;
  const unsigned all = count == kWarpSize ? ~0u : (1u << count) - 1;
  char* saved = saved_of(w, warp * kWarpSize);
  if (at.mask == ~0u && at.meet_all != nullptr && count == kWarpSize) {
    at.meet_all(saved + kGivenOffset, bytes, at.by, at.within);
    return true;
  }
  void* given[kWarpSize];
  unsigned named = at.mask != 0 ? at.mask : ~0u;
  for (uint32_t i = 0; i < count; ++i, saved += bytes) {
    given[i] = data_of_lane(w, warp * kWarpSize + i, at);
    if (at.mask == 0) {
      named &= *reinterpret_cast<const uint32_t*>(saved);
    }
  }
  if ((named & all) != all) return false;
  at.meet(given, all);
  return true;
}

/// Has the lanes of a warp wait where they were left: all at a point, or if that is 0, by `points`.
inline void come_as_one(Worker* w, uint32_t warp, uint16_t left) {
  const uint32_t first = warp * kWarpSize, count = lanes_of(w, warp);
  const uint16_t point = left != 0 ? left : w->points[first];
  Warp* own = &w->warps[warp];
  if (left == 0 && !all_at(w->points + first, count, point)) {
    own->apart = true;
    for (uint32_t i = first; i < first + count; ++i) {
      come_alone(w, i);
    }
    return;
  }
  own->point = point;
  own->waits = false;
  if (point == kEnded) {
    for (uint32_t i = first; w->copies && i < first + count; ++i) {
      finish_copies(w, &w->threads[i]);
    }
    own->exited = w->threads[first].view.warp;
    w->done += count;
    return;
  }
  const ck_sim_point& at = point_of(w, point);
  if (at.block != Meets::kNot) {
    own->waits = w->moved = true;
    if (at.block == Meets::kGiven) {
      part(w, warp);
    }
  } else if (at.meet != nullptr) {
    if (meet_together(w, warp, at)) {
      w->moved |= w->launch->kernel->has_polls == 0;
      if (++w->goes % kGoesPerRound != 0) {
        w->next_warp = warp;  // it goes on at once
      }
    } else {
      own->waits = true;
      part(w, warp);
    }
  }
}

/// Calls `act` with each warp that waits together at a point.
template <typename Act>
inline void each_waiting_warp(Worker* w, uint16_t point, Act act) {
  for (uint32_t i = 0; i < warps_of(w); ++i) {
    Warp& warp = w->warps[i];
    if (!warp.apart && warp.waits && warp.point == point) act(warp, i);
  }
}

/// Lets the warps go on that wait together at a point, with their result.
inline void release_together(Worker* w, uint16_t point) {
  const Barrier kind = point_of(w, point).meeting.kind;
  uint32_t threads = 0, holding = 0;
  const auto each_meeting = [w](uint32_t warp, auto act) {
    for (uint32_t i = 0; i < lanes_of(w, warp); ++i) act(meeting_of(w, warp * kWarpSize + i));
  };
  if (kind != Barrier::kPlain) {
    each_waiting_warp(w, point, [&](const Warp&, uint32_t i) {
      each_meeting(i, [&](const BlockMeeting* given) {
        ++threads;
        holding += given->predicate != 0;
      });
    });
  }
  const int result = count_votes(kind, holding, threads);
  each_waiting_warp(w, point, [&](Warp& warp, uint32_t i) {
    warp.waits = false;
    if (kind != Barrier::kPlain) {
      each_meeting(i, [result](BlockMeeting* given) { given->predicate = result; });
    }
  });
}

/// Lets warps go on that wait together at a barrier to which no others come.
inline bool complete_together(Worker* w) {
  const uint32_t warps = warps_of(w);
  uint32_t ended = 0;
  bool apart = false, released = false;
  for (uint32_t i = 0; i < warps; ++i) {
    apart |= w->warps[i].apart;
    ended += w->warps[i].point == kEnded;
  }
  for (uint32_t i = 0; i < warps; ++i) {
    const Warp& first = w->warps[i];
    if (first.apart || !first.waits) continue;
    const uint16_t point = first.point;
    const BlockMeeting& meeting = point_of(w, point).meeting;
    uint32_t waiting = 0;
    each_waiting_warp(w, point, [&waiting](const Warp&, uint32_t) { ++waiting; });
    const bool all = meeting.threads == 0 || meeting.threads == warps * kWarpSize;
    const bool complete =
        all ? !apart && waiting + ended == warps : waiting * kWarpSize == meeting.threads;
    if (complete && meeting.number < kBarriers && w->barriers[meeting.number].arrived == 0) {
      release_together(w, point);
      released = true;
    }
  }
  return released;
}

/// Chooses lanes of a warp that go on alone: neighbours at the same point.
inline bool choose_lanes(Worker* w, Team* team) {
  const uint32_t base = w->next_warp * kWarpSize, end = base + lanes_of(w, w->next_warp);
  uint32_t first = base + w->next_lane;
  for (; first < end && w->threads[first].state != State::kReady; ++first) {
  }
  if (first >= end) return false;
  uint32_t last = first;
  const uint16_t point = w->points[first];
  for (; last < end && w->threads[last].state == State::kReady && w->points[last] == point;) {
    take_result(w, last);
    ++last;
    if (w->launch->apart) break;
  }
  w->next_lane = last - base;
  team->first = first;
  team->last = last;
  team->point = point;
  return true;
}

/// Chooses the next team of a round; false at its end.
inline bool choose(Worker* w, Team* team) {
  const uint32_t warps = warps_of(w);
  for (; w->next_warp < warps; ++w->next_warp, w->next_lane = 0) {
    const Warp& warp = w->warps[w->next_warp];
    if (warp.apart && (w->next_lane != 0 || !join_again(w, w->next_warp))) {
      if (choose_lanes(w, team)) return true;
    } else if (!warp.waits && warp.point != kEnded) {
      const auto goes_along = [w, &warp](uint32_t i) {
        const Warp& other = w->warps[i];
        return !other.apart && !other.waits && other.point == warp.point;
      };
      uint32_t end = w->next_warp + 1;
      for (; w->launch->kernel->has_collectives == 0 && end < warps && goes_along(end); ++end) {
      }
      team->first = w->next_warp * kWarpSize;
      team->last = end < warps ? end * kWarpSize : w->launch->threads;
      team->point = warp.point;
      w->next_warp = end;
      w->next_lane = 0;
      return true;
    }
  }
  return false;
}

/// Gives other blocks a turn, after a round in which threads only let others run, or after many.
inline void give_way(Worker* w) {
  for (uint32_t i = 0; i < warps_of(w); ++i) {
    if (!w->warps[i].apart) part(w, i);
  }
  suspend(w);
}

/// Ends a round, in which all threads have had a turn. Lets those go on that waited for each other.
inline void end_round(Worker* w) {
  Launch* launch = w->launch;
  w->next_warp = w->next_lane = 0;
  bool moved = complete_together(w) || w->moved;
  if (w->waiting != 0 && w->done != w->ended) {
    release_for_exited(w);
  }
  moved |= w->done != w->ended || w->changes != 0;
  if (w->changes != 0) {
    w->changes = 0;
    note_progress(launch);
  }
  if (!w->ran && !moved) {
    bool waits = false;
    for (uint32_t i = 0; i < warps_of(w); ++i) {
      if (!w->warps[i].apart) {
        waits |= w->warps[i].waits;
        part(w, i);
      }
    }
    if (!waits) {
      report_stuck(w);
      abandon_thread(w);
    }
  } else if (!moved || ++w->rounds % kRoundsPerTurn == 0) {
    w->changes = moved ? 1 : 0;
    give_way(w);
  } else if (w->rounds % kRoundsPerLook == 0) {
    look_for_helpers(w->runner);
  }
  w->ended = w->done;
  w->ran = w->moved = false;
}

CK_SIM_EXPORT void ck_sim_begin(Team* team) {
  Worker* w = worker;
  const ck_sim_kernel& kernel = *w->launch->kernel;
  *team = {};
  team->points = w->points;
  team->saved = w->saved;
  team->turn = &w->turn;
  team->views = reinterpret_cast<char*>(&w->threads[0].view);
  team->view_bytes = sizeof(Thread);
  team->yields = &w->yields;
  team->group = &w->group;
  w->yields = w->turning = w->ran = w->moved = false;
  w->next_warp = w->next_lane = w->ended = 0;
  for (uint32_t i = 0; kernel.points != nullptr && i < warps_of(w); ++i) {
    w->warps[i].apart = w->warps[i].waits = false;
    w->warps[i].point = 0;
    if (w->launch->apart) part(w, i);
  }
  for (uint32_t i = 0; kernel.has_polls != 0 && i < w->launch->threads; ++i) {
    w->threads[i].polled = nullptr;
    w->threads[i].polls = w->threads[i].updates = 0;
  }
}

/// Has a team wait where it was left: at a point, or at the end.
inline void come(Worker* w, const Team& team) {
  if (!w->warps[team.first / kWarpSize].apart) {
    for (uint32_t i = team.first; i < team.last; i += kWarpSize) {
      come_as_one(w, i / kWarpSize, team.left);
    }
    return;
  }
  for (uint32_t i = team.first; i < team.last; ++i) {
    w->points[i] = team.left != 0 ? team.left : w->points[i];
    come_alone(w, i);
  }
}

/// Whether a team can go on at once: it is all threads of the block at a barrier, or all lanes of a
/// warp at a collective, which this carries out.
inline bool goes_on(Worker* w, const Team& team) {
  if (team.left == 0) return false;
  const ck_sim_point& at = point_of(w, team.left);
  const uint32_t count = team.last - team.first;
  if (at.block != Meets::kNot) {
    return count == w->launch->threads && at.block == Meets::kFixed &&
           at.meeting.kind == Barrier::kPlain && at.meeting.threads == 0 &&
           at.meeting.number < kBarriers && ++w->goes % kGoesPerRound != 0;
  }
  if (at.meet_all == nullptr || at.mask != ~0u || count != kWarpSize ||
      w->warps[team.first / kWarpSize].apart || (w->goes + 1) % kGoesPerRound == 0) {
    return false;
  }
  ++w->goes;
  at.meet_all(saved_of(w, team.first) + kGivenOffset, w->launch->kernel->saved_bytes, at.by,
              at.within);
  return true;
}

/// Chooses the next team; false when the block has ended.
inline bool next_team(Worker* w, Team* team) {
  const uint32_t threads = w->launch->threads;
  if (team->last == threads && team->first == 0 &&
      (w->launch->kernel->points == nullptr || team->left == kEnded)) {
    w->done = threads;
    for (uint32_t i = 0; w->copies && i < threads; ++i) {
      finish_copies(w, &w->threads[i]);
    }
    return false;
  }
  if (w->launch->kernel->points == nullptr) {
    team->last = threads;
    return true;
  }
  if (has_failed(w->launch)) abandon_thread(w);
  if (team->left != kEnded && goes_on(w, *team)) {
    team->point = team->left;
    return true;
  }
  if (team->last != 0) {
    come(w, *team);
  }
  for (;;) {
    if (has_failed(w->launch)) abandon_thread(w);
    if (choose(w, team)) {
      w->ran = true;
      return true;
    }
    if (w->done == threads) return false;
    end_round(w);
  }
}

CK_SIM_EXPORT bool ck_sim_next(Team* team) {
  Worker* w = worker;
  if (!next_team(w, team)) return false;
  team->begin = team->first;
  team->thread = w->threads[team->first].view.thread;
  end_row(*team);
  return true;
}

}  // namespace ck_sim
