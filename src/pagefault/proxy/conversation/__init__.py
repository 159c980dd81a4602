"""A conversation of a client: the path of its requests and answers, and the records of them."""
