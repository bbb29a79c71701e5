// SPDX-License-Identifier: MIT
// Holds every access against who accessed the same bytes before.
//
// Four bytes share a cell: the last write, and two reads since by threads that nothing orders. An
// access of less splits its cell into one for each byte.
#pragma once

#include "memory_map.hpp"

namespace ck_sim {

struct ByteCells {
  Cell byte[4];
};

inline Vector<ByteCells> split_cells;
inline Vector<uint64_t> started;  // the blocks of the launch, by serial

/// An access that is being checked.
struct Access {
  Worker* w;
  uint32_t self;  ///< thread of the block
  uint64_t tag;
  uint64_t first_serial;  ///< tags with an older one are of other launches or blocks
  uint64_t address;
  uint32_t bytes;
  uint32_t space, object;
  int64_t offset;
  uint32_t site;
  bool write, atomic, reads;  ///< reads: an atomic that depends on the old value
};

inline ck_sim_finding* report(const Access& a, const char* kind, uint32_t other_site = 0) {
  if (!is_new(kind, a.site, other_site, a.space << 16 ^ a.object)) {
    return nullptr;
  }
  ck_sim_finding& found = add_finding(kind, a.w->threads[a.self].view);
  found.site = sites.address[a.site];
  found.space = a.space;
  found.object = a.object;
  found.offset = a.offset;
  found.bytes = a.bytes;
  found.access = (a.write ? kWrites : 0) | (a.atomic ? kAtomic : 0);
  return &found;
}

inline void report_race(const Access& a, uint64_t tag, bool other_writes, uint32_t byte) {
  ck_sim_finding* found = report(a, "race", tag_site(tag) + 1);
  if (found == nullptr) {
    return;
  }
  const Launch* launch = a.w->launch;
  const Index3 block = block_at(launch, started[tag_serial(tag) - launch->first_serial]);
  memcpy(found->other_block, &block, sizeof block);
  memcpy(found->other_thread, &a.w->threads[tag_thread(tag)].view.thread, sizeof block);
  found->other_site = sites.address[tag_site(tag)];
  found->access |= (other_writes ? kOtherWrites : 0) | ((tag & kAtomicTag) != 0 ? kOtherAtomic : 0);
  found->offset += byte;
}

/// Whether an earlier access can meet this one in any order.
inline bool meets(const Access& a, uint64_t tag) {
  if (tag_serial(tag) < a.first_serial || ((tag ^ a.tag) >> 32) == 0) {
    return false;  // none, or by the same thread
  }
  return !(a.atomic && (tag & kAtomicTag) != 0) && !comes_before(a.w, a.self, tag);
}

/// As comes_before, by barriers and warps alone.
inline bool is_settled(const Access& a, uint64_t tag) {
  const CheckedBlock& block = a.w->checked;
  return tag_serial(tag) < a.first_serial || ((tag ^ a.tag) >> 32) == 0 ||
         (tag_serial(tag) == block.serial &&
          (tag_time(tag) < block.base ||
           (tag_thread(tag) / kLanes == a.self / kLanes &&
            tag_time(tag) <= block.order[a.self].known[tag_thread(tag) % kLanes])));
}

inline void note_read(const Access& a, Cell* cell) {
  if (is_settled(a, cell->read[0])) {
    cell->read[0] = a.tag;
  } else if (is_settled(a, cell->read[1]) ||
             (tag_thread(cell->read[0]) / kLanes == tag_thread(cell->read[1]) / kLanes &&
              tag_serial(cell->read[0]) == tag_serial(cell->read[1]))) {
    cell->read[1] = a.tag;
  }
}

/// One cell. `byte` counts from the access's start. Returns whether nothing wrote it.
inline bool check_cell(const Access& a, Cell* cell, uint32_t byte) {
  if (meets(a, cell->write)) {
    report_race(a, cell->write, true, byte);
  }
  if (!a.write) {
    note_read(a, cell);
    return tag_serial(cell->write) < a.first_serial;
  }
  const bool fresh = tag_serial(cell->write) < a.first_serial;
  for (uint64_t& read : cell->read) {
    if (meets(a, read)) {
      report_race(a, read, false, byte);
    }
    read = 0;
  }
  cell->write = a.tag;
  return fresh;
}

/// Whole words of an access that is known to be inside, as far as nothing can be wrong with them:
/// whoever accessed them before is the thread itself, or came before a barrier. Returns false where
/// a closer look is needed; what is done by then may be done again.
template <bool kWrite>
inline bool pass_cells(Cell* cell, uint32_t words, uint64_t tag, uint64_t first_serial,
                       const CheckedBlock& block, bool initialized) {
  const auto passes = [tag, first_serial, &block](uint64_t other) {
    return tag_serial(other) < first_serial || (other ^ tag) >> 32 == 0 ||
           (tag_serial(other) == block.serial && tag_time(other) < block.base);
  };
  for (uint32_t i = 0; i < words; ++i, ++cell) {
    if ((cell->write & kSplitTag) != 0 || !passes(cell->write)) {
      return false;
    }
    if constexpr (kWrite) {
      if (!passes(cell->read[0]) || !passes(cell->read[1])) {
        return false;
      }
      *cell = {tag, {0, 0}};
    } else {
      if (!initialized && tag_serial(cell->write) < first_serial) {
        return false;
      }
      if (passes(cell->read[0])) {
        cell->read[0] = tag;
      } else if (passes(cell->read[1]) ||
                 (cell->read[0] ^ cell->read[1]) >> 37 == 0) {  // of one warp
        cell->read[1] = tag;
      }
    }
  }
  return true;
}

/// The cells of the four bytes, once they are told apart.
inline Cell* split(const Access& a, Cell* cell) {
  const bool is_split = (cell->write & kSplitTag) != 0 && tag_serial(cell->write) >= a.first_serial;
  if (!is_split) {
    if ((cell->write & kSplitTag) != 0) {
      *cell = {};
    }
    split_cells.push({{*cell, *cell, *cell, *cell}});
    cell->write = tag_serial(a.tag) << 42 | (split_cells.size - 1) << 2 | kSplitTag;
  }
  return split_cells[cell->write << 22 >> 24].byte;
}

/// All cells of an access. `first` is that of the granule its address lies in. Returns whether
/// nothing wrote any of them: a structure that is copied may have padding.
inline bool check_cells(const Access& a, Cell* first) {
  bool fresh = true;
  uint32_t done = 0;
  uint32_t within = a.address & 3;
  for (Cell* cell = first; done < a.bytes; ++cell) {
    const uint32_t count = 4 - within < a.bytes - done ? 4 - within : a.bytes - done;
    const bool is_split =
        (cell->write & kSplitTag) != 0 && tag_serial(cell->write) >= a.first_serial;
    if (count == 4 && !is_split) {
      if ((cell->write & kSplitTag) != 0) {
        *cell = {};
      }
      fresh = check_cell(a, cell, done) && fresh;
    } else {
      Cell* bytes = split(a, cell);
      for (uint32_t k = 0; k < count; ++k) {
        fresh = check_cell(a, bytes + within + k, done + k) && fresh;
      }
    }
    done += count;
    within = 0;
  }
  return fresh;
}

}  // namespace ck_sim
