// Which writes the asynchronous proxy sees, through which bulk copies access memory: those before a
// fence between the proxies, by any thread, that comes before the copy.
#pragma once

#include "order.hpp"

namespace ck_sim {

inline Vector<const Release*> proxy_fences;  // scratch: those that a search has met

/// Takes note of a fence between the proxies for some spaces, a bit each.
inline void fence_proxies(Worker* w, uint32_t self, uint32_t spaces) {
  ThreadOrder& t = w->checked.order[self];
  const Release* what = release(w, self, Scope::kSys);
  for (int i = 0; i < kProxySpaces; ++i) {
    if ((spaces >> i & 1) != 0) {
      t.proxy[i] = what;
    }
  }
}

/// Whether a thread knows of a proxy fence that knew of a write.
inline bool is_fenced(Worker* w, uint32_t self, Tag tag, int space) {
  ThreadOrder& t = w->checked.order[self];
  pass_on_fences(t);
  if (t.knowledge == nullptr) return false;
  proxy_fences.clear();
  const bool found = order.includes(
      t.knowledge, [](const Release&) { return false; },
      [tag, space](const Knowledge& k) {
        if (k.fenced == nullptr || (k.spaces >> space & 1) == 0) return false;
        proxy_fences.push(k.fenced);
        return k.fenced->covers(tag);
      });
  if (found) return true;
  for (size_t i = proxy_fences.size; i > 0; --i) {
    const Knowledge* known = proxy_fences[i - 1]->knowledge;
    if (known != nullptr &&
        order.includes(known, [tag](const Release& r) { return r.covers(tag); })) {
      return true;
    }
  }
  return false;
}

}  // namespace ck_sim
