"""From annotated data to a config, and to a trained pipeline, by one command."""
