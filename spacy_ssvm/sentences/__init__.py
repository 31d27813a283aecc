"""Labels of the units of a Doc - sentences, lines, paragraphs, spans - decided together."""
