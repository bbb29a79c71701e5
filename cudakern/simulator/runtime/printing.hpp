// printf of kernels, by CUDA's rules: wrong formats are printed as they are.
#pragma once

#include "collectives.hpp"

namespace ck_sim {

constexpr int kMaxWidth = 4096;  // of a conversion; larger widths and precisions count as this

/// Makes room for so many more bytes in the text that a worker's call prints; null without memory.
inline char* make_room(Worker* w, size_t bytes) {
  if (w->text_bytes + bytes > w->text_capacity) {
    const size_t capacity = 2 * (w->text_bytes + bytes);
    char* text = static_cast<char*>(realloc(w->text, capacity));
    if (text == nullptr) return nullptr;
    w->text = text;
    w->text_capacity = capacity;
  }
  return w->text + w->text_bytes;
}

inline void add_text(Worker* w, const char* from, size_t bytes) {
  char* to = make_room(w, bytes);
  if (to != nullptr) {
    memcpy(to, from, bytes);
    w->text_bytes += bytes;
  }
}

/// The values that a kernel passed, each aligned to its size.
struct Values {
  const char* at;  // null without any
  const Site* site;
  int count;

  template <typename T>
  T next() {
    T value;
    at = reinterpret_cast<const char*>((reinterpret_cast<uintptr_t>(at) + sizeof(T) - 1) &
                                       ~(sizeof(T) - 1));
    check_printed(at, sizeof(T), site);
    memcpy(&value, at, sizeof(T));
    at += sizeof(T);
    ++count;
    return value;
  }
};

struct Conversion {
  char flags[6];
  int width, precision;  // -1: none
  const char* length;    // of an integer: hh, h, ll for eight bytes, or empty
  char kind;
};

/// Reads a width or precision: digits or a star; null if a star has no value.
inline const char* read_width(const char* at, Values* values, int64_t* width) {
  if (*at == '*') {
    if (values->at == nullptr) return nullptr;
    *width = values->next<int32_t>();
    return at + 1;
  }
  int64_t read = 0;
  for (; *at >= '0' && *at <= '9'; ++at) {
    read = read > kMaxWidth ? read : 10 * read + (*at - '0');
  }
  *width = read;
  return at;
}

/// Reads a conversion after its percent sign. Returns its end, or null if it is wrong.
inline const char* read_conversion(const char* at, Values* values, Conversion* c) {
  *c = {{0}, -1, -1, "", 0};
  for (int count = 0; *at != 0 && strchr("-+ #0", *at) != nullptr; ++at) {
    if (strchr(c->flags, *at) == nullptr) {
      c->flags[count++] = *at;
    }
  }
  int64_t width = 0;
  at = read_width(at, values, &width);
  if (at == nullptr) return nullptr;
  if (width < 0) {
    width = -width;
    if (strchr(c->flags, '-') == nullptr) {
      c->flags[strlen(c->flags)] = '-';
    }
  }
  c->width = static_cast<int>(least<int64_t>(width, kMaxWidth));
  if (*at == '.') {
    at = read_width(at + 1, values, &width);
    if (at == nullptr) return nullptr;
    c->precision = width < 0 ? -1 : static_cast<int>(least<int64_t>(width, kMaxWidth));
  }
  if (*at == 'h') {
    c->length = at[1] == 'h' ? "hh" : "h";
    at += at[1] == 'h' ? 2 : 1;
  } else if (*at == 'l' || *at == 'z' || *at == 'j' || *at == 't') {
    c->length = "ll";
    at += at[0] == 'l' && at[1] == 'l' ? 2 : 1;
  }
  c->kind = *at;
  if (*at == 0 || strchr("diouxXcspeEfFgGaA%", *at) == nullptr ||
      (*at != '%' && values->at == nullptr)) {
    return nullptr;
  }
  return at + 1;
}

/// Prints one value by the host's printf. A negative precision means none there.
template <typename T>
inline void print_one(Worker* w, const Conversion& c, const char* length, T value) {
  char format[24];
  snprintf(format, sizeof format, "%%%s*.*%s%c", c.flags, length, c.kind);
  for (size_t bytes = 100;;) {
    char* to = make_room(w, bytes + 1);
    const int printed =
        to == nullptr ? -1 : snprintf(to, bytes + 1, format, c.width, c.precision, value);
    if (printed <= static_cast<int>(bytes)) {
      w->text_bytes += printed < 0 ? 0 : static_cast<size_t>(printed);
      return;
    }
    bytes = static_cast<size_t>(printed);
  }
}

inline void print_value(Worker* w, Conversion c, Values* values) {
  if (strchr("diouxX", c.kind) != nullptr) {
    if (strcmp(c.length, "ll") == 0) {
      print_one(w, c, c.length, values->next<long long>());
    } else {
      print_one(w, c, c.length, values->next<int>());
    }
  } else if (c.kind == '%') {
    add_text(w, "%", 1);
  } else if (c.kind == 'c' || c.kind == 's') {
    const bool left = strchr(c.flags, '-') != nullptr;
    strcpy(c.flags, left ? "-" : "");  // other flags mean nothing here
    if (c.kind == 'c') {
      c.precision = -1;  // nor does this
      print_one(w, c, "", values->next<int>());
    } else {
      const char* from = values->next<const char*>();
      print_one(w, c, "", from == nullptr ? "(null)" : from);
    }
  } else if (c.kind == 'p') {
    print_one(w, c, "", values->next<void*>());
  } else {
    print_one(w, c, "", values->next<double>());
  }
}

CK_SIM_EXPORT int ck_sim_vprintf(const char* format, const char* arguments, const Site* site) {
  if (format == nullptr) return -1;
  Worker* w = current();
  w->text_bytes = 0;
  Values values = {arguments, site, 0};
  for (const char* at = format; *at != 0;) {
    const char* start = at;
    while (*at != 0 && *at != '%') {
      ++at;
    }
    add_text(w, start, static_cast<size_t>(at - start));
    if (*at == '%') {
      Conversion conversion;
      const char* end = read_conversion(at + 1, &values, &conversion);
      if (end != nullptr) {
        print_value(w, conversion, &values);
      } else {
        add_text(w, "%", 1);
      }
      at = end != nullptr ? end : at + 1;
    }
  }
  fwrite(w->text, 1, w->text_bytes, stdout);  // at once, since other workers print, too
  __atomic_store_n(&printed, 1, __ATOMIC_RELAXED);
  return values.count;
}

CK_SIM_EXPORT __attribute__((noreturn)) void ck_sim_assert_failed(const char* message,
                                                                  const char* file, uint32_t line,
                                                                  const Site* site) {
  Worker* w = current();
  char text[400];  // a copy, as the kernel's strings may be out of bounds
  snprintf(text, sizeof text, "%s:%u: assertion `%s` must hold", file, line, message);
  fail(w->launch, "assert", w->running->view, site, "%s", text);
  abandon_thread(w);
}

}  // namespace ck_sim
