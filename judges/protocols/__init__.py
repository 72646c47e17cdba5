"""Which questions a candidate set turns into, and what their answers say of it."""
