"""Networks and layers: the one-line form, own YAML, ONNX, and the tables of operators without MACs."""
