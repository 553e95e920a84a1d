"""One AWS dialect each. Adapters know no function and decide nothing; `aws_errors` alone reads error codes."""
