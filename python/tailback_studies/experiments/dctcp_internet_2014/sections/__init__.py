"""The sections of the report: figures of the paper, and parts that the paper does not have."""
