"""Published figures of technologies, by table, and named methods to scale them."""
