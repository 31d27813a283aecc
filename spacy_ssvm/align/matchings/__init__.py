"""Matchings: the words of two sentences, linked or left alone [TLJ05]."""
