"""What a change will do, told before it is applied: `model` is built once, formats print it."""
