// assert, anew at each include: NVRTC has it, but knows NDEBUG as an option alone.
#undef assert
#ifdef NDEBUG
#define assert(condition) (static_cast<void>(0))
#else
#define assert(condition) \
  ((condition) ? static_cast<void>(0) \
               : __assertfail(#condition, __FILE__, __LINE__, __PRETTY_FUNCTION__, sizeof(char)))
#endif
