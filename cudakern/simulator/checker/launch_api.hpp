// What Python, which reads these declarations, passes to a checked launch, and what that leaves.
#pragma once

#include "runtime_api.hpp"

/// An array of the launch, or all that several overlapping arrays cover.
struct ck_sim_buffer {
  char* host;
  uint64_t bytes;
  uint32_t phase;            // address modulo 512
  uint32_t read_only;        // whether no kernel may write it
  uint32_t all_unwritten;    // whether all of it is unwritten
  uint32_t no_addresses;     // whether no element of it can be an address
  const uint8_t* valid;      // of each byte: whether it belongs to an array; null: all do
  const uint8_t* unwritten;  // of each byte: whether nothing wrote it; null: see `all_unwritten`
  uint64_t address;          // in the checker's memory; filled in
};

/// An address among the parameters.
struct ck_sim_pointer {
  uint64_t place;   // the byte of the parameters where it stands
  uint64_t buffer;  // the number of the buffer that it leads to
  uint64_t offset;  // ... and where in it it leads
};

/// An array that a launch may reach by addresses in memory. Those of a launch ascend.
struct ck_sim_known {
  uint64_t start, end;
  uint32_t reached;  // whether it is an argument; the launch fills in whether it reaches it
};

/// Where an address lies.
enum ck_sim_space : uint32_t {
  ck_sim_nowhere,
  ck_sim_global,      // `object` is a buffer of the launch
  ck_sim_shared,      // `object` is a static shared variable of the kernel
  ck_sim_dynamic,     // dynamic shared memory
  ck_sim_variable_,   // `object` is a variable of the module
  ck_sim_local_,      // `name` is that of a variable in the thread's local memory
  ck_sim_heap,        // `object` is unused; `offset` counts from the block that malloc gave
  ck_sim_parameters,  // of the kernel
  ck_sim_foreign,     // local memory of another thread
  ck_sim_remote,      // shared memory of the cluster's block `object`
};

/// Why two accesses race.
enum ck_sim_reason : uint32_t {
  ck_sim_unordered,
  ck_sim_lanes,        // both are volatile, of one warp and in shared memory
  ck_sim_narrow,       // both are strong, but the scope of one leaves the other thread out
  ck_sim_in_flight,    // the other access is an asynchronous copy that nobody has waited for
  ck_sim_same,         // both write the same value; in strict launches only
  ck_sim_noncoherent,  // the kernel writes what a load takes to be read-only
  ck_sim_proxy,        // one is a bulk copy's, and no fence of its proxy is in between
  ck_sim_ended,        // the block whose shared memory it is has ended, or may have
  ck_sim_stores,       // both store by volatile, and different values
  ck_sim_volatiles,    // both are strong, one is volatile; only a note in launches not strict
  ck_sim_sizes,        // both are strong, and overlap in part; in strict launches only
};

/// Why a shuffle has nothing to read: the `space` of its finding, whose `object` is the lane read.
enum ck_sim_lack : uint32_t {
  ck_sim_absent,  // the block has no such lane
  ck_sim_exited,
  ck_sim_unnamed,  // by the mask; `access` is which lanes take part
};

struct ck_sim_finding {
  char kind[24];
  uint32_t block[3], thread[3];
  const ck_sim::Site* site;  // may be null
  uint32_t other_block[3], other_thread[3];
  const ck_sim::Site* other_site;  // of a race
  const char* name;                // of a variable in local memory
  uint32_t space, object;
  int64_t offset;  // bytes from the object's start
  uint32_t bytes;
  uint32_t access, other_access;  // kWrites and kAtomic of each
  uint32_t reason;
  uint32_t only_strict;  // whether a launch that is not strict only notes it, at most
  // Of an address outside of arrays: where the one stands that it was computed from; or nowhere.
  uint32_t origin_space, origin_object;
  uint64_t origin_offset;
  uint32_t use;      // of an undefined value, at the other site
  uint32_t threads;  // how many did so
};

/// The sums over the requests of one kind by one instruction to one object.
struct ck_sim_traffic {
  const ck_sim::Site* site;
  uint32_t memory, action;  // a Memory and an Action of traffic.hpp
  uint32_t space, object;   // a ck_sim_space; which buffer, shared array or variable of it
  uint64_t offset;          // of the first request's first byte, from the object's start
  uint64_t next;            // the index of another one of the instruction plus one, or 0
  uint64_t requests;
  uint64_t accesses;    // of single threads
  uint64_t bytes;       // that threads ask for
  uint64_t sectors;     // global and local memory
  uint64_t wavefronts;  // shared memory; in constant memory different addresses
  // How many bytes the access of a lane is behind that of the lane before, if most pairs have that.
  int64_t stride;
  uint64_t votes;       // for this stride, less those against it
  uint64_t alike;       // pairs that have it, at least
  uint64_t neighbours;  // pairs of lanes
};

struct ck_sim_options {
  uint64_t seed;
  uint32_t resident, most_resident;  // blocks side by side: at first; when they wait for others
  uint32_t checks, counts, strict;
  uint32_t unknown_memory;  // whether kernels access memory of no known array, as in plain launches
  ck_sim_buffer* buffers;
  uint32_t buffer_count;
  const ck_sim_pointer* pointers;
  uint32_t pointer_count;
  uint32_t pointers_alone;           // whether no other parameter can be an address
  const ck_sim_variable* variables;  // of the module
  uint32_t variable_count;
  uint64_t sample;       // blocks of the grid to run; the launch fills in how many ran
  uint64_t* executions;  // by warps, of each basic block; the launch fills them in
  // What the launch fills in.
  const ck_sim_finding* findings;
  uint64_t finding_count;
  const ck_sim_traffic* traffic;
  uint64_t traffic_count;
  uint64_t forgotten;  // writes that may race with readers whom the checker has forgotten
  const ck_sim::Site* forgotten_at;  // the first one's; may be null
};
