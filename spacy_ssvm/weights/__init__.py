"""Where weights live: hash tables, rows of features, lazy and compact storage."""
