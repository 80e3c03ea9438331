"""Models behind servers: what they are asked, what they have answered, and the limits of asking."""
