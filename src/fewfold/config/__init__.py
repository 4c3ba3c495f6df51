"""What a config asks for: its schema, the chains of parts it names, and the jobs that follow."""
