"""What an index stores: terms, documents, and for each term its postings and positions."""
