"""SQL functions, each module with its list; `function_list` joins the lists."""
