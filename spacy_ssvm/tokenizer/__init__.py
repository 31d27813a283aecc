"""A tokenizer that is learned: where tokens and sentences begin, decided over characters."""
