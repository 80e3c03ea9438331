import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** The log of a tower: entries are appended and signed, never changed. */
public final class Logbook {
    public record Entry(LocalDateTime at, String keeper, String text) {}

    private final List<Entry> entries = new ArrayList<>();

    /** Add an entry; the clock of a tower never goes back. */
    public void append(Entry entry) {
        if (!entries.isEmpty() && entry.at().isBefore(entries.get(entries.size() - 1).at())) {
            throw new IllegalArgumentException("an entry must not be older than the one before it");
        }
        entries.add(entry);
    }

    /** Everything that was written by one keeper. */
    public List<Entry> signedBy(String keeper) {
        return entries.stream().filter(entry -> entry.keeper().equals(keeper)).toList();
    }

    public List<Entry> all() {
        return Collections.unmodifiableList(entries);
    }
}
