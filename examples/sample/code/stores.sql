-- What lies in the stores, what should, and what must be ordered from whom.
CREATE TABLE store (
    name     TEXT PRIMARY KEY,
    amount   NUMERIC NOT NULL CHECK (amount >= 0),
    unit     TEXT NOT NULL,
    minimum  NUMERIC NOT NULL,
    supplier TEXT NOT NULL
);

CREATE TABLE delivery (
    id         INTEGER PRIMARY KEY,
    store_name TEXT NOT NULL REFERENCES store (name),
    amount     NUMERIC NOT NULL,
    arrived_on DATE NOT NULL
);

-- Everything that has fallen below its mark, by supplier.
CREATE VIEW to_order AS
SELECT supplier, name, minimum - amount AS missing, unit
FROM store
WHERE amount < minimum
ORDER BY supplier, name;
