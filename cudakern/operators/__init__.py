"""Operators: one module each, with its descriptor, rules, plan and public function."""
