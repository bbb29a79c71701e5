"""What operators and the simulator describe alike: data types, layouts, scalars, structs."""
