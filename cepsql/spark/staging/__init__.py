"""What the stages of all operators share: packing, advancing, and the rows that come out."""
