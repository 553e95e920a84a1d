"""A tiny AWS client: Signature Version 4 over http.client, for DynamoDB's Query and four calls of SQS."""
