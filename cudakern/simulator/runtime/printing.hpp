// printf of kernels, by CUDA's rules: wrong formats are printed as they are.
#pragma once

#include "collectives.hpp"

namespace ck_sim {

constexpr int kMaxWidth = 4096;  // of a conversion; larger widths and precisions count as this

/// The text that a call prints, in memory that its worker keeps.
class Text {
 public:
  explicit Text(Worker* w) : w_(w) { w->text_bytes = 0; }

  /// Makes room for so many more bytes; null without memory.
  char* room(size_t bytes) {
    if (w_->text_bytes + bytes > w_->text_capacity) {
      const size_t capacity = 2 * (w_->text_bytes + bytes);
      char* text = static_cast<char*>(realloc(w_->text, capacity));
      if (text == nullptr) return nullptr;
      w_->text = text;
      w_->text_capacity = capacity;
    }
    return w_->text + w_->text_bytes;
  }
  void add(const char* from, size_t bytes) {
    char* to = room(bytes);
    if (to != nullptr) {
      memcpy(to, from, bytes);
      w_->text_bytes += bytes;
    }
  }
  /// Adds what the host's printf prints.
  template <typename... Values>
  void print(const char* format, Values... values) {
    for (size_t bytes = 100;;) {
      char* to = room(bytes + 1);
      const int printed = to == nullptr ? -1 : snprintf(to, bytes + 1, format, values...);
      if (printed <= static_cast<int>(bytes)) {
        w_->text_bytes += printed < 0 ? 0 : static_cast<size_t>(printed);
        return;
      }
      bytes = static_cast<size_t>(printed);
    }
  }

 private:
  Worker* w_;
};

/// The values that a kernel passed, each aligned to its size.
class Values {
 public:
  Values(const char* at, const Site* site) : at_(at), site_(site) {}
  bool exist() const { return at_ != nullptr; }
  int count = 0;

  template <typename T>
  T next() {
    T value;
    at_ = reinterpret_cast<const char*>((reinterpret_cast<uintptr_t>(at_) + sizeof(T) - 1) &
                                        ~(sizeof(T) - 1));
    check_printed(at_, sizeof(T), site_);
    memcpy(&value, at_, sizeof(T));
    at_ += sizeof(T);
    ++count;
    return value;
  }

 private:
  const char* at_;
  const Site* site_;
};

/// A conversion of a format.
struct Conversion {
  char flags[6];
  int width, precision;  // -1: none
  const char* length;    // of an integer: hh, h, ll for eight bytes, or empty
  char kind;
};

inline int clamp_width(int64_t width) {
  return width > kMaxWidth ? kMaxWidth : static_cast<int>(width);
}

/// Reads a width or precision: digits or a star; null if a star has no value.
inline const char* read_width(const char* at, Values* values, int64_t* width) {
  if (*at == '*') {
    if (!values->exist()) return nullptr;
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
  c->width = clamp_width(width);
  if (*at == '.') {
    at = read_width(at + 1, values, &width);
    if (at == nullptr) return nullptr;
    c->precision = width < 0 ? -1 : clamp_width(width);
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
      (*at != '%' && !values->exist())) {
    return nullptr;
  }
  return at + 1;
}

/// Prints one value by the host's printf. A negative precision means none there.
template <typename T>
inline void print_one(Text* text, const Conversion& c, const char* length, T value) {
  char format[24];
  snprintf(format, sizeof format, "%%%s*.*%s%c", c.flags, length, c.kind);
  text->print(format, c.width, c.precision, value);
}

inline void print_value(Text* text, Conversion c, Values* values) {
  if (strchr("diouxX", c.kind) != nullptr) {
    if (strcmp(c.length, "ll") == 0) {
      print_one(text, c, c.length, values->next<long long>());
    } else {
      print_one(text, c, c.length, values->next<int>());
    }
  } else if (c.kind == '%') {
    text->add("%", 1);
  } else if (c.kind == 'c' || c.kind == 's') {
    const bool left = strchr(c.flags, '-') != nullptr;
    strcpy(c.flags, left ? "-" : "");  // other flags mean nothing here
    if (c.kind == 'c') {
      c.precision = -1;  // nor does this
      print_one(text, c, "", values->next<int>());
    } else {
      const char* from = values->next<const char*>();
      print_one(text, c, "", from == nullptr ? "(null)" : from);
    }
  } else if (c.kind == 'p') {
    print_one(text, c, "", values->next<void*>());
  } else {
    print_one(text, c, "", values->next<double>());
  }
}

CK_SIM_EXPORT int ck_sim_vprintf(const char* format, const char* arguments, const Site* site) {
  if (format == nullptr) return -1;
  Worker* w = current();
  Text text(w);
  Values values(arguments, site);
  for (const char* at = format; *at != 0;) {
    const char* start = at;
    while (*at != 0 && *at != '%') {
      ++at;
    }
    text.add(start, static_cast<size_t>(at - start));
    if (*at == '%') {
      Conversion conversion;
      const char* end = read_conversion(at + 1, &values, &conversion);
      if (end != nullptr) {
        print_value(&text, conversion, &values);
      } else {
        text.add("%", 1);
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
