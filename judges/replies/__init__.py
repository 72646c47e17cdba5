"""What a model answered, read without trust."""
