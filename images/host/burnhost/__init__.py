"""What must exist on any host: disk folders, an instance's supervisor, process groups with deadlines."""
