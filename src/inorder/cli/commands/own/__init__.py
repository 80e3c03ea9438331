"""Commands for stages of users, single steps, and what runs leave behind."""
