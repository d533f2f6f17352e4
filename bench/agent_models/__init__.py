"""Episodes by real models: recorded in four arms (`record`), and the table of what came of them (`table`)."""
