"""The laboratory: methods of the papers for comparison, and experiments with them."""
