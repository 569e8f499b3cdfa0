"""SQL expressions: `grammar` parses text, `plan` turns the tree into nodes, `node` evaluates."""
