// Switching between call stacks on one OS thread.
//
// glibc's swapcontext takes about 500 ns, as it saves the signal mask by a system call. To save
// just the callee-saved registers takes a few. Only x86-64 and aarch64 do not use ucontext.
#pragma once

#include <stddef.h>
#include <stdint.h>

#if !defined(CK_SIM_UCONTEXT) && !defined(__x86_64__) && !defined(__aarch64__)
#define CK_SIM_UCONTEXT 1
#endif

namespace ck_sim {

#ifdef CK_SIM_UCONTEXT
}  // namespace ck_sim
#include <ucontext.h>
namespace ck_sim {

struct Context {
  ucontext_t state;
  void* frame;
};

inline void make_context(Context* context, char* stack, size_t bytes, void (*entry)()) {
  getcontext(&context->state);
  context->state.uc_stack.ss_sp = stack;
  context->state.uc_stack.ss_size = bytes;
  context->state.uc_link = nullptr;
  makecontext(&context->state, entry, 0);
}

inline void switch_context(Context* from, Context* to) {
  from->frame = __builtin_frame_address(0);
  swapcontext(&from->state, &to->state);
}

/// Where the live part of a suspended stack begins.
inline const void* live_stack(const Context* context) { return context->frame; }

#else

struct Context {
  void* stack_pointer;
};

/// Saves the callee-saved registers and the stack pointer, and switches to the other stack.
extern "C" void ck_sim_switch(void** from, void* to);

#ifdef __x86_64__
constexpr int kSavedWords = 6;
constexpr int kEntryWord = 6;
asm(".text\n"
    ".globl ck_sim_switch\n.hidden ck_sim_switch\nck_sim_switch:\n"
    "  push %rbp\n  push %rbx\n  push %r12\n  push %r13\n  push %r14\n  push %r15\n"
    "  mov %rsp, (%rdi)\n"
    "  mov %rsi, %rsp\n"
    "  pop %r15\n  pop %r14\n  pop %r13\n  pop %r12\n  pop %rbx\n  pop %rbp\n"
    "  ret\n");
#else
constexpr int kSavedWords = 20;
constexpr int kEntryWord = 11;  // x30, the link register
asm(".text\n"
    ".globl ck_sim_switch\n.hidden ck_sim_switch\nck_sim_switch:\n"
    "  sub sp, sp, #160\n"
    "  stp x19, x20, [sp, #0]\n  stp x21, x22, [sp, #16]\n  stp x23, x24, [sp, #32]\n"
    "  stp x25, x26, [sp, #48]\n  stp x27, x28, [sp, #64]\n  stp x29, x30, [sp, #80]\n"
    "  stp d8, d9, [sp, #96]\n  stp d10, d11, [sp, #112]\n  stp d12, d13, [sp, #128]\n"
    "  stp d14, d15, [sp, #144]\n"
    "  mov x2, sp\n  str x2, [x0]\n  mov sp, x1\n"
    "  ldp x19, x20, [sp, #0]\n  ldp x21, x22, [sp, #16]\n  ldp x23, x24, [sp, #32]\n"
    "  ldp x25, x26, [sp, #48]\n  ldp x27, x28, [sp, #64]\n  ldp x29, x30, [sp, #80]\n"
    "  ldp d8, d9, [sp, #96]\n  ldp d10, d11, [sp, #112]\n  ldp d12, d13, [sp, #128]\n"
    "  ldp d14, d15, [sp, #144]\n"
    "  add sp, sp, #160\n"
    "  ret\n");
#endif

inline void make_context(Context* context, char* stack, size_t bytes, void (*entry)()) {
  // Registers start as zero. On x86-64 the entry follows them as a return address on a 16-byte
  // boundary, so the stack is aligned as after a call.
  uintptr_t top = (reinterpret_cast<uintptr_t>(stack) + bytes - 64) & ~uintptr_t{15};
  uint64_t* words = reinterpret_cast<uint64_t*>(top) - kSavedWords;
  for (int i = 0; i < kSavedWords + 2; ++i) {
    words[i] = 0;
  }
  words[kEntryWord] = reinterpret_cast<uint64_t>(entry);
  context->stack_pointer = words;
}

inline void switch_context(Context* from, Context* to) {
  ck_sim_switch(&from->stack_pointer, to->stack_pointer);
}

/// Where the live part of a suspended stack begins: with the saved registers.
inline const void* live_stack(const Context* context) { return context->stack_pointer; }

#endif

}  // namespace ck_sim
