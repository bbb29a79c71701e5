"""NVIDIA's profilers and compute-sanitizer over lines of the benchmark matrix."""
