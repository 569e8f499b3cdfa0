"""From texts to terms: analyzers split texts into words, filters make terms of the words."""
