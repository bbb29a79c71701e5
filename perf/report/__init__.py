"""Tables, pictures and a page of result files."""
