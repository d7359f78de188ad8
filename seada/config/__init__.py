"""Reading of configuration files: strict YAML with a place for every problem."""
