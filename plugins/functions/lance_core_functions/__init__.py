"""The functions of lance-core's SQL; `plugin` lists them, and `descriptors` describes them."""
