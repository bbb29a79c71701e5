// Accesses as words that cells of memory hold: who made each access, and when.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace ck_sim {

constexpr int kSerialBits = 21, kThreadBits = 10, kTimeBits = 18, kSiteBits = 13;
constexpr uint64_t kMaxSerial = (1u << kSerialBits) - 1;
constexpr uint32_t kMaxTime = (1u << kTimeBits) - 1;
constexpr uint32_t kMostSites = (1u << kSiteBits) - 1;

/// An access: the serial of its block, its thread, time and site, and whether it is an asynchronous
/// copy that nobody has waited for. Classes that derive from this use the lowest bit. Zero is an
/// access before all launches.
class Tag {
 public:
  Tag() = default;
  explicit constexpr Tag(uint64_t serial, uint32_t thread = 0, uint32_t time = 0, uint32_t site = 0)
      : word_(serial << kSerialShift | uint64_t{thread} << kThreadShift |
              uint64_t{time} << kTimeShift | uint64_t{site} << kSiteShift) {}

  uint64_t serial() const { return word_ >> kSerialShift; }
  uint32_t thread() const { return word_ >> kThreadShift & ((1u << kThreadBits) - 1); }
  uint32_t time() const { return word_ >> kTimeShift & kMaxTime; }
  uint32_t site() const { return word_ >> kSiteShift & kMostSites; }
  bool is_in_flight() const { return (word_ & kInFlight) != 0; }

  Tag in_flight() const { return from_word(word_ | kInFlight); }
  Tag with_site(uint32_t site) const {
    const uint64_t others = word_ & ~(uint64_t{kMostSites} << kSiteShift);
    return from_word(others | uint64_t{site} << kSiteShift);
  }

  /// Whether its block started before the block with a serial.
  bool is_older(uint64_t first) const { return serial() < first; }
  /// The same; `oldest` is Tag(first).
  bool is_older(Tag oldest) const { return word_ < oldest.word_; }
  bool has_thread_of(Tag other) const { return (word_ ^ other.word_) >> kThreadShift == 0; }
  bool has_warp_of(Tag other) const { return (word_ ^ other.word_) >> (kThreadShift + 5) == 0; }
  bool operator==(Tag other) const { return word_ == other.word_; }

  /// A number that no other access has.
  uint64_t key() const { return word_; }
  /// A number that no other thread has.
  uint64_t thread_key() const { return word_ >> kThreadShift; }
  static uint64_t thread_key(uint64_t serial, uint32_t thread) {
    return serial << kThreadBits | thread;
  }

 protected:
  static constexpr int kSiteShift = 2, kTimeShift = kSiteShift + kSiteBits;
  static constexpr int kThreadShift = kTimeShift + kTimeBits;
  static constexpr int kSerialShift = kThreadShift + kThreadBits;
  static_assert(kSerialShift + kSerialBits == 64, "a tag is a word");
  static constexpr uint64_t kInFlight = 2, kLowest = 1;

  static Tag from_word(uint64_t word) {
    Tag tag;
    tag.word_ = word;
    return tag;
  }

  uint64_t word_;
};

/// The last write to a cell; or that it is split into bytes, since which block, and their index.
class WriteTag : public Tag {
 public:
  WriteTag() = default;
  explicit WriteTag(Tag tag) : Tag(tag) {}
  static WriteTag split(uint64_t serial, size_t index) {
    return WriteTag(from_word(serial << kSerialShift | index << kSiteShift | kLowest));
  }

  bool is_split() const { return (word_ & kLowest) != 0; }
  size_t index() const { return (word_ & ((uint64_t{1} << kSerialShift) - 1)) >> kSiteShift; }
};

/// The first read of a cell after the last write, and whether it or a later one is non-coherent.
class FirstReadTag : public Tag {
 public:
  FirstReadTag() = default;
  explicit FirstReadTag(Tag tag, bool is_non_coherent = false) : Tag(tag) {
    word_ |= is_non_coherent ? kLowest : 0;
  }

  bool is_non_coherent() const { return (word_ & kLowest) != 0; }
};

/// The latest read of a cell, if that is not the first, and which readers between these two the
/// cell has forgotten: none if the latest is in flight.
class LatestReadTag : Tag {
 public:
  enum Forgotten : uint64_t {
    kNone,
    kOfItsBlock = kLowest,
    kOfOtherBlocks = kInFlight | kLowest  // some of them
  };
  LatestReadTag() = default;
  explicit LatestReadTag(Tag reader, Forgotten forgotten = kNone) : Tag(reader) {
    word_ |= forgotten;
  }

  Forgotten forgotten() const {
    const uint64_t bits = word_ & kOfOtherBlocks;
    return bits == kInFlight ? kNone : static_cast<Forgotten>(bits);
  }
  bool has_forgotten() const { return (word_ & kLowest) != 0; }
  Tag reader() const { return from_word(word_ ^ forgotten()); }
  /// The reader for a quick look: as if in flight if it has forgotten readers of other blocks.
  Tag quick_reader() const { return *this; }
};

static_assert(sizeof(WriteTag) == 8 && sizeof(FirstReadTag) == 8 && sizeof(LatestReadTag) == 8,
              "a tag is a word");

}  // namespace ck_sim
