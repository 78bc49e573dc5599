"""cepsql in notebooks: `%load_ext cepsql` gives the magics `%cepsql` and `%%cepsql`."""
