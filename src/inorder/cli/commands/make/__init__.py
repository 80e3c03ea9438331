"""Commands that make and update what can be searched, and hand it on."""
