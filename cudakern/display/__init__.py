"""How things are shown: characters, text with styles, what notebooks render."""
