"""Pipeline components: models at home in spaCy."""
