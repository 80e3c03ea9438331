"""Workers that are processes: for work that computes, and for work that may crash, hang or leak memory."""
