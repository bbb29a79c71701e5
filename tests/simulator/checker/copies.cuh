// Instructions of asynchronous copies and mbarriers: each function is one instruction, perhaps in
// a loop. Rows include them in their own namespaces.
// clang-format off
#define INLINE __device__ __forceinline__
INLINE unsigned shared(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
INLINE void copy_16(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared(to)), "l"(from) : "memory");
}
INLINE void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int kPending>
INLINE void wait_group() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}
INLINE void init(unsigned long long* bar, int count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared(bar)), "r"(count) : "memory");
}
INLINE void arrive(unsigned long long* bar) {
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(shared(bar)) : "memory");
}
INLINE void expect(unsigned long long* bar, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;"
               ::"r"(shared(bar)), "r"(bytes) : "memory");
}
INLINE void wait(unsigned long long* bar, int parity) {
  asm volatile("{\n.reg .pred done;\nagain%=:\n"
               "mbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n"
               "@!done bra again%=;\n}" ::"r"(shared(bar)), "r"(parity) : "memory");
}
INLINE void wait_for_cluster(unsigned long long* bar, int parity) {
  asm volatile("{\n.reg .pred done;\nagain%=:\n"
               "mbarrier.try_wait.parity.acquire.cluster.shared.b64 done, [%0], %1;\n"
               "@!done bra again%=;\n}" ::"r"(shared(bar)), "r"(parity) : "memory");
}
INLINE void bulk_in(void* to, const void* from, int bytes, unsigned long long* bar) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
               " [%0], [%1], %2, [%3];"
               ::"r"(shared(to)), "l"(from), "r"(bytes), "r"(shared(bar)) : "memory");
}
INLINE void bulk_out(void* to, const void* from, int bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
               ::"l"(to), "r"(shared(from)), "r"(bytes) : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
INLINE void bulk_wait() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
INLINE void see_copies() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
