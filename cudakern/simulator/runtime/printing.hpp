// printf of kernels, by CUDA's rules: a format that is wrong is printed as it stands.
#pragma once

#include "collectives.hpp"

namespace ck_sim {

constexpr int kMaxWidth = 4096;  // of a conversion; a larger width or precision counts as this one

/// What one call prints, in memory that its worker keeps.
class Text {
 public:
  explicit Text(Worker* w) : w_(w) { w->text_bytes = 0; }

  /// Room for so many bytes more; null without memory.
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
  void took(size_t bytes) { w_->text_bytes += bytes; }
  void add(const char* from, size_t bytes) {
    char* to = room(bytes);
    if (to != nullptr) {
      memcpy(to, from, bytes);
      took(bytes);
    }
  }
  void pad(size_t bytes) {
    char* to = room(bytes);
    if (to != nullptr) {
      memset(to, ' ', bytes);
      took(bytes);
    }
  }

 private:
  Worker* w_;
};

/// The values that a kernel gave, each aligned to its size.
class Values {
 public:
  explicit Values(const char* at) : at_(at) {}
  bool exist() const { return at_ != nullptr; }
  int count = 0;

  template <typename T>
  T next() {
    T value;
    at_ = reinterpret_cast<const char*>((reinterpret_cast<uintptr_t>(at_) + sizeof(T) - 1) &
                                        ~(sizeof(T) - 1));
    memcpy(&value, at_, sizeof(T));
    at_ += sizeof(T);
    ++count;
    return value;
  }

 private:
  const char* at_;
};

/// A conversion of a format.
struct Conversion {
  char flags[6];
  int width, precision;  // -1 if not given
  char length;           // h, H for hh, or l for eight bytes
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

/// Reads what follows a percent sign; returns its end, or null if it is no conversion.
inline const char* read_conversion(const char* at, Values* values, Conversion* c) {
  *c = {{0}, -1, -1, 0, 0};
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
    c->length = at[1] == 'h' ? 'H' : 'h';
    at += at[1] == 'h' ? 2 : 1;
  } else if (*at == 'l' || *at == 'z' || *at == 'j' || *at == 't') {
    c->length = 'l';
    at += at[0] == 'l' && at[1] == 'l' ? 2 : 1;
  }
  c->kind = *at;
  if (*at == 0 || strchr("diouxXcspeEfFgGaA%", *at) == nullptr ||
      (*at != '%' && !values->exist())) {
    return nullptr;
  }
  return at + 1;
}

/// Prints one number by the host's printf.
template <typename T>
inline void print_number(Text* text, const Conversion& c, const char* length, T value) {
  char format[24];
  snprintf(format, sizeof format, "%%%s*%s%s%c", c.flags, c.precision < 0 ? "" : ".*", length,
           c.kind);
  const size_t room = static_cast<size_t>(c.width) + kMaxWidth + 512;
  char* to = text->room(room);
  if (to != nullptr) {
    const int printed = c.precision < 0 ? snprintf(to, room, format, c.width, value)
                                        : snprintf(to, room, format, c.width, c.precision, value);
    text->took(static_cast<size_t>(printed));
  }
}

inline void print_characters(Text* text, const Conversion& c, const char* from, size_t bytes) {
  const size_t width = static_cast<size_t>(c.width);
  const size_t padding = width > bytes ? width - bytes : 0;
  const bool left = strchr(c.flags, '-') != nullptr;
  text->pad(left ? 0 : padding);
  text->add(from, bytes);
  text->pad(left ? padding : 0);
}

inline void print_integer(Text* text, const Conversion& c, Values* values) {
  if (c.length == 'l') {
    print_number(text, c, "ll", values->next<long long>());
  } else {
    print_number(text, c, c.length == 'H' ? "hh" : c.length == 'h' ? "h" : "", values->next<int>());
  }
}

inline void print_value(Text* text, const Conversion& c, Values* values) {
  switch (c.kind) {
    case '%':
      text->add("%", 1);
      break;
    case 'c': {
      const char character = static_cast<char>(values->next<int>());
      print_characters(text, c, &character, 1);
      break;
    }
    case 's': {
      const char* from = values->next<const char*>();
      from = from == nullptr ? "(null)" : from;
      const size_t most = c.precision < 0 ? SIZE_MAX : static_cast<size_t>(c.precision);
      size_t bytes = 0;
      while (bytes < most && from[bytes] != 0) {
        ++bytes;
      }
      print_characters(text, c, from, bytes);
      break;
    }
    case 'p':
      print_number(text, c, "", values->next<void*>());
      break;
    case 'd':
    case 'i':
    case 'o':
    case 'u':
    case 'x':
    case 'X':
      print_integer(text, c, values);
      break;
    default:
      print_number(text, c, "", values->next<double>());
  }
}

}  // namespace ck_sim

int ck_sim_vprintf(const char* format, const char* arguments) {
  using namespace ck_sim;
  if (format == nullptr) return -1;
  Worker* w = worker;
  Text text(w);
  Values values(arguments);
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
  fwrite(w->text, 1, w->text_bytes, stdout);  // at once: other workers print too
  __atomic_store_n(&printed, 1, __ATOMIC_RELAXED);
  return values.count;
}

void ck_sim_assert_failed(const char* message, const char* file, uint32_t line, const char*) {
  char text[400];
  snprintf(text, sizeof text, "%s:%u: assertion `%s` must hold", file, line, message);
  ck_sim::stop(ck_sim::worker, "assert", text, nullptr);
}
