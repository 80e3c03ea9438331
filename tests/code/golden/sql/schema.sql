-- Who writes.
CREATE TABLE IF NOT EXISTS authors (
    id integer PRIMARY KEY,
    name text NOT NULL,
    born date
);

CREATE TABLE notes (
    id integer PRIMARY KEY,
    author_id integer REFERENCES authors (id),
    body text
);

CREATE INDEX notes_by_author ON notes (author_id);

-- Authors and how much they wrote.
CREATE VIEW output AS
SELECT a.name, count(*) AS notes
FROM authors AS a
JOIN notes AS n ON n.author_id = a.id
GROUP BY a.name;

CREATE FUNCTION add_one(n integer) RETURNS integer AS $$
BEGIN
    RETURN n + 1;
END;
$$ LANGUAGE plpgsql;

INSERT INTO authors (id, name) VALUES (1, upper('ada'));
SELECT coalesce(max(id), 0) FROM notes;
