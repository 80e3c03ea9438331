package org.example.bank;

import java.math.BigDecimal;
import java.util.*;
import static java.util.Objects.requireNonNull;

/**
 * Keeps accounts.
 */
@Service
public class Ledger<K extends Comparable<K>> extends Base implements Auditable {
    public static final int LIMIT = 1_000;
    private final Map<K, BigDecimal> balances = new HashMap<>();

    public Ledger(Clock clock) {
        super(clock);
    }

    /** Adds money to an account. */
    @Override
    public synchronized void deposit(K account, BigDecimal amount) throws IllegalStateException {
        requireNonNull(account);
        if (amount.signum() <= 0) {
            throw new IllegalArgumentException("nothing to deposit");
        }
        balances.merge(account, amount, BigDecimal::add);
        audit(account);
    }

    // How much there is.
    BigDecimal balance(K account) {
        return balances.getOrDefault(account, BigDecimal.ZERO);
    }

    private void audit(K account) {
        super.log("deposit", account);
    }

    static class Entry {
        final long id;

        Entry(long id) {
            this.id = id;
        }
    }
}

interface Auditable {
    void audit();

    default boolean isAudited() {
        return true;
    }
}

enum Currency {
    EUR("€"), USD("$");

    private final String sign;

    Currency(String sign) {
        this.sign = sign;
    }
}

record Point(int x, int y) {
    double length() {
        return Math.sqrt(x * x + y * y);
    }
}

@interface Marker {
    String value();
}
